"""Recursive halving and doubling: the ring's bytes in 2 log2 K steps."""

from course_lib.arrays import empty_like
from course_lib.collectives.common import finish, start


def halving_doubling_all_reduce(comm, array, op="sum"):
    """Rabenseifner's all-reduce: halve what is summed with ever closer partners, then double back.

    Works within the largest power of two of ranks; each rank beyond it first gives its array to a rank
    within, and gets the result at the end.
    """
    total, flat = start(array, op)
    core = 1 << (comm.size.bit_length() - 1)
    if comm.rank >= core:
        comm.send(flat, to=comm.rank - core)
        comm.recv(comm.rank - core, out=flat)
        return finish(comm, total, op)
    beyond = comm.rank + core
    if beyond < comm.size:
        flat += comm.recv(beyond, out=empty_like(flat))
    _double(comm, flat, _halve(comm, flat, core))
    if beyond < comm.size:
        comm.send(flat, to=beyond)
    return finish(comm, total, op)


def _halve(comm, flat, core):
    """log2(core) steps: keep half of the part, give away the other half. Returns the steps taken."""
    low, high, distance, steps = 0, len(flat), core // 2, []
    while distance:
        partner, middle = comm.rank ^ distance, (low + high) // 2
        kept, given = slice(low, middle), slice(middle, high)
        if comm.rank & distance:
            kept, given = given, kept
        flat[kept] += comm.sendrecv(flat[given], partner, partner, out=empty_like(flat[kept]))
        steps.append((partner, kept, given))
        low, high, distance = kept.start, kept.stop, distance // 2
    return steps


def _double(comm, flat, steps):
    """The steps backwards: each returns the sums of one more part."""
    for partner, kept, given in reversed(steps):
        comm.sendrecv(flat[kept], partner, partner, out=flat[given])
