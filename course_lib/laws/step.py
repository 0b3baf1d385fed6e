"""How long a step takes whose gradients go round a ring, after backward or beside it."""

import math

import numpy as np

from course_lib.laws.all_reduce import ring_time
from course_lib.laws.checks import Numbers, Result, count, not_negative, plain, positive


def step_time(
    work: Numbers, nbytes: Numbers, ranks: Numbers, bandwidth: Numbers, latency: Numbers = 0.0
) -> Result:
    """Seconds of a strong-scaling step: work / K + ring_time; `work` is the seconds of one worker alone."""
    return plain(
        positive("work", work) / count("ranks", ranks) + ring_time(nbytes, ranks, bandwidth, latency)
    )


def speedup_with_ring(
    work: Numbers, nbytes: Numbers, ranks: Numbers, bandwidth: Numbers, latency: Numbers = 0.0
) -> Result:
    """work / step_time. Without latency it tends to work * bandwidth / (2 M), rising if that is above 1."""
    return plain(positive("work", work) / step_time(work, nbytes, ranks, bandwidth, latency))


def best_ranks(work: Numbers, nbytes: Numbers, bandwidth: Numbers, latency: Numbers) -> float:
    """The K of the least `step_time`: near sqrt((work - 2 M / bandwidth) / (2 latency)).

    Infinite without latency, if more workers help at all; 1 if they do not.
    """
    work, nbytes = float(positive("work", work)), float(not_negative("nbytes", nbytes))
    bandwidth = float(positive("bandwidth", bandwidth, finite=False))
    latency, gain = float(not_negative("latency", latency)), work - 2 * nbytes / bandwidth
    if gain <= 0:
        return 1
    if latency == 0:
        return math.inf
    turning = math.sqrt(gain / (2 * latency))
    near = {max(1, math.floor(turning)), max(1, math.ceil(turning))}
    return min(near, key=lambda ranks: step_time(work, nbytes, ranks, bandwidth, latency))


def overlapped_time(
    work: Numbers,
    nbytes: Numbers,
    buckets: Numbers,
    ranks: Numbers,
    bandwidth: Numbers,
    latency: Numbers = 0.0,
) -> Result:
    """Seconds of a backward pass of `work` seconds with n equal `buckets`, each reduced by a ring.

    An all-reduce starts once its part of the gradient is computed and the one before has ended: a pipeline
    of two stages, c + t + (n - 1) max(c, t), with c = work / n and t = ring_time(nbytes / n).
    """
    part, reduce, n = _stages(work, nbytes, buckets, ranks, bandwidth, latency)
    return plain(part + reduce + (n - 1) * np.maximum(part, reduce))


def hidden_share(
    work: Numbers,
    nbytes: Numbers,
    buckets: Numbers,
    ranks: Numbers,
    bandwidth: Numbers,
    latency: Numbers = 0.0,
) -> Result:
    """Share of the all-reduces' time in which backward still computes: (n - 1) / n * min(1, c / t).

    See overlapped_time; the last bucket is never hidden. 1 if the all-reduces take no time.
    """
    part, reduce, n = _stages(work, nbytes, buckets, ranks, bandwidth, latency)
    with np.errstate(divide="ignore"):
        return plain(np.where(reduce > 0, (n - 1) / n * np.minimum(1, part / reduce), 1.0))


def best_buckets(
    work: Numbers, nbytes: Numbers, ranks: Numbers, bandwidth: Numbers, latency: Numbers
) -> float:
    """The number of buckets of the least `overlapped_time`, near max((work - b) / a, sqrt(work / a)).

    a = 2(K-1) latency is what each bucket costs, b the ring's time for all bytes without latency: more
    buckets cost more latency, fewer start later and leave a longer last one. Infinite without latency, 1 for
    one rank.
    """
    work, nbytes = float(positive("work", work)), float(not_negative("nbytes", nbytes))
    transfer = ring_time(nbytes, ranks, bandwidth)
    added = ring_time(0, ranks, bandwidth, latency)
    if ranks == 1:
        return 1
    if added == 0:
        return math.inf
    turning = max((work - transfer) / added, math.sqrt(work / added))
    near = {max(1, math.floor(turning)), max(1, math.ceil(turning))}
    return min(near, key=lambda n: overlapped_time(work, nbytes, n, ranks, bandwidth, latency))


def _stages(
    work: Numbers, nbytes: Numbers, buckets: Numbers, ranks: Numbers, bandwidth: Numbers, latency: Numbers
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds to compute a bucket's gradient, seconds to reduce it, and how many there are."""
    n = count("buckets", buckets)
    nbytes = not_negative("nbytes", nbytes) / n
    return positive("work", work) / n, np.asarray(ring_time(nbytes, ranks, bandwidth, latency)), n
