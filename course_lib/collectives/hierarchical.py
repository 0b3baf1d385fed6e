"""Two levels: rings inside each group, on the fast link, and between the groups, on the slow one."""

from course_lib.arguments import whole_number
from course_lib.collectives.common import finish, start
from course_lib.collectives.ring import all_gather, reduce_scatter, ring_all_reduce, split


def hierarchical_all_reduce(comm, array, op="sum", *, group):
    """Reduce-scatter inside groups of `group` neighbouring ranks, all-reduce across, all-gather inside.

    A group is a machine, say: only 1/group of the array per rank crosses between machines.
    Raises ValueError unless `group` divides the number of ranks.
    """
    group = whole_number("group", group, 1, comm.size)
    if comm.size % group:
        raise ValueError(f"group must divide the number of ranks, {comm.size}; got {group}")
    total, flat = start(array, op)
    first = comm.rank - comm.rank % group
    inside = Subgroup(comm, range(first, first + group))
    across = Subgroup(comm, range(comm.rank % group, comm.size, group))
    part = ring_all_reduce(across, reduce_scatter(inside, flat))
    for place, summed in zip(split(flat, group), all_gather(inside, part), strict=True):
        place[:] = summed
    return finish(comm, total, op)


class Subgroup:
    """`comm` restricted to some of its ranks, which are numbered anew from 0."""

    def __init__(self, comm, members):
        self._comm, self._members = comm, list(members)
        self.rank, self.size = self._members.index(comm.rank), len(self._members)

    def send(self, array, to):
        self._comm.send(array, self._members[to])

    def recv(self, source, out=None):
        return self._comm.recv(self._members[source], out)

    def sendrecv(self, array, to, source, out=None):
        return self._comm.sendrecv(array, self._members[to], self._members[source], out)
