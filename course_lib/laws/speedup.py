"""How much faster many workers are: what a serial part leaves of it."""

import numpy as np

from course_lib.laws.checks import Numbers, Result, count, plain, positive, share


def amdahl_speedup(p: Numbers, n: Numbers) -> Result:
    """Speed-up on n workers if a share p of the work is parallel: 1 / ((1 - p) + p / n) (Amdahl 1967)."""
    p, n = share("p", p), count("n", n)
    return plain(1 / ((1 - p) + p / n))


def amdahl_limit(p: Numbers) -> Result:
    """What `amdahl_speedup` approaches as n grows: 1 / (1 - p); infinite for p = 1."""
    with np.errstate(divide="ignore"):
        return plain(1 / (1 - share("p", p)))


def amdahl_workers(p: Numbers, fraction: Numbers = 0.9) -> Result:
    """The least n at which `amdahl_speedup` reaches `fraction` (below 1) of its limit; p < 1."""
    p, fraction = share("p", p), share("fraction", fraction)
    if np.any(p == 1) or np.any(fraction == 1):
        raise ValueError("p and fraction must be below 1: the limit itself is never reached")
    # S(n) = f / (1 - p)  <=>  n = f p / ((1 - f)(1 - p)); rounded, lest 9.000000001 count as 10
    return plain(np.maximum(1, np.ceil(np.round(fraction * p / ((1 - fraction) * (1 - p)), 9))))


def gustafson_speedup(p: Numbers, n: Numbers) -> Result:
    """Scaled speed-up when the parallel work grows with n: (1 - p) + p n (Gustafson 1988)."""
    p, n = share("p", p), count("n", n)
    return plain((1 - p) + p * n)


def karp_flatt(speedup: Numbers, n: Numbers) -> Result:
    """Serial fraction that a measured speed-up on n >= 2 workers implies (Karp and Flatt 1990).

    (1/S - 1/n) / (1 - 1/n). Below 0 for a speed-up above n.
    """
    speedup, n = positive("speedup", speedup), count("n", n, low=2)
    return plain((1 / speedup - 1 / n) / (1 - 1 / n))
