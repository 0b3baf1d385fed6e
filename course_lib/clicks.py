"""Generated clicks whose true probability is known, so that the best possible AUC is known as well."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from course_lib.arguments import real_number, whole_number

VOCABULARIES = (1000, 200, 50, 20, 10, 10)
MOST_ZIPF = 20
_TRUTH, _TRAINING, _HELD_OUT = range(3)  # streams of random numbers: another size of one leaves the others


@dataclass(frozen=True, eq=False)
class Clicks:
    """fields (samples, F): int64, field f in 0 ... vocabularies[f] - 1, 0 the most frequent. labels
    (samples,): int64, 1 for a click. probabilities (samples,): float64, of a click, which no model gets to
    see. All read-only.
    """

    fields: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    vocabularies: tuple

    def __post_init__(self):
        for array in (self.fields, self.labels, self.probabilities):
            array.setflags(write=False)

    def __len__(self):
        return len(self.labels)

    def __repr__(self):
        samples, fields = self.fields.shape
        return f"Clicks({samples:,} samples of {fields} fields, {self.labels.mean():.1%} clicks)"

    @cached_property
    def rows(self):
        """(samples, F): each value's place in one table of all fields' values, field after field."""
        rows = self.fields + np.cumsum([0, *self.vocabularies[:-1]])
        rows.setflags(write=False)
        return rows

    @cached_property
    def best_auc(self):
        """AUC of the true probabilities on these labels; what beats it does so by luck."""
        return auc(self.labels, self.probabilities)

    @cached_property
    def expected_auc(self):
        """`best_auc` with the luck of these labels taken out: the share of pairs, one a click and one not,
        drawn by their probabilities, that the probabilities put in the right order."""
        p = np.sort(self.probabilities)
        first = np.searchsorted(p, p, "left")
        after = np.searchsorted(p, p, "right")
        misses = np.concatenate([[0.0], np.cumsum(1 - p)])  # expected number of labels 0 among the first
        itself = p * (1 - p)
        ordered = p @ (misses[first] + (misses[after] - misses[first]) / 2) - itself.sum() / 2
        return float(ordered / (p.sum() * misses[-1] - itself.sum()))


def make_clicks(
    training=80_000,
    held_out=20_000,
    vocabularies=VOCABULARIES,
    *,
    zipf=1.5,
    weights=1.2,
    interactions=1.0,
    rank=2,
    bias=-1.5,
    seed=0,
):
    """(training, held_out): two Clicks of so many samples, drawn from one truth, which `seed` fixes.

    Field f takes its value r with probability proportional to (r + 1)^-zipf, independently: a long tail. A
    click has the log-odds

        bias + weights / sqrt(F) sum_f w_f[x_f]
             + interactions / sqrt(rank F (F - 1) / 2) sum_(f < g) v_f[x_f] . v_g[x_g]

    with w numbers and v vectors of `rank` numbers, normal, and then of mean 0 and variance 1 over the field's
    values as they occur. So `weights` and `interactions` are standard deviations of the two sums, and no
    logistic regression on the fields explains any of the second: that takes pairs, as in a factorisation
    machine (Rendle 2010). By default a quarter are clicks.
    """
    sizes = whole_number("training", training, 1), whole_number("held_out", held_out, 1)
    vocabularies = _checked_vocabularies(vocabularies)
    rank, seed = whole_number("rank", rank, 1), whole_number("seed", seed, 0)
    if real_number("zipf", zipf) > MOST_ZIPF:
        raise ValueError(f"zipf must be at most {MOST_ZIPF}, or a field has one value only; got {zipf!r}")
    zipf, bias = real_number("zipf", zipf), real_number("bias", bias, -np.inf)
    strengths = real_number("weights", weights), real_number("interactions", interactions)
    frequencies = [_frequencies(size, zipf) for size in vocabularies]
    rng = np.random.default_rng([seed, _TRUTH])
    truth = [
        (_standard(rng.normal(size=(len(p), 1)), p), _standard(rng.normal(size=(len(p), rank)), p))
        for p in frequencies
    ]
    return tuple(
        _draw(np.random.default_rng([seed, stream]), size, frequencies, truth, strengths, bias)
        for stream, size in zip((_TRAINING, _HELD_OUT), sizes, strict=True)
    )


def auc(labels, scores):
    """Area under the ROC curve: the share of pairs, one a click and one not, that `scores` order right.

    A tie counts half (Mann and Whitney's U over n1 n0). labels (n,): 0 or 1, some of each; scores (n,):
    finite, or infinite, not NaN. ValueError otherwise.
    """
    labels, scores = np.asarray(labels), np.asarray(scores)
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise ValueError(f"labels and scores must be (n,) alike; got {labels.shape} and {scores.shape}")
    if not np.isin(labels, (0, 1)).all() or len(np.unique(labels)) < 2:
        raise ValueError("labels must be 0 or 1, some of each: between others there is no order to find")
    if np.isnan(scores).any():
        raise ValueError(f"scores must be numbers; {np.isnan(scores).sum()} of {len(scores)} are NaN")
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]  # from 1; equal scores share their mean rank
    clicks = int(labels.sum())
    pairs = clicks * (len(labels) - clicks)
    return float((ranks[labels == 1].sum() - clicks * (clicks + 1) / 2) / pairs)


def _checked_vocabularies(vocabularies):
    try:
        sizes = tuple(vocabularies)
    except TypeError:
        raise TypeError(f"vocabularies must hold a size a field; got {vocabularies!r}") from None
    if len(sizes) < 2:
        raise ValueError(f"vocabularies must hold at least two fields, which can interact; got {len(sizes)}")
    return tuple(whole_number(f"vocabularies[{number}]", size, 2) for number, size in enumerate(sizes))


def _frequencies(size, zipf):
    weights = np.arange(1.0, size + 1) ** -zipf
    return weights / weights.sum()


def _standard(values, p):
    """`values` (size, columns) moved and stretched to mean 0 and variance 1, each column, under p."""
    values = values - p @ values
    return values / np.sqrt(p @ values**2)


def _draw(rng, samples, frequencies, truth, strengths, bias):
    fields = np.stack([rng.choice(len(p), size=samples, p=p) for p in frequencies], axis=1)
    count, rank = len(frequencies), truth[0][1].shape[1]
    main, total, squares = np.zeros(samples), np.zeros((samples, rank)), np.zeros((samples, rank))
    for (weight, vectors), values in zip(truth, fields.T, strict=True):
        main += weight[values, 0]
        total += vectors[values]
        squares += vectors[values] ** 2
    pairs = (total**2 - squares).sum(axis=1) / 2  # the sum over f < g, in linear time (Rendle 2010)
    weights, interactions = strengths
    logits = bias + weights * main / np.sqrt(count)
    logits += interactions * pairs / np.sqrt(rank * count * (count - 1) / 2)
    probabilities = 1 / (1 + np.exp(-logits))
    labels = (rng.random(samples) < probabilities).astype(np.int64)
    return Clicks(fields.astype(np.int64), labels, probabilities, tuple(map(len, frequencies)))
