"""Collectives of a simulation: that all ranks mean the same, and a way for their messages alone."""

from course_lib.errors import RankError
from course_lib.simulation.messages import Mailbox, unpack


class Collectives:
    """What the ranks' collectives are, and the mailboxes of those under way."""

    def __init__(self):
        self._signatures = []  # the n-th collective: (what its first rank asked for, that rank)
        self._mailboxes = {}  # (rank, number of the collective) -> mailbox

    def mailbox(self, rank, number):
        """Messages of a collective travel apart from the worker's own."""
        mailbox = self._mailboxes.get((rank, number))
        if mailbox is None:
            name, _ = self._signatures[number]
            mailbox = self._mailboxes[rank, number] = Mailbox(name)
        return mailbox

    def agree(self, number, rank, what):
        """Raise RankError unless `what`, a rank's n-th collective, is what the first rank there asked for."""
        if number == len(self._signatures):
            self._signatures.append((what, rank))
        first, other = self._signatures[number]
        if first != what:
            text = f"collective {number} differs: rank {other} asked for {first}, rank {rank} for {what}"
            raise RankError(rank, "mismatch", text)

    def end(self, rank, number):
        """A rank has got all messages of its n-th collective."""
        del self._mailboxes[rank, number]

    def clear(self):
        self._mailboxes.clear()


class Channel:
    """The part of comm that a collective needs: its messages are traced, its calls are not."""

    def __init__(self, simulation, rank, number):
        self.rank, self.size, self.number = rank, simulation.ranks, number
        self._simulation = simulation
        self._collectives = simulation.collectives
        self._mailbox = self._collectives.mailbox(rank, number)

    def send(self, array, to):
        self._simulation.post(array, self.rank, to, self._collectives.mailbox(to, self.number))

    def recv(self, source, out=None):
        return unpack(self._simulation.take(self._mailbox, source).array, out)

    def sendrecv(self, array, to, source, out=None):
        self.send(array, to)
        return self.recv(source, out)


class Handle:
    """An all_reduce in flight."""

    def __init__(self, comm, task):
        self._comm, self._task = comm, task

    def wait(self):
        """Wait until it is done and return its result."""
        self._comm._enter()
        if not self._task.done:
            self._wait()
        return self._task.value

    def _wait(self):
        rank, simulation = self._comm.rank, self._comm._simulation
        start = simulation.now
        simulation.wait_for(self._task)
        simulation.trace.add_call(rank, "wait", start, simulation.now, 0, "all_reduce")


def binomial_broadcast(comm, array, source):
    """Ranks that have the array double each round: ceil(log2 K) rounds (any K)."""
    place = (comm.rank - source) % comm.size
    step = 1
    while step < comm.size:
        if place < step and place + step < comm.size:
            comm.send(array, (comm.rank + step) % comm.size)
        elif step <= place < 2 * step:
            array = comm.recv((comm.rank - step) % comm.size)
        step *= 2
    return array
