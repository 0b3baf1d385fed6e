"""How long the slowest of many workers takes."""

import numpy as np

from course_lib.laws.checks import Numbers, Result, count, plain

_MOST_SUMMED = 10**6  # terms of a harmonic number; beyond, its asymptotic series


def expected_slowest(k: Numbers) -> Result:
    """Mean of the slowest of k exponential times, in means of one: 1 + 1/2 + … + 1/k."""
    k = count("k", k)
    few = np.minimum(k, _MOST_SUMMED)
    sums = np.cumsum(1 / np.arange(1, int(few.max()) + 1))
    series = np.log(k) + np.euler_gamma + 1 / (2 * k) - (1 / k) ** 2 / 12  # off by less than 1 / (120 k^4)
    return plain(np.where(k > _MOST_SUMMED, series, sums[few.astype(int) - 1]))


def expected_backup(k: Numbers, extra: Numbers) -> Result:
    """Mean time of the k-th of k + extra exponential times, in means of one: H_(k + extra) - H_extra.

    What a step with `extra` backup workers takes (Chen et al. 2016) if every worker begins it afresh.
    """
    k, extra = count("k", k), count("extra", extra, low=0)
    rest = np.where(extra > 0, expected_slowest(np.maximum(extra, 1)), 0)
    return plain(expected_slowest(k + extra) - rest)
