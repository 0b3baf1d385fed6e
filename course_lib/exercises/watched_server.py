"""A parameter server that is watched at work: each message is held against a server kept in step."""

from numbers import Integral

import numpy as np

from course_lib.exercises.report import expect, real_array

SERVER = 0  # the rank that serves
SWAPPED = "recv_any returns two things: first the source, then the array"


class WatchedServer:
    """The server's `comm`: it applies every gradient as it should be, and compares what is sent.

    theta, before: the parameters now, and before the last update. taken: gradients received. staleness: of
    each update. read: {worker that has parameters: (their version, their value)}.
    """

    def __init__(self, comm, case, start, updates, rate):
        self.rank, self.size, self.rate = comm.rank, comm.size, rate
        self.theta = self.before = start
        self.taken, self.staleness, self.read = 0, [], {}
        self._comm, self._case, self._updates = comm, case, updates
        self._workers, self._stopped = range(1, comm.size), set()
        # The last gradient, and the parameters it was computed at.
        self._gradient, self._held = np.zeros_like(start), start

    def send(self, array, to):
        self._expect(not isinstance(to, np.ndarray), f"the server sent to an array. {SWAPPED}")
        known = isinstance(to, Integral) and to in self._workers
        self._expect(known, f"the server sent to {to!r}; the workers are ranks 1 to {self.size - 1}")
        if np.size(array) == 0:
            self._expect(to not in self._stopped, f"worker {to} was told to stop twice")
            self._stopped.add(to)
        else:
            self._expect_newest(array, to)
            self.read[to] = self.taken, np.array(array)
        self._comm.send(array, to)

    def recv_any(self):
        if self.taken < self._updates:
            self._expect_all_busy()
        source, gradient = self._comm.recv_any()
        if self.taken < self._updates:
            version, self._held = self.read.pop(source)
            self.staleness.append(self.taken - version)
            self.before, self._gradient = self.theta, gradient
            self.theta = self.theta - self.rate * gradient
        self.taken += 1
        return source, gradient

    def recv(self, source, out=None):
        named = "comm.recv(source) waits for one worker while another may be ready"
        self._expect(False, f"{named}: comm.recv_any() takes whoever comes first")

    def expect_end(self):
        """The server has returned: it took the gradients it was asked for, and told all to stop."""
        few = f"the server took {self.taken} gradients; each is one update, {self._updates} were asked for"
        self._expect(self.taken >= self._updates, few)
        for worker in self._workers:
            waits = f"worker {worker} was not told to stop, and waits for ever"
            self._expect(worker in self._stopped, f"{waits}: send it np.empty(0) after the last update")

    def _expect_all_busy(self):
        for worker in self._workers:
            gone = f"worker {worker} was told to stop before the last update"
            self._expect(worker not in self._stopped, gone)
            idle = f"the server waits for the next gradient, and worker {worker} stands idle"
            begin = "send everybody the start" if not self.taken else "answer each gradient at once"
            self._expect(worker in self.read, f"{idle}: {begin}")

    def _expect_newest(self, array, to):
        self._expect(to not in self._stopped, f"worker {to} was sent parameters after it was told to stop")
        enough = f"a gradient more than the {self._updates} asked for was answered: tell the workers to stop"
        self._expect(self.taken <= self._updates, enough)
        busy = f"worker {to} was sent parameters while it was busy with older ones"
        self._expect(to not in self.read, f"{busy}: send them to the one whose gradient has just arrived")
        if not same(array, self.theta):
            self._expect(False, self._why_not(array))

    def _why_not(self, array):
        """The likeliest reason why `array` is not the newest parameters."""
        if not self.taken:
            return "every worker begins with theta as it was given"
        for reason, value in self._slips():
            if same(array, value):
                return reason
        sent, newest = (
            np.array2string(np.asarray(each), precision=4, threshold=8) for each in (array, self.theta)
        )
        return f"after update {self.taken} the server sent {sent}; the newest parameters are {newest}"

    def _slips(self):
        step = self.rate * self._gradient
        yield "the parameters of before the update were sent: update first, then answer", self.before
        yield "the step goes uphill: subtract", self.before + step
        yield "the rate is missing", self.before - self._gradient
        share = "the gradient was divided by the number of workers; each counts at the full rate"
        yield share, self.before - step / len(self._workers)
        lost = (
            "the gradient was applied to the parameters that its worker had read, so others' updates are lost"
        )
        yield f"{lost}: apply it to the newest", self._held - step

    def _expect(self, holds, what):
        expect(holds, self._case, what)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self._expect(False, f"comm.{name} is not for this exercise: use comm.send and comm.recv_any")


def same(one, other):
    """True for an array equal to `other` up to rounding; a list of numbers will do."""
    one = real_array(one)
    return one is not None and one.shape == other.shape and np.allclose(one, other, rtol=1e-12, atol=1e-12)
