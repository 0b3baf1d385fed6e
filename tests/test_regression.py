"""Chapter 10's demo: the article's figures in three worlds, weights, closed form, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import launch, simulate
from course_lib.collectives import weighted_mean
from course_lib.regression import (
    TRUE_WEIGHTS,
    exact_losses,
    first_step,
    gradient,
    loss,
    make_regression,
    shards,
    sync_sgd,
)

LOSSES = [5.951021, 4.752604, 3.800556, 3.043465, 2.440768, 1.960446]
LEARNED = [1.0467, -0.3955, 0.4401, 1.3833]


@pytest.fixture(scope="module")
def data():
    return make_regression()


def demo_worker(X, y, epochs=6):
    def worker(comm):
        mine, w, losses = shards(len(y), comm.size)[comm.rank], np.zeros(4), []
        for _ in range(epochs):
            local, count = gradient(w, X[mine], y[mine]), mine.stop - mine.start
            w = w - 0.1 * weighted_mean(comm, local, count)
            losses.append(loss(w, X, y))
        return w, losses

    return worker


def test_article_figures_in_numpy(data):
    run = sync_sgd(*data)
    assert np.round(run.losses, 6).tolist() == LOSSES
    assert np.round(run.w, 4).tolist() == LEARNED


@pytest.mark.parametrize(("world", "ranks"), [(simulate, 4), (simulate, 5), (launch, 5)])
def test_every_world_gives_the_losses_of_one_worker(data, world, ranks):
    """Shards of 128 samples are equal for 4 ranks, not for 5."""
    one = sync_sgd(*data, workers=1)
    for w, losses in world(demo_worker(*data), ranks).values:
        assert np.abs(np.subtract(losses, one.losses)).max() < 1e-12
        assert np.abs(w - one.w).max() < 1e-12


@pytest.mark.parametrize("workers", [2, 127, 128])
def test_weighting_makes_the_number_of_workers_irrelevant(data, workers):
    one, many = sync_sgd(*data, workers=1), sync_sgd(*data, workers=workers)
    assert np.abs(np.subtract(one.losses, many.losses)).max() < 1e-12


def test_plain_mean_of_unequal_shards_departs(data):
    assert round(sync_sgd(*data, workers=5, weighted=False).losses[0], 6) == 5.959405


def test_convergence_follows_the_closed_form(data):
    run = sync_sgd(*data, epochs=300)
    assert np.allclose(run.losses, exact_losses(*data, epochs=300, lr=0.1), rtol=1e-10)
    assert np.abs(run.w - np.linalg.lstsq(*data, rcond=None)[0]).max() < 1e-8
    assert np.abs(run.w - TRUE_WEIGHTS).max() < 0.01


def test_gradient_is_the_slope_of_the_loss(data):
    w, step = np.array([0.3, -0.2, 1.0, 0.5]), 1e-6
    slopes = [(loss(w + step * e, *data) - loss(w - step * e, *data)) / (2 * step) for e in np.eye(4)]
    assert np.allclose(gradient(w, *data), slopes, atol=1e-8)


def test_first_step_of_no_losses_is_refused():
    with pytest.raises(ValueError, match="losses must hold at least one number"):
        first_step([], 1)


def test_a_training_equals_only_itself(data):
    one, other = sync_sgd(*data), sync_sgd(*data)
    assert one == one and one != other


@given(st.integers(1, 100).flatmap(lambda samples: st.tuples(st.just(samples), st.integers(1, samples))))
def test_shards_cover_everything_once_and_the_last_takes_the_rest(sizes):
    samples, workers = sizes
    parts = [range(samples)[part] for part in shards(samples, workers)]
    assert [index for part in parts for index in part] == list(range(samples))
    assert len(parts) == workers and {len(part) for part in parts[:-1]} <= {samples // workers}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"workers": 0}, ValueError, "workers must be a whole number from 1 to 128; got 0"),
        ({"workers": 129}, ValueError, "workers must be a whole number from 1 to 128; got 129"),
        ({"workers": 2.5}, TypeError, "workers must be a whole number from 1 to 128; got 2.5"),
        ({"epochs": 0}, ValueError, "epochs must be a whole number of at least 1; got 0"),
        ({"lr": float("nan")}, ValueError, "lr must be a finite number above 0; got nan"),
        ({"lr": "0.1"}, TypeError, "lr must be a finite number above 0; got '0.1'"),
        ({"y": np.zeros(127)}, ValueError, "X and y must have as many samples; got 128 and 127"),
        ({"y": np.full(128, np.nan)}, ValueError, "y must be finite; 128 of its numbers are not"),
        ({"X": np.full((128, 4), np.inf)}, ValueError, "X must be finite; 512 of its numbers are not"),
        ({"X": np.zeros((0, 4)), "y": np.zeros(0)}, ValueError, "at least one sample"),
        ({"y": np.ma.zeros(128)}, TypeError, "y is a masked array"),
        ({"X": np.ma.zeros((128, 4))}, TypeError, "X is a masked array"),
        ({"X": np.zeros(128)}, ValueError, r"X must be \(samples, features\)"),
    ],
)
def test_bad_input_is_named(data, change, error, message):
    arguments = {"X": data[0], "y": data[1], **change}
    with pytest.raises(error, match=message):
        sync_sgd(**arguments)


@pytest.mark.parametrize("world", [simulate, launch])
@pytest.mark.parametrize(
    ("worker", "ranks", "error", "message"),
    [
        (lambda comm: 0, 0, ValueError, "ranks must be a whole number from 1 to"),
        (lambda comm: 0, 2.5, TypeError, "ranks must be .* got 2.5"),
        (lambda comm: 0, 10**6, ValueError, "ranks must be .* got 1000000"),
        (lambda: 0, 2, TypeError, "worker must take one argument, comm"),
        (None, 2, TypeError, "worker must be a function"),
    ],
)
def test_bad_launches_are_refused(world, worker, ranks, error, message):
    with pytest.raises(error, match=message):
        world(worker, ranks)
