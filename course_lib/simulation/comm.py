"""`comm` between simulated workers."""

import sys

import greenlet
import numpy as np

from course_lib import arguments
from course_lib.arrays import as_array, copy_of, describe
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Comm, reducible
from course_lib.simulation.collectives import Channel, Handle, binomial_broadcast
from course_lib.simulation.messages import ANY, unpack

MAX_ASKED = 1_000_000  # times that a rank may ask for the time without a pause: a loop until later never ends
MAX_REFUSED = 10  # calls of one rank when its run has failed; a worker that makes more will never end


class SimulatedComm(Comm):
    """`comm` in the simulated world; see course_lib.comm.Comm for the contract."""

    def __init__(self, simulation, rank, worker):
        super().__init__(rank, simulation.ranks)
        self._simulation = simulation
        self._mailbox = simulation.mailboxes[rank]
        self._collectives = 0
        self._in_flight = None  # the last collective in the background: the next one begins when it has ended
        self._refused = 0
        self._asked, self._asked_at = 0, 0.0
        self._task = simulation.start(rank, lambda: self._work(worker))

    def send(self, array, to):
        self._enter()
        self._send(as_array(array), self._peer("to", to))

    def recv(self, source, out=None):
        self._enter()
        return self._recv(self._peer("source", source), out)[1]

    def recv_any(self):
        self._enter()
        if self.size == 1:
            raise ValueError("recv_any with one rank: there is nobody to receive from")
        return self._recv(ANY)

    def sendrecv(self, array, to, source, out=None):
        self._enter()
        array, to, source = as_array(array), self._peer("to", to), self._peer("source", source)
        self._send(array, to)
        return self._recv(source, out)[1]

    def all_reduce(self, array, op="sum", wait=True):
        array = reducible(array, op)
        name = f"all_reduce {op}"
        channel, start = self._open_channel(name, f"{name} of {describe(array)}")
        mine, before = copy_of(array), self._in_flight

        def reduce():
            self._simulation.wait_for(before)
            total = ring_all_reduce(channel, mine, op)
            self._end_collective(channel, name, start, array.nbytes)
            return total

        if wait:
            return reduce()
        self._in_flight = self._simulation.start(self.rank, reduce)
        return Handle(self, self._in_flight)

    def broadcast(self, array, source):
        array = as_array(array)
        source = arguments.whole_number("source", source, 0, self.size - 1)
        name = f"broadcast from {source}"
        channel, start = self._open_channel(name, f"{name} of {describe(array)}")
        self._simulation.wait_for(self._in_flight)
        result = binomial_broadcast(channel, copy_of(array), source)
        self._end_collective(channel, name, start, array.nbytes)
        return result

    def barrier(self):
        channel, start = self._open_channel("barrier", "barrier")
        self._simulation.wait_for(self._in_flight)
        empty, step = np.empty(0, np.uint8), 1
        while step < self.size:  # dissemination: whoever has heard of all knows that all are here
            channel.sendrecv(empty, (self.rank + step) % self.size, (self.rank - step) % self.size)
            step *= 2
        self._end_collective(channel, "barrier", start, 0)

    def compute(self, seconds):
        self._enter()
        simulation = self._simulation
        start = simulation.now
        simulation.resume(self._task, start + simulation.clockwork.seconds(self.rank, seconds))
        simulation.pause()
        simulation.trace.add_call(self.rank, "compute", start, simulation.now, 0, "")

    def time(self):
        self._enter()
        now = self._simulation.now
        self._asked = self._asked + 1 if now == self._asked_at else 0
        self._asked_at = now
        if self._asked > MAX_ASKED:
            raise RuntimeError(
                f"rank {self.rank} has asked for the time {MAX_ASKED:,} times at {now:g} s: "
                "the virtual clock stands still while a rank only asks; comm.compute lets it go on"
            )
        return now

    def close(self):
        """Refuse all further calls."""
        self._task = None

    def _work(self, worker):
        value = worker(self)
        self._simulation.trace.finish[self.rank] = self._simulation.now
        return value

    def _peer(self, name, rank):
        if type(rank) is int and 0 <= rank < self.size and rank != self.rank:  # nearly always, and quick
            return rank
        return super()._peer(name, rank)

    def _enter(self):
        """Start of a call: refused where switching greenlets would hang."""
        if self._task is None:
            self._refuse()
        if self._task.greenlet is not greenlet.getcurrent():
            raise RuntimeError("comm was called from another thread or greenlet than its worker's")
        torch = sys.modules.get("torch")
        if torch and torch._C._current_graph_task_id() != -1:
            raise RuntimeError(
                "comm was called from a backward hook; the simulator cannot pause inside backward: use launch"
            )

    def _refuse(self):
        """Raise, for the run is over; but do not let a worker try again for ever."""
        task = self._simulation.current  # not None while the greenlets that are left are ended
        if task is not None and task.greenlet is greenlet.getcurrent():
            self._refused += 1
            if self._refused > MAX_REFUSED:
                self._simulation.park()
        raise RuntimeError("this simulation is over; comm is of no use any more")

    def _send(self, array, to):
        simulation = self._simulation
        number = simulation.post(array, self.rank, to, simulation.mailboxes[to])
        now = simulation.now
        simulation.trace.add_call(self.rank, "send", now, now, array.nbytes, None, number)

    def _recv(self, source, out=None):
        """(source, array) of the next message."""
        simulation = self._simulation
        start = simulation.now
        packet = simulation.take(self._mailbox, source)
        array = packet.array
        simulation.trace.add_call(self.rank, "recv", start, simulation.now, array.nbytes, None, packet.number)
        return packet.source, unpack(array, out)

    def _open_channel(self, name, what):
        """The messages of this rank's next collective, and the time."""
        self._enter()
        number = self._collectives
        self._collectives += 1
        self._simulation.collectives.agree(number, self.rank, what)
        return Channel(self._simulation, self.rank, number), self._simulation.now

    def _end_collective(self, channel, name, start, nbytes):
        simulation = self._simulation
        simulation.trace.add_call(
            self.rank, "collective", start, simulation.now, nbytes, name, channel.number
        )
        simulation.trace.finish[self.rank] = simulation.now  # its worker may have returned before
        simulation.collectives.end(self.rank, channel.number)
