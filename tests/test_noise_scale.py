"""Gradient noise scale: where the truth is known, and on digits."""

import math
from dataclasses import replace

import numpy as np
import pytest

from course_lib import launch
from course_lib.training import digits_worker, train_each
from course_lib.training.experiments import SGD
from course_lib.training.noise_scale import (
    LocalGradients,
    NoiseScale,
    exact_noise_scale,
    noise_scale,
    noise_scales,
)


def drawn(batch, workers, repeats, p=40, sigma=3.0, seed=0):
    """(gradients, |G|², tr Σ): means of `batch` samples around a known gradient."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=p)
    noise = rng.normal(size=(repeats, workers, p)) * sigma / batch**0.5
    return true + noise, float(true @ true), p * sigma**2


@pytest.mark.parametrize(("batch", "workers"), [(1, 2), (8, 4), (100, 16)])
def test_the_truth_is_found(batch, workers):
    gradients, squared_norm, variance = drawn(batch, workers, 20_000 // workers)
    found = noise_scale(gradients, batch)
    assert found.squared_norm == pytest.approx(squared_norm, rel=0.05)
    assert found.variance == pytest.approx(variance, rel=0.05)
    assert found.samples == pytest.approx(variance / squared_norm, rel=0.1)


@pytest.mark.parametrize(("name", "truth"), [("squared_norm", 1), ("variance", 2)])
def test_both_are_unbiased_in_a_single_measurement(name, truth):
    known = drawn(4, 2, 4000)
    values = [getattr(noise_scale(each, 4), name) for each in known[0]]
    assert abs(np.mean(values) - known[truth]) < 4 * np.std(values) / len(values) ** 0.5
    assert np.std(values) > 0


def test_by_hand():
    assert noise_scale([[3.0, 1.0], [1.0, 3.0]], batch=1) == NoiseScale(6.0, 4.0)
    same = noise_scale(np.ones((3, 5)), batch=2)
    assert (same.squared_norm, same.variance, same.samples) == (5, 0, 0)
    assert noise_scale([[1.0], [-1.0]], 1).samples == math.inf  # |G|² is estimated below 0


@pytest.mark.parametrize(
    ("gradients", "batch", "says"),
    [
        (np.ones(5), 1, r"at least 2 workers; got \(5,\)"),
        (np.ones((1, 5)), 1, r"at least 2 workers; got \(1, 5\)"),
        (np.ones((2, 0)), 1, r"got \(2, 0\)"),
        ([[np.nan], [1.0]], 1, "finite"),
        (np.ones((2, 5)), 0, "batch must be"),
    ],
)
def test_bad_input(gradients, batch, says):
    with pytest.raises(ValueError, match=says):
        noise_scale(gradients, batch)


@pytest.mark.parametrize(("batch", "repeats"), [(0, 1), (1, 0), (1.5, 1), (True, 1)])
def test_a_bad_look_is_refused_before_the_run(batch, repeats):
    with pytest.raises((TypeError, ValueError), match="must be a whole number of at least 1"):
        LocalGradients(batch, repeats)


@pytest.fixture(scope="module")
def looks():
    """(what two ranks' gradients say, what each sample's own say), before two passes and after each."""
    config, watch = replace(SGD, epochs=2, batch=16), LocalGradients(batch=64, repeats=192)
    results = launch(digits_worker(config, watch=watch), 2, threads=1).values
    (exact,) = train_each([digits_worker(replace(config, batch=32), watch=exact_noise_scale)])
    return results, exact.watched


def test_on_digits_it_grows_as_the_loss_falls(looks):
    scales = [look.samples for look in looks[1]]
    assert 5 < scales[0] < 60 and all(2 * scales[0] < later for later in scales[1:])


def test_the_estimate_finds_what_all_samples_say(looks):
    results, exact = looks
    gradients = [result.watched for result in results]
    assert gradients[0][0].shape == (192, 64 * 32 + 32 + 32 * 32 + 32 + 32 * 10 + 10)
    assert not np.allclose(gradients[0][0], gradients[1][0])  # each rank's are its own
    for found, true in zip(noise_scales(results, batch=64), exact, strict=True):
        assert found.squared_norm == pytest.approx(true.squared_norm, rel=0.2)
        assert found.variance == pytest.approx(true.variance, rel=0.2)


def test_before_the_first_step_the_exact_one_is_that_of_all_samples(looks):
    whole = np.mean([result.watched[0] for result in looks[0]], axis=(0, 1))
    assert whole @ whole == pytest.approx(looks[1][0].squared_norm, rel=0.1)
