"""The binary tree: sums travel up to rank 0, the result travels down."""

from course_lib.arrays import empty_like
from course_lib.collectives.common import finish, start


def tree_all_reduce(comm, array, op="sum"):
    """Reduce up a binary tree in heap order (children 2r+1 and 2r+2), then broadcast down.

    Few steps, about 4 log2 K, but each with the whole array.
    """
    total, _ = start(array, op)
    children = [child for child in (2 * comm.rank + 1, 2 * comm.rank + 2) if child < comm.size]
    parent = (comm.rank - 1) // 2
    for child in children:
        total += comm.recv(child, out=empty_like(total))
    if comm.rank > 0:
        comm.send(total, to=parent)
        comm.recv(parent, out=total)
    for child in children:
        comm.send(total, to=child)
    return finish(comm, total, op)
