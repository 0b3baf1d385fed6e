"""Closed forms: what theory predicts, apart from both worlds, so that it can be held against them.

Arguments are numbers or arrays that broadcast; results are floats or arrays. Seconds, bytes, bytes per
second. Every function raises ValueError for NaN or a value outside its domain, and names the argument.
"""

import math

import numpy as np

# Costs of an all-reduce of M bytes on K workers in the alpha-beta model, as (messages one after another,
# multiples of M through the busiest port): time = rounds * latency + volume * M / bandwidth.
# Ring, recursive doubling, halving-doubling: Thakur, Rabenseifner, Gropp 2005, for powers of two. Of another
# K the ranks beyond the largest power of two hand over their array first, one whole message there and one
# back; in halving-doubling the first half of a partner queues at the same port meanwhile. The others follow
# from the port model: one message at a time out, one in.


def _ring(k):
    return 2 * (k - 1), 2 * (k - 1) / k


def _tree(k):
    levels = np.floor(np.log2(k))  # of a binary tree: each parent has two children, one after the other
    return 2 * levels, 4 * levels


def _halving_doubling(k):
    levels, folded = np.floor(np.log2(k)), _is_folded(k)
    core = 2.0**levels
    return 2 * levels + 2 * folded, 2 * (core - 1) / core + 2.5 * folded


def _recursive_doubling(k):
    levels, folded = np.floor(np.log2(k)), _is_folded(k)
    return levels + 2 * folded, levels + 2 * folded


def _parameter_server(k):
    return 2 * (k > 1), 2 * (k - 1)


def _naive(k):
    return 1 * (k > 1), k - 1


def _is_folded(k):
    return np.log2(k) % 1 != 0


_COSTS = {
    "ring": _ring,
    "tree": _tree,
    "halving_doubling": _halving_doubling,
    "recursive_doubling": _recursive_doubling,
    "parameter_server": _parameter_server,
    "naive": _naive,
}
ALGORITHMS = tuple(_COSTS)
_MOST_SUMMED = 10**6  # terms of a harmonic number; beyond, its asymptotic series


def amdahl_speedup(p, n):
    """Speed-up on n workers if a share p of the work is parallel: 1 / ((1 - p) + p / n) (Amdahl 1967)."""
    p, n = _share("p", p), _count("n", n)
    return _plain(1 / ((1 - p) + p / n))


def amdahl_limit(p):
    """What `amdahl_speedup` approaches as n grows: 1 / (1 - p); infinite for p = 1."""
    with np.errstate(divide="ignore"):
        return _plain(1 / (1 - _share("p", p)))


def amdahl_workers(p, fraction=0.9):
    """The least n at which `amdahl_speedup` reaches `fraction` (below 1) of its limit; p < 1."""
    p, fraction = _share("p", p), _share("fraction", fraction)
    if np.any(p == 1) or np.any(fraction == 1):
        raise ValueError("p and fraction must be below 1: the limit itself is never reached")
    # S(n) = f / (1 - p)  <=>  n = f p / ((1 - f)(1 - p)); rounded, lest 9.000000001 count as 10
    return _plain(np.maximum(1, np.ceil(np.round(fraction * p / ((1 - fraction) * (1 - p)), 9))))


def gustafson_speedup(p, n):
    """Scaled speed-up when the parallel work grows with n: (1 - p) + p n (Gustafson 1988)."""
    p, n = _share("p", p), _count("n", n)
    return _plain((1 - p) + p * n)


def karp_flatt(speedup, n):
    """Serial fraction that a measured speed-up on n >= 2 workers implies (Karp and Flatt 1990).

    (1/S - 1/n) / (1 - 1/n). Below 0 for a speed-up above n.
    """
    speedup, n = _positive("speedup", speedup), _count("n", n, low=2)
    return _plain((1 / speedup - 1 / n) / (1 - 1 / n))


def all_reduce_time(nbytes, ranks, bandwidth, latency=0.0, algorithm="ring"):
    """Seconds of an all-reduce of `nbytes` by one of ALGORITHMS; 0 for one rank.

    "tree" is exact for full trees (1, 3, 7, 15 … ranks) and a bound otherwise.
    """
    if algorithm not in _COSTS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}; got {algorithm!r}")
    nbytes, bandwidth = _not_negative("nbytes", nbytes), _positive("bandwidth", bandwidth, finite=False)
    latency = _not_negative("latency", latency)
    rounds, volume = _COSTS[algorithm](_count("ranks", ranks))
    return _plain(rounds * latency + volume * nbytes / bandwidth)


