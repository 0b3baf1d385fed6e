"""All to all: everybody sends everything to everybody."""

from course_lib.arrays import copy_of, empty_like
from course_lib.collectives.common import finish, start


def naive_all_reduce(comm, array, op="sum"):
    """One step, but K(K-1) whole arrays; all ranks add in the same order, so all get the same bits."""
    mine, _ = start(array, op)
    ahead = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
    for rank in ahead:  # each starts with another target, lest all queue for rank 0
        comm.send(mine, to=rank)
    arrays = {rank: comm.recv(rank, out=empty_like(mine)) for rank in reversed(ahead)}
    arrays[comm.rank] = mine
    total = copy_of(arrays[0])
    for rank in range(1, comm.size):
        total += arrays[rank]
    return finish(comm, total, op)
