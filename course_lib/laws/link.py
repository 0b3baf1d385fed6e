"""What measured all-reduces say of the link."""

import math

import numpy as np

from course_lib.laws.all_reduce import ALGORITHMS, COSTS
from course_lib.laws.checks import Numbers, Result, count, not_negative, plain, positive


def algorithm_bandwidth(nbytes: Numbers, seconds: Numbers) -> Result:
    """Bytes per second as the caller sees it: S / t (nccl-tests, PERFORMANCE.md)."""
    return plain(not_negative("nbytes", nbytes) / positive("seconds", seconds))


def bus_bandwidth(nbytes: Numbers, seconds: Numbers, ranks: Numbers) -> Result:
    """Bytes per second on each link during an all-reduce: S / t * 2(n-1)/n (nccl-tests, PERFORMANCE.md)."""
    ranks = count("ranks", ranks)
    return plain(np.asarray(algorithm_bandwidth(nbytes, seconds)) * 2 * (ranks - 1) / ranks)


def fit_link(
    nbytes: Numbers, seconds: Numbers, ranks: Numbers, algorithm: str = "ring"
) -> tuple[float, float]:
    """(latency, bandwidth) that explain measured all-reduce times best, in relative error.

    nbytes, seconds: arrays of equal length, at least two different sizes. Neither comes out negative: a fit
    that would need it has latency 0, or infinite bandwidth.
    """
    nbytes, seconds = (
        np.atleast_1d(not_negative("nbytes", nbytes)),
        np.atleast_1d(positive("seconds", seconds)),
    )
    if nbytes.shape != seconds.shape or len(np.unique(nbytes)) < 2:
        raise ValueError(
            f"nbytes and seconds must match and hold two sizes; got {nbytes.shape}, {seconds.shape}"
        )
    if algorithm not in COSTS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}; got {algorithm!r}")
    rounds, volume = COSTS[algorithm](count("ranks", ranks, low=2))
    terms = np.stack([np.full(len(nbytes), float(rounds)), volume * nbytes], axis=1) / seconds[:, None]
    latency, inverse = _non_negative_fit(terms)
    return float(latency), float(1 / inverse) if inverse > 0 else math.inf


def _non_negative_fit(terms: np.ndarray) -> np.ndarray:
    """Least squares of terms @ x = 1 with x >= 0, for two unknowns: free, or with one of them at 0."""
    free = np.linalg.lstsq(terms, np.ones(len(terms)), rcond=None)[0]
    if (free >= 0).all():
        return free
    alone = [term.sum() / (term**2).sum() if term.any() else 0.0 for term in terms.T]
    candidates = [np.array([alone[0], 0.0]), np.array([0.0, alone[1]])]
    return min(candidates, key=lambda x: ((terms @ x - 1) ** 2).sum())
