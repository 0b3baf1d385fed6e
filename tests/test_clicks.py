"""Generated clicks: AUC against brute force, the truth against what was drawn, and bad input."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.clicks import VOCABULARIES, auc, make_clicks


@pytest.fixture(scope="module")
def clicks():
    return make_clicks(seed=3)


def brute_force_auc(labels, scores):
    pairs = itertools.product(scores[labels == 1], scores[labels == 0])
    return np.mean([(click > other) + (click == other) / 2 for click, other in pairs])


# --- AUC


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9)), max_size=30), st.integers(0, 9))
def test_auc_by_brute_force(samples, score):
    labels, scores = np.array([*samples, (0, 5), (1, score)], float).T
    assert auc(labels, scores) == pytest.approx(brute_force_auc(labels, scores), abs=1e-14)


def test_auc_of_known_orders():
    labels = np.array([0, 0, 1, 1])
    assert auc(labels, [1, 2, 3, 4]) == 1
    assert auc(labels, [4, 3, 2, 1]) == 0
    assert auc(labels, [1, 1, 1, 1]) == 0.5
    assert auc(labels, [1, 3, 3, 4]) == 0.875
    assert auc(labels == 1, [1, 3, 3, math.inf]) == 0.875


def test_auc_depends_on_the_order_alone():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 2, 300), rng.normal(size=300)
    assert auc(labels, scores) == auc(labels, np.exp(3 * scores)) == pytest.approx(1 - auc(labels, -scores))


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([1, 1], [1, 2], "some of each"),
        ([0, 0], [1, 2], "some of each"),
        ([], [], "some of each"),
        ([0, 2], [1, 2], "labels must be 0 or 1"),
        ([0, 1], [1, math.nan], "scores must be numbers; 1 of 2 are NaN"),
        ([0, 1, 1], [1, 2], "must be \\(n,\\) alike; got \\(3,\\) and \\(2,\\)"),
        ([[0, 1]], [[1, 2]], "must be \\(n,\\) alike"),
    ],
)
def test_bad_scores(labels, scores, message):
    with pytest.raises(ValueError, match=message):
        auc(labels, scores)


# --- what was drawn is what the truth says


def test_shapes_and_ranges(clicks):
    training, held_out = clicks
    assert (len(training), len(held_out)) == (80_000, 20_000)
    for part in clicks:
        assert part.fields.shape == (len(part), len(VOCABULARIES)) and part.vocabularies == VOCABULARIES
        assert part.fields.dtype == part.labels.dtype == np.int64
        assert part.fields.min() == 0 and (part.fields.max(axis=0) < VOCABULARIES).all()
        assert ((0 < part.probabilities) & (part.probabilities < 1)).all()
    assert 0.2 < training.labels.mean() < 0.3
    assert "80,000 samples of 6 fields" in repr(training)


def test_labels_follow_the_probabilities(clicks):
    training, _ = clicks
    order = np.argsort(training.probabilities)
    for part in np.array_split(order, 20):
        p = training.probabilities[part]
        deviation = math.sqrt((p * (1 - p)).sum())
        assert abs(training.labels[part].sum() - p.sum()) < 4 * deviation


def test_values_have_a_long_tail(clicks):
    training, _ = clicks
    for field, size in enumerate(VOCABULARIES):
        expected = np.arange(1, size + 1) ** -1.5
        expected *= len(training) / expected.sum()
        counts = np.bincount(training.fields[:, field], minlength=size)
        assert (abs(counts - expected) < 5 * np.sqrt(expected) + 5).all()
    assert (np.bincount(training.fields[:, 0], minlength=1000) < 10).sum() > 300


def test_interactions_have_no_main_effect():
    """Of log-odds made of interactions alone the mean is 0 for every value of every field."""
    training, _ = make_clicks(100_000, 1, (20, 10, 5), weights=0, bias=0, interactions=1, rank=3)
    logits = np.log(training.probabilities / (1 - training.probabilities))
    for values in training.fields.T:
        for value in range(5):
            own = logits[values == value]
            assert abs(own.mean()) < 5 * own.std() / math.sqrt(len(own))
    assert logits.std() == pytest.approx(1, rel=0.05)


def test_strengths_are_standard_deviations():
    training, _ = make_clicks(100_000, 1, weights=0.7, interactions=0, bias=0.5)
    logits = np.log(training.probabilities / (1 - training.probabilities))
    assert logits.std() == pytest.approx(0.7, rel=0.02)
    assert logits.mean() == pytest.approx(0.5, abs=0.02)


def test_no_strength_no_order():
    _, held_out = make_clicks(10, 2000, weights=0, interactions=0)
    assert held_out.best_auc == 0.5 and held_out.expected_auc == pytest.approx(0.5, rel=1e-12)


# --- the best possible


def test_expected_auc_is_that_of_many_draws():
    _, held_out = make_clicks(1, 400, zipf=2.5)  # values repeat, so that there are ties
    rng = np.random.default_rng(0)
    p = held_out.probabilities
    draws = [auc(rng.random(len(p)) < p, p) for _ in range(2000)]
    assert held_out.expected_auc == pytest.approx(np.mean(draws), abs=4 * np.std(draws) / math.sqrt(2000))
    assert len(np.unique(p)) < 300


def test_expected_auc_by_brute_force():
    _, held_out = make_clicks(1, 60, (3, 2), zipf=1)
    pairs = itertools.permutations(held_out.probabilities, 2)
    weights, right = np.array([(p * (1 - q), (p > q) + (p == q) / 2) for p, q in pairs]).T
    assert held_out.expected_auc == pytest.approx(weights @ right / weights.sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_the_best_is_known(seed):
    _, held_out = make_clicks(1, seed=seed)
    assert 0.79 < held_out.best_auc < 0.85
    assert held_out.best_auc == auc(held_out.labels, held_out.probabilities)
    assert held_out.best_auc == pytest.approx(held_out.expected_auc, abs=0.01)
    noisy = held_out.probabilities + np.random.default_rng(0).normal(0, 0.05, len(held_out))
    assert auc(held_out.labels, noisy) < held_out.best_auc


# --- seeds


def test_a_seed_gives_the_same_clicks(clicks):
    again = make_clicks(seed=3)
    for one, other in zip(clicks, again, strict=True):
        for name in ("fields", "labels", "probabilities"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    assert not np.array_equal(make_clicks(seed=4)[0].fields, clicks[0].fields)


def test_sizes_do_not_change_the_truth(clicks):
    _, held_out = make_clicks(100, 20_000, seed=3)
    assert np.array_equal(held_out.probabilities, clicks[1].probabilities)


def test_held_out_samples_are_others():
    training, held_out = make_clicks(100, 100)
    assert not np.array_equal(training.fields, held_out.fields)


def test_one_truth_for_both(clicks):
    """Equal fields have equal probabilities, whichever part they are in."""
    fields = np.concatenate([part.fields for part in clicks])
    p = np.concatenate([part.probabilities for part in clicks])
    different, which = np.unique(fields, axis=0, return_inverse=True)
    one_of_each = np.empty(len(different))
    one_of_each[which] = p
    assert len(different) < 90_000
    np.testing.assert_allclose(p, one_of_each[which], rtol=1e-12)


def test_nothing_can_be_written(clicks):
    for part in clicks:
        for array in (part.fields, part.labels, part.probabilities):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


# --- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training": 0}, "training must be a whole number of at least 1; got 0"),
        ({"held_out": -5}, "held_out must be a whole number of at least 1; got -5"),
        ({"vocabularies": (10,)}, "at least two fields"),
        ({"vocabularies": (10, 1)}, r"vocabularies\[1\] must be a whole number of at least 2; got 1"),
        ({"zipf": -1}, "zipf must be a finite number of at least 0"),
        ({"zipf": 1000}, "zipf must be at most 20, or a field has one value only; got 1000"),
        ({"weights": math.nan}, "weights must be"),
        ({"interactions": -0.1}, "interactions must be"),
        ({"bias": math.inf}, "bias must be"),
        ({"rank": 0}, "rank must be"),
        ({"seed": -1}, "seed must be"),
        ({"training": 1.5}, "training must be"),
        ({"vocabularies": 10}, "vocabularies"),
        ({"vocabularies": (10, 2.5)}, r"vocabularies\[1\] must be"),
        ({"seed": None}, "seed must be"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make_clicks(**settings)
