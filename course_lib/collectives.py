"""Collectives written once against `comm`; they run in both worlds."""

import numpy as np

from course_lib.arguments import one_of, real_number
from course_lib.arrays import as_array, copy_of, is_tensor
from course_lib.comm import OPS


def ring_all_reduce(comm, array, op="sum"):
    """The sum or mean of every rank's `array` by a ring: reduce-scatter, then all-gather.

    Each rank sends 2(K-1) messages of about M/K bytes to its right neighbour: bandwidth-optimal
    (Patarasuk and Yuan 2009). Returns a new array of the same shape, equal on all ranks to the last bit.
    """
    one_of("op", op, OPS)
    array = as_array(array)
    total = copy_of(array)
    flat = total.reshape(-1)
    chunks = [flat[start:stop] for start, stop in chunk_bounds(len(flat), comm.size)]
    _reduce_scatter(comm, chunks)
    _all_gather(comm, chunks)
    return total / comm.size if op == "mean" else total


def chunk_bounds(length, chunks):
    """Start and stop of `chunks` nearly equal, contiguous parts; the first ones take the remainder."""
    size, rest = divmod(length, chunks)
    starts = [i * size + min(i, rest) for i in range(chunks + 1)]
    return list(zip(starts, starts[1:], strict=False))


def _reduce_scatter(comm, chunks):
    """After K-1 steps rank r holds the whole sum of chunk r+1; rank r starts by sending chunk r."""
    for step in range(comm.size - 1):
        outgoing, incoming = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        chunks[incoming] += _pass_on(comm, chunks[outgoing], _empty_like(chunks[incoming]))


def _all_gather(comm, chunks):
    """After K-1 more steps every rank holds every chunk's sum."""
    for step in range(comm.size - 1):
        outgoing, incoming = (comm.rank + 1 - step) % comm.size, (comm.rank - step) % comm.size
        _pass_on(comm, chunks[outgoing], chunks[incoming])


def _pass_on(comm, chunk, out):
    """One step of the ring: to the right neighbour, from the left one."""
    return comm.sendrecv(chunk, to=(comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size, out=out)


def _empty_like(array):
    return array.new_empty(array.shape) if is_tensor(array) else np.empty_like(array)


def weighted_mean(comm, array, weight):
    """The mean of every rank's `array`, each counted `weight` times (>= 0; its number of samples, say).

    Right for unequal shards, where a plain mean of means is not. One all_reduce carries values and weight
    together. Floating-point arrays only. Raises ValueError if the weights of all ranks add up to 0.
    """
    weight = real_number("weight", weight)
    array = as_array(array)
    packed = np.append(np.asarray(array, dtype=np.float64).reshape(-1) * weight, weight)
    total = comm.all_reduce(packed)
    if total[-1] == 0:
        raise ValueError("the weights of all ranks add up to 0; at least one must be above 0")
    return (total[:-1] / total[-1]).reshape(array.shape)
