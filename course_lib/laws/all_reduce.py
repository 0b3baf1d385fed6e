"""How long an all-reduce takes."""

from typing import TypeAlias

import numpy as np

from course_lib.laws.checks import Numbers, Result, count, not_negative, plain, positive

# Costs of an all-reduce of M bytes on K workers in the alpha-beta model, as (messages one after another,
# multiples of M through the busiest port): time = rounds * latency + volume * M / bandwidth.
# Ring, recursive doubling, halving-doubling: Thakur, Rabenseifner, Gropp 2005, for powers of two. Of another
# K the ranks beyond the largest power of two hand over their array first, one whole message there and one
# back; in halving-doubling the first half of a partner queues at the same port meanwhile. The others follow
# from the port model: one message at a time out, one in.
Cost: TypeAlias = tuple[Result, Result]


def _ring(k: np.ndarray) -> Cost:
    return 2 * (k - 1), 2 * (k - 1) / k


def _tree(k: np.ndarray) -> Cost:
    levels = np.floor(np.log2(k))  # of a binary tree: each parent has two children, one after the other
    return 2 * levels, 4 * levels


def _halving_doubling(k: np.ndarray) -> Cost:
    levels, folded = np.floor(np.log2(k)), _is_folded(k)
    core = 2.0**levels
    return 2 * levels + 2 * folded, 2 * (core - 1) / core + 2.5 * folded


def _recursive_doubling(k: np.ndarray) -> Cost:
    levels, folded = np.floor(np.log2(k)), _is_folded(k)
    return levels + 2 * folded, levels + 2 * folded


def _parameter_server(k: np.ndarray) -> Cost:
    return 2 * (k > 1), 2 * (k - 1)


def _naive(k: np.ndarray) -> Cost:
    return 1 * (k > 1), k - 1


def _is_folded(k: np.ndarray) -> np.ndarray:
    return np.log2(k) % 1 != 0


COSTS = {
    "ring": _ring,
    "tree": _tree,
    "halving_doubling": _halving_doubling,
    "recursive_doubling": _recursive_doubling,
    "parameter_server": _parameter_server,
    "naive": _naive,
}

ALGORITHMS = tuple(COSTS)


def all_reduce_time(
    nbytes: Numbers, ranks: Numbers, bandwidth: Numbers, latency: Numbers = 0.0, algorithm: str = "ring"
) -> Result:
    """Seconds of an all-reduce of `nbytes` by one of ALGORITHMS; 0 for one rank.

    "tree" is exact for full trees (1, 3, 7, 15 … ranks) and a bound otherwise.
    """
    if algorithm not in COSTS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}; got {algorithm!r}")
    nbytes, bandwidth = not_negative("nbytes", nbytes), positive("bandwidth", bandwidth, finite=False)
    latency = not_negative("latency", latency)
    rounds, volume = COSTS[algorithm](count("ranks", ranks))
    return plain(rounds * latency + volume * nbytes / bandwidth)


def ring_time(nbytes: Numbers, ranks: Numbers, bandwidth: Numbers, latency: Numbers = 0.0) -> Result:
    """Seconds of a ring all-reduce: 2(K-1) (latency + M / (K bandwidth)); M bytes in K equal chunks."""
    return all_reduce_time(nbytes, ranks, bandwidth, latency, "ring")


def hierarchical_time(
    nbytes: Numbers,
    ranks: Numbers,
    group: Numbers,
    bandwidth: Numbers,
    latency: Numbers,
    group_bandwidth: Numbers,
    group_latency: Numbers,
) -> Result:
    """Seconds of a two-level ring all-reduce; `ranks` is a multiple of `group`.

    Reduce-scatter and all-gather inside each group of `group` ranks on its own link; between the groups,
    rings of chunks of M / group on the link of `bandwidth` and `latency`.
    """
    ranks, group = count("ranks", ranks), count("group", group)
    if np.any(ranks % group):
        raise ValueError(f"ranks must be a multiple of group; got {ranks} and {group}")
    inside = np.asarray(ring_time(nbytes, group, group_bandwidth, group_latency))
    return plain(inside + ring_time(np.asarray(nbytes) / group, ranks // group, bandwidth, latency))


def crossover_bytes(first: str, second: str, ranks: Numbers, bandwidth: Numbers, latency: Numbers) -> Result:
    """The size from which on `second` is faster than `first` (both in ALGORITHMS); NaN if there is none."""
    nothing = np.asarray(all_reduce_time(0, ranks, bandwidth, latency, first))
    ahead = np.asarray(all_reduce_time(0, ranks, bandwidth, latency, second)) - nothing
    slope = (np.asarray(all_reduce_time(1, ranks, bandwidth, 0.0, first))) - np.asarray(
        all_reduce_time(1, ranks, bandwidth, 0.0, second)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return plain(np.where((slope > 0) & (ahead >= 0), ahead / slope, np.nan))


def latency_bytes(ranks: Numbers, bandwidth: Numbers, latency: Numbers) -> Result:
    """The size at which latency and transfer take equal shares of a ring: K latency bandwidth."""
    bandwidth = positive("bandwidth", bandwidth)
    return plain(count("ranks", ranks) * not_negative("latency", latency) * bandwidth)


def lower_bound_bytes(nbytes: Numbers, ranks: Numbers) -> Result:
    """The least that some rank must send in any all-reduce: 2(K-1)/K M (Patarasuk and Yuan 2009)."""
    ranks = count("ranks", ranks)
    return plain(2 * (ranks - 1) / ranks * not_negative("nbytes", nbytes))
