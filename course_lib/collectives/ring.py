"""The ring: each rank sends to its right neighbour and receives from its left one."""

from course_lib.arrays import as_array, copy_of, empty_like
from course_lib.collectives.common import finish, start


def ring_all_reduce(comm, array, op="sum"):
    """Reduce-scatter, then all-gather: 2(K-1) steps with a K-th of the array each.

    Bandwidth-optimal (Patarasuk and Yuan 2009).
    """
    total, flat = start(array, op)
    chunks = split(flat, comm.size)
    _reduce_scatter(comm, chunks, first=comm.rank)
    _all_gather(comm, chunks, first=comm.rank + 1)
    return finish(comm, total, op)


def reduce_scatter(comm, array, op="sum"):
    """This rank's part, the rank-th of K nearly equal ones, of the flattened sum or mean."""
    _, flat = start(array, op)
    chunks = split(flat, comm.size)
    _reduce_scatter(comm, chunks, first=comm.rank - 1)
    return finish(comm, copy_of(chunks[comm.rank]), op)


def all_gather(comm, array):
    """A list of every rank's array, in order of rank; shapes may differ."""
    gathered = [None] * comm.size
    gathered[comm.rank] = copy_of(as_array(array))
    for step in range(comm.size - 1):
        outgoing, incoming = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        gathered[incoming] = _pass_on(comm, gathered[outgoing])
    return gathered


def split(flat, parts):
    """`flat` as `parts` contiguous views of nearly equal length; the first ones take the remainder."""
    return [flat[low:high] for low, high in chunk_bounds(len(flat), parts)]


def chunk_bounds(length, parts):
    """Start and stop of each of `parts` nearly equal parts; the first ones take the remainder."""
    size, rest = divmod(length, parts)
    bounds = [part * size + min(part, rest) for part in range(parts + 1)]
    return list(zip(bounds, bounds[1:], strict=False))


def _reduce_scatter(comm, chunks, first):
    """K-1 steps; this rank starts by sending chunk `first` and ends with the whole sum of chunk first+1.

    Every rank must start with another chunk: if all start with the same one, sums are counted twice.
    """
    for step in range(comm.size - 1):
        outgoing, incoming = (first - step) % comm.size, (first - step - 1) % comm.size
        chunks[incoming] += _pass_on(comm, chunks[outgoing], out=empty_like(chunks[incoming]))


def _all_gather(comm, chunks, first):
    """K-1 steps; this rank starts by sending chunk `first`, whose sum it has, and ends with all of them."""
    for step in range(comm.size - 1):
        outgoing, incoming = (first - step) % comm.size, (first - step - 1) % comm.size
        _pass_on(comm, chunks[outgoing], out=chunks[incoming])


def _pass_on(comm, chunk, out=None):
    """One step of the ring: to the right neighbour, from the left one."""
    return comm.sendrecv(chunk, to=(comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size, out=out)