def ring_time(nbytes, ranks, bandwidth, latency=0.0):
    """Seconds of a ring all-reduce: 2(K-1) (latency + M / (K bandwidth)); M bytes in K equal chunks."""
    return all_reduce_time(nbytes, ranks, bandwidth, latency, "ring")


def hierarchical_time(nbytes, ranks, group, bandwidth, latency, group_bandwidth, group_latency):
    """Seconds of a two-level ring all-reduce; `ranks` is a multiple of `group`.

    Reduce-scatter and all-gather inside each group of `group` ranks on its own link; between the groups,
    rings of chunks of M / group on the link of `bandwidth` and `latency`.
    """
    ranks, group = _count("ranks", ranks), _count("group", group)
    if np.any(ranks % group):
        raise ValueError(f"ranks must be a multiple of group; got {ranks} and {group}")
    inside = np.asarray(ring_time(nbytes, group, group_bandwidth, group_latency))
    return _plain(inside + ring_time(np.asarray(nbytes) / group, ranks // group, bandwidth, latency))


def crossover_bytes(first, second, ranks, bandwidth, latency):
    """The size from which on `second` is faster than `first` (both in ALGORITHMS); NaN if there is none."""
    nothing = np.asarray(all_reduce_time(0, ranks, bandwidth, latency, first))
    ahead = np.asarray(all_reduce_time(0, ranks, bandwidth, latency, second)) - nothing
    slope = (np.asarray(all_reduce_time(1, ranks, bandwidth, 0.0, first))) - np.asarray(
        all_reduce_time(1, ranks, bandwidth, 0.0, second)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return _plain(np.where((slope > 0) & (ahead >= 0), ahead / slope, np.nan))


def latency_bytes(ranks, bandwidth, latency):
    """The size at which latency and transfer take equal shares of a ring: K latency bandwidth."""
    bandwidth = _positive("bandwidth", bandwidth)
    return _plain(_count("ranks", ranks) * _not_negative("latency", latency) * bandwidth)


def lower_bound_bytes(nbytes, ranks):
    """The least that some rank must send in any all-reduce: 2(K-1)/K M (Patarasuk and Yuan 2009)."""
    ranks = _count("ranks", ranks)
    return _plain(2 * (ranks - 1) / ranks * _not_negative("nbytes", nbytes))


def step_time(work, nbytes, ranks, bandwidth, latency=0.0):
    """Seconds of a strong-scaling step: work / K + ring_time; `work` is the seconds of one worker alone."""
    return _plain(
        _positive("work", work) / _count("ranks", ranks) + ring_time(nbytes, ranks, bandwidth, latency)
    )


def speedup_with_ring(work, nbytes, ranks, bandwidth, latency=0.0):
    """work / step_time. Without latency it tends to work * bandwidth / (2 M), rising if that is above 1."""
    return _plain(_positive("work", work) / step_time(work, nbytes, ranks, bandwidth, latency))


def best_ranks(work, nbytes, bandwidth, latency):
    """The K of the least `step_time`: near sqrt((work - 2 M / bandwidth) / (2 latency)).

    Infinite without latency, if more workers help at all; 1 if they do not.
    """
    work, nbytes = float(_positive("work", work)), float(_not_negative("nbytes", nbytes))
    bandwidth = float(_positive("bandwidth", bandwidth, finite=False))
    latency, gain = float(_not_negative("latency", latency)), work - 2 * nbytes / bandwidth
    if gain <= 0:
        return 1
    if latency == 0:
        return math.inf
    turning = math.sqrt(gain / (2 * latency))
    near = {max(1, math.floor(turning)), max(1, math.ceil(turning))}
    return min(near, key=lambda ranks: step_time(work, nbytes, ranks, bandwidth, latency))


def overlapped_time(work, nbytes, buckets, ranks, bandwidth, latency=0.0):
    """Seconds of a backward pass of `work` seconds with n equal `buckets`, each reduced by a ring.

    An all-reduce starts once its part of the gradient is computed and the one before has ended: a pipeline
    of two stages, c + t + (n - 1) max(c, t), with c = work / n and t = ring_time(nbytes / n).
    """
    part, reduce, n = _stages(work, nbytes, buckets, ranks, bandwidth, latency)
    return _plain(part + reduce + (n - 1) * np.maximum(part, reduce))


def hidden_share(work, nbytes, buckets, ranks, bandwidth, latency=0.0):
    """Share of the all-reduces' time in which backward still computes: (n - 1) / n * min(1, c / t).

    See overlapped_time; the last bucket is never hidden. 1 if the all-reduces take no time.
    """
    part, reduce, n = _stages(work, nbytes, buckets, ranks, bandwidth, latency)
    with np.errstate(divide="ignore"):
        return _plain(np.where(reduce > 0, (n - 1) / n * np.minimum(1, part / reduce), 1.0))


def best_buckets(work, nbytes, ranks, bandwidth, latency):
    """The number of buckets of the least `overlapped_time`, near max((work - b) / a, sqrt(work / a)).

    a = 2(K-1) latency is what each bucket costs, b the ring's time for all bytes without latency: more
    buckets cost more latency, fewer start later and leave a longer last one. Infinite without latency, 1 for
    one rank.
    """
    work, nbytes = float(_positive("work", work)), float(_not_negative("nbytes", nbytes))
    transfer = ring_time(nbytes, ranks, bandwidth)
    added = ring_time(0, ranks, bandwidth, latency)
    if ranks == 1:
        return 1
    if added == 0:
        return math.inf
    turning = max((work - transfer) / added, math.sqrt(work / added))
    near = {max(1, math.floor(turning)), max(1, math.ceil(turning))}
    return min(near, key=lambda n: overlapped_time(work, nbytes, n, ranks, bandwidth, latency))


def _stages(work, nbytes, buckets, ranks, bandwidth, latency):
    """Seconds to compute a bucket's gradient, seconds to reduce it, and how many there are."""
    n = _count("buckets", buckets)
    nbytes = _not_negative("nbytes", nbytes) / n
    return _positive("work", work) / n, np.asarray(ring_time(nbytes, ranks, bandwidth, latency)), n


def algorithm_bandwidth(nbytes, seconds):
    """Bytes per second as the caller sees it: S / t (nccl-tests, PERFORMANCE.md)."""
    return _plain(_not_negative("nbytes", nbytes) / _positive("seconds", seconds))


def bus_bandwidth(nbytes, seconds, ranks):
    """Bytes per second on each link during an all-reduce: S / t * 2(n-1)/n (nccl-tests, PERFORMANCE.md)."""
    ranks = _count("ranks", ranks)
    return _plain(np.asarray(algorithm_bandwidth(nbytes, seconds)) * 2 * (ranks - 1) / ranks)


def fit_link(nbytes, seconds, ranks, algorithm="ring"):
    """(latency, bandwidth) that explain measured all-reduce times best, in relative error.

    nbytes, seconds: arrays of equal length, at least two different sizes. Neither comes out negative: a fit
    that would need it has latency 0, or infinite bandwidth.
    """
    nbytes, seconds = (
        np.atleast_1d(_not_negative("nbytes", nbytes)),
        np.atleast_1d(_positive("seconds", seconds)),
    )
    if nbytes.shape != seconds.shape or len(np.unique(nbytes)) < 2:
        raise ValueError(
            f"nbytes and seconds must match and hold two sizes; got {nbytes.shape}, {seconds.shape}"
        )
    if algorithm not in _COSTS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}; got {algorithm!r}")
    rounds, volume = _COSTS[algorithm](_count("ranks", ranks, low=2))
    terms = np.stack([np.full(len(nbytes), float(rounds)), volume * nbytes], axis=1) / seconds[:, None]
    latency, inverse = _non_negative_fit(terms)
    return float(latency), float(1 / inverse) if inverse > 0 else math.inf


def _non_negative_fit(terms):
    """Least squares of terms @ x = 1 with x >= 0, for two unknowns: free, or with one of them at 0."""
    free = np.linalg.lstsq(terms, np.ones(len(terms)), rcond=None)[0]
    if (free >= 0).all():
        return free
    alone = [term.sum() / (term**2).sum() if term.any() else 0.0 for term in terms.T]
    candidates = [np.array([alone[0], 0.0]), np.array([0.0, alone[1]])]
    return min(candidates, key=lambda x: ((terms @ x - 1) ** 2).sum())


def scaled_learning_rate(base_lr, base_batch, batch):
    """Linear scaling: base_lr * batch / base_batch (Goyal et al. 2017)."""
    return _plain(_positive("base_lr", base_lr) * _count("batch", batch) / _count("base_batch", base_batch))


def square_root_learning_rate(base_lr, base_batch, batch):
    """Square-root scaling, for Adam and its kin: base_lr * sqrt(batch / base_batch) (Malladi et al. 2022).

    Their rule also moves Adam's betas: 1 - beta grows as the batch does, epsilon falls as its square root.
    """
    growth = _count("batch", batch) / _count("base_batch", base_batch)
    return _plain(_positive("base_lr", base_lr) * np.sqrt(growth))


def staleness_limit(tau):
    """The largest stable lr * curvature of gradient descent on a quadratic, each gradient tau updates old.

    2 sin(pi / (2 (2 tau + 1))): 2 for tau = 0. From the roots of z^(tau+1) = z^tau - lr * curvature.
    """
    return _plain(2 * np.sin(np.pi / (2 * (2 * _count("tau", tau, low=0) + 1))))


def expected_slowest(k):
    """Mean of the slowest of k exponential times, in means of one: 1 + 1/2 + … + 1/k."""
    k = _count("k", k)
    few = np.minimum(k, _MOST_SUMMED)
    sums = np.cumsum(1 / np.arange(1, int(few.max()) + 1))
    series = np.log(k) + np.euler_gamma + 1 / (2 * k) - (1 / k) ** 2 / 12  # off by less than 1 / (120 k^4)
    return _plain(np.where(k > _MOST_SUMMED, series, sums[few.astype(int) - 1]))


def expected_backup(k, extra):
    """Mean time of the k-th of k + extra exponential times, in means of one: H_(k + extra) - H_extra.

    What a step with `extra` backup workers takes (Chen et al. 2016) if every worker begins it afresh.
    """
    k, extra = _count("k", k), _count("extra", extra, low=0)
    rest = np.where(extra > 0, expected_slowest(np.maximum(extra, 1)), 0)
    return _plain(expected_slowest(k + extra) - rest)


def compressed_wire_bytes(payload, ranks, collective="ring"):
    """Bytes that each rank sends so that all know the sum of everybody's `payload` (bytes of one rank's).

    "ring": payloads that can be added up on the way, or are decoded and encoded again at each hop (then with
    a scale a chunk): 2(K-1)/K payload. "all_gather": those that cannot; each one goes to all: (K-1) payload.
    """
    payload, ranks = _not_negative("payload", payload), _count("ranks", ranks)
    if collective not in _COMPRESSED:
        raise ValueError(f"collective must be one of {', '.join(_COMPRESSED)}; got {collective!r}")
    return _plain(_COMPRESSED[collective](ranks) * payload)


_COMPRESSED = {"ring": lambda k: 2 * (k - 1) / k, "all_gather": lambda k: k - 1}


def wire_saving(share, ranks, collective="ring"):
    """Share saved on the wire, against the ring, by a payload that is `share` of the array; ranks >= 2.

    "ring": 1 - share, for every K. "all_gather": 1 - share K/2; below 0 it sends more than the ring.
    """
    ranks = _count("ranks", ranks, low=2)
    sent = np.asarray(compressed_wire_bytes(_not_negative("share", share), ranks, collective))
    return _plain(1 - sent / compressed_wire_bytes(1, ranks))


def break_even_density(ranks, entry_bytes=8, number_bytes=4):
    """The density below which top-k by all-gather sends less than the ring; ranks >= 2.

    (K-1) density n entry_bytes < 2(K-1)/K n number_bytes  <=>  density < 2 number_bytes / (K entry_bytes):
    1/K for 8 bytes an entry against float32.
    """
    entry_bytes, number_bytes = _positive("entry_bytes", entry_bytes), _positive("number_bytes", number_bytes)
    return _plain(np.minimum(1, 2 * number_bytes / (_count("ranks", ranks, low=2) * entry_bytes)))


def _share(name, value):
    return _checked(name, value, "between 0 and 1", lambda x: (x >= 0) & (x <= 1))


def _positive(name, value, finite=True):
    return _checked(name, value, "above 0", lambda x: (x > 0) & (np.isfinite(x) | (not finite)))


def _not_negative(name, value):
    return _checked(name, value, "at least 0 and finite", lambda x: (x >= 0) & np.isfinite(x))


def _count(name, value, low=1):
    return _checked(name, value, f"a whole number of at least {low}", lambda x: (x >= low) & (x % 1 == 0))


def _checked(name, value, allowed, holds):
    """`value` as a float array if `holds` for all of it; NaN never does."""
    try:
        if not _is_real(np.asarray(value)):  # a string and a complex number would be made a float
            raise TypeError
        array = np.asarray(value, dtype=float)
    except OverflowError:
        raise ValueError(f"{name} must be {allowed}; got a number too large for a float") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {allowed}; got {value!r}") from None
    with np.errstate(invalid="ignore"):
        good = holds(array)
    if not np.all(good):
        raise ValueError(f"{name} must be {allowed}; got {array[~good].flat[0]:g}")
    return array


def _is_real(array):
    if array.dtype.kind == "O":  # fractions, whole numbers beyond 64 bits
        return not any(isinstance(item, str | bytes | complex) for item in array.flat)
    return array.dtype.kind in "biuf"


def _plain(result):
    """A float for scalars, an array otherwise."""
    return float(result) if np.ndim(result) == 0 else result
