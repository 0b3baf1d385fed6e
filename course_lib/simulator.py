"""The simulated world: K workers in one thread, a virtual clock, one queue of events.

The flow of one message: its sender's port takes it when free; its head reaches the receiver's port one
latency later; that port takes heads in order of arrival, one at a time; after nbytes / bandwidth more the
message has arrived, and a rank that waits for it resumes. A worker runs in a greenlet, so it stays plain,
blocking Python; it runs only at the moment that the clock shows, so no other rank can be behind it.
"""

import contextvars
import heapq
import sys
from collections import deque
from itertools import count

import greenlet
import numpy as np

from course_lib import arguments, output
from course_lib.arrays import as_array, copy_of, describe, n_bytes
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Comm, check_out
from course_lib.errors import RankError
from course_lib.link import Link
from course_lib.run import Run
from course_lib.trace import Trace
from course_lib.tracebacks import worker_traceback

MAX_RANKS = 65_536
DEFAULT_LINK = Link(5e-6, 10e9)  # 5 microseconds, 10 GB/s
HEAD, ARRIVED, RESUME = range(3)  # kinds of event, in the order in which equal times are served
ANY = -1  # the source that recv_any waits for


def simulate(worker, ranks, *, link=DEFAULT_LINK, links=None, speeds=None, jitter=None, seed=0):
    """Run worker(comm) on `ranks` simulated workers and return a Run; deterministic.

    link: what joins any two workers; full duplex, a port sends one message at a time and receives one.
    links: {(source, target): Link}, the exceptions. speeds: one positive factor a rank, 1 is normal.
    jitter: function of a numpy Generator that returns a factor >= 0 for each compute(); each rank draws
    from its own stream of `seed`.
    Raises TypeError or ValueError for a bad argument, RankError if a worker raises, if all wait for each
    other, or if ranks disagree about a collective.
    """
    __tracebackhide__ = True
    arguments.worker_function(worker)
    ranks = arguments.whole_number("ranks", ranks, 1, MAX_RANKS)
    clockwork = _Clockwork(ranks, speeds, jitter, seed)
    simulation = _Simulation(worker, ranks, _Network(ranks, link, links), clockwork)
    with output.by_rank(ranks, simulation.current_rank) as printed:
        values = simulation.run()
    output.replay(printed)
    trace = simulation.trace
    return Run("simulated", values, max(trace.finish), printed, trace)


class _Network:
    """Ports and links: when does a message leave, and how long is it on its way?"""

    def __init__(self, ranks, link, links):
        self.link = _link("link", link)
        self.links = {}
        for pair, special in (links or {}).items():
            source, target = pair
            arguments.whole_number("links: source", source, 0, ranks - 1)
            arguments.whole_number("links: target", target, 0, ranks - 1)
            self.links[pair] = _link(f"links[{pair}]", special)
        self.send_free = [0.0] * ranks
        self.recv_free = [0.0] * ranks

    def between(self, source, target):
        return self.links.get((source, target), self.link) if self.links else self.link


class _Clockwork:
    """How long compute(seconds) takes on a rank."""

    def __init__(self, ranks, speeds, jitter, seed):
        speeds = [1.0] * ranks if speeds is None else list(speeds)
        if len(speeds) != ranks:
            raise ValueError(f"speeds must have one number a rank, {ranks}; got {len(speeds)}")
        self.speeds = [arguments.real_number("speeds", speed, inclusive=False) for speed in speeds]
        if jitter is not None and not callable(jitter):
            raise TypeError(f"jitter must be a function of a numpy Generator; got {jitter!r}")
        self.jitter = jitter
        self.streams = np.random.default_rng(seed).spawn(ranks) if jitter else None

    def seconds(self, rank, seconds):
        factor = 1.0
        if self.jitter:
            factor = arguments.real_number("jitter's result", self.jitter(self.streams[rank]))
        return arguments.real_number("seconds", seconds) * factor / self.speeds[rank]


class _Packet:
    """A message on its way."""

    __slots__ = ("array", "source", "channel", "number", "duration", "arrival")

    def __init__(self, array, source, channel, number, duration):
        self.array = array
        self.source = source
        self.channel = channel
        self.number = number
        self.duration = duration
        self.arrival = None


class _Task:
    """A greenlet that works for a rank: its worker, or a collective in the background."""

    def __init__(self, simulation, rank, function):
        self.rank = rank
        self.greenlet = greenlet.greenlet(self._run, parent=simulation.hub)
        self.greenlet.gr_context = contextvars.copy_context()
        self.simulation = simulation
        self.function = function
        self.grad_mode = None  # torch's, saved while the task is switched out
        self.waits_for = None  # in words, for the report of a deadlock
        self.value = None
        self.done = False
        self.waiter = None  # the task that waits for this one's end

    def _run(self):
        try:
            self.value = self.function()
        except greenlet.GreenletExit:
            raise
        except BaseException as error:
            self.simulation.failure = (self.rank, error)
        self.done = True
        if self.waiter is not None:
            self.simulation.resume(self.waiter)


class _Simulation:
    """The event queue and what hangs on it."""

    def __init__(self, worker, ranks, network, clockwork):
        self.worker = worker
        self.ranks = ranks
        self.network = network
        self.clockwork = clockwork
        self.hub = greenlet.getcurrent()
        self.now = 0.0
        self.queue = []
        self.sequence = count()
        self.current = None
        self.failure = None
        self.closed = False
        self.trace = Trace(ranks)
        self.mailbox = {}  # (target, source, channel) -> packets that have arrived
        self.waiting = {}  # (target, source, channel) -> tasks that wait for one
        self.inbox = [deque() for _ in range(ranks)]  # user messages of all sources, for recv_any
        self.signatures = []  # the n-th collective: (what its first rank asked for, that rank)
        self.tasks = []

    def current_rank(self):
        """The rank whose code is running, or None."""
        return self.current.rank if self.current is not None else None

    def run(self):
        """Serve events until all is done; return the workers' values."""
        __tracebackhide__ = True
        mains = [self.start(rank, self._main(rank)) for rank in range(self.ranks)]
        try:
            while self.queue and self.failure is None:
                self.now, kind, rank, _, item = heapq.heappop(self.queue)
                if kind == HEAD:
                    self._reach_port(rank, item)
                elif kind == ARRIVED:
                    self._deliver(rank, item)
                else:
                    self._switch_to(item)
            self._raise_failure(mains)
        finally:
            self._close()
        return [task.value for task in mains]

    def start(self, rank, function):
        """A new task of `rank`, which begins now."""
        task = _Task(self, rank, function)
        self.tasks.append(task)
        self.resume(task)
        return task

    def resume(self, task, delay=0.0):
        heapq.heappush(self.queue, (self.now + delay, RESUME, task.rank, next(self.sequence), task))

    def pause(self, waits_for):
        """Called in a task: give control back until resumed."""
        self.current.waits_for = waits_for
        self.hub.switch()

    def post(self, array, source, target, channel):
        """A copy of `array` sets out now; its send port is taken as soon as it is free."""
        network, nbytes = self.network, n_bytes(array)
        link = network.between(source, target)
        start = max(self.now, network.send_free[source])
        duration = nbytes / link.bandwidth
        network.send_free[source] = start + duration
        number = self.trace.add_message(source, target, nbytes, start)
        packet = _Packet(copy_of(array), source, channel, number, duration)
        heapq.heappush(self.queue, (start + link.latency, HEAD, target, next(self.sequence), packet))

    def take(self, target, source, channel):
        """Wait for the next packet of (source, channel) and return it."""
        key = (target, source, channel)
        if not self.mailbox.get(key):
            self.waiting.setdefault(key, deque()).append(self.current)
            self.pause(("recv", source))
        packet = self.mailbox[key].popleft()
        if channel is None:
            self.inbox[target].remove(packet)
        self.trace.stop[packet.number] = packet.arrival
        return packet

    def take_any(self, target):
        """Wait until a user message of any source is there; chosen at the time of resuming."""
        if not self.inbox[target]:
            self.waiting.setdefault((target, ANY, None), deque()).append(self.current)
            self.pause(("recv_any", None))
        first = min(self.inbox[target], key=lambda packet: (packet.arrival, packet.source, packet.number))
        return self.take(target, first.source, None)

    def _reach_port(self, rank, packet):
        """The head of a message is at the receiver's port, which takes it when free."""
        free = self.network.recv_free
        packet.arrival = free[rank] = max(self.now, free[rank]) + packet.duration
        heapq.heappush(self.queue, (packet.arrival, ARRIVED, rank, next(self.sequence), packet))

    def _deliver(self, rank, packet):
        key = (rank, packet.source, packet.channel)
        self.mailbox.setdefault(key, deque()).append(packet)
        if packet.channel is None:
            self.inbox[rank].append(packet)
        for waiting_for in (key, (rank, ANY, None)):
            if self.waiting.get(waiting_for) and (waiting_for is key or packet.channel is None):
                self.resume(self.waiting[waiting_for].popleft())
                break

    def _switch_to(self, task):
        """Let a task run until it pauses or ends, with torch's grad mode its own."""
        torch = sys.modules.get("torch")
        outer = torch.is_grad_enabled() if torch else None
        if torch and task.grad_mode is not None:
            torch.set_grad_enabled(task.grad_mode)
        self.current, task.waits_for = task, None
        task.greenlet.switch()
        self.current = None
        torch = sys.modules.get("torch")
        if torch:
            task.grad_mode = torch.is_grad_enabled()
            torch.set_grad_enabled(True if outer is None else outer)

    def _main(self, rank):
        comm = SimulatedComm(self, rank)

        def main():
            value = self.worker(comm)
            self.trace.finish[rank] = self.now
            return value

        return main

    def agree(self, number, rank, what):
        """Raise RankError unless `what`, a rank's n-th collective, is what the first rank there asked for."""
        if number == len(self.signatures):
            self.signatures.append((what, rank))
        first, other = self.signatures[number]
        if first != what:
            text = f"collective {number} differs: rank {other} asked for {first}, rank {rank} for {what}"
            raise RankError(rank, "mismatch", text)

    def _raise_failure(self, mains):
        __tracebackhide__ = True
        if self.failure is not None:
            rank, error = self.failure
            if isinstance(error, (RankError, KeyboardInterrupt, SystemExit)):
                raise error
            text = f"rank {rank} raised {type(error).__name__}: {error}\n\n{worker_traceback(error)}"
            raise RankError(rank, "raised", text) from error
        stuck = [task for task in mains if not task.done]
        if stuck:
            raise RankError(stuck[0].rank, "deadlock", _who_waits(stuck, mains))

    def _close(self):
        """End the greenlets that are left, so that their finally blocks run now."""
        self.closed = True
        for task in self.tasks:
            if task.greenlet:
                self.current = task
                task.greenlet.throw(greenlet.GreenletExit)
        self.current = None


class SimulatedComm(Comm):
    """`comm` in the simulated world; see course_lib.comm.Comm for the contract."""

    def __init__(self, simulation, rank):
        super().__init__(rank, simulation.ranks)
        self._simulation = simulation
        self._collectives = 0

    def send(self, array, to):
        start = self._enter()
        array = as_array(array)
        self._simulation.post(array, self.rank, self._peer("to", to), None)
        self._note("send", start, n_bytes(array), f"to {to}")

    def recv(self, source, out=None):
        start = self._enter()
        packet = self._simulation.take(self.rank, self._peer("source", source), None)
        self._note("recv", start, n_bytes(packet.array), f"from {source}", packet.number)
        return _unpack(packet, out)

    def recv_any(self):
        start = self._enter()
        if self.size == 1:
            raise ValueError("recv_any with one rank: there is nobody to receive from")
        packet = self._simulation.take_any(self.rank)
        self._note("recv", start, n_bytes(packet.array), f"from {packet.source}", packet.number)
        return packet.source, _unpack(packet, None)

    def sendrecv(self, array, to, source, out=None):
        self.send(array, to)
        return self.recv(source, out)

    def all_reduce(self, array, op="sum", wait=True):
        array = self._reducible(array, op)
        channel = self._open_channel(f"all_reduce {op} of {describe(array)}")
        name, start = f"all_reduce {op}", self._simulation.now
        mine = copy_of(array)

        def reduce():
            total = ring_all_reduce(channel, mine, op)
            self._note("collective", start, n_bytes(array), name, channel.number)
            return total

        return reduce() if wait else _Handle(self, self._simulation.start(self.rank, reduce))

    def broadcast(self, array, source):
        array = as_array(array)
        arguments.whole_number("source", source, 0, self.size - 1)
        channel = self._open_channel(f"broadcast from {source} of {describe(array)}")
        start = self._simulation.now
        result = _binomial_broadcast(channel, copy_of(array), source)
        self._note("collective", start, n_bytes(array), f"broadcast from {source}", channel.number)
        return result

    def barrier(self):
        channel = self._open_channel("barrier")
        start, empty, step = self._simulation.now, np.empty(0, np.uint8), 1
        while step < self.size:  # dissemination: whoever has heard of all knows that all are here
            channel.sendrecv(empty, (self.rank + step) % self.size, (self.rank - step) % self.size)
            step *= 2
        self._note("collective", start, 0, "barrier", channel.number)

    def compute(self, seconds):
        start = self._enter()
        self._simulation.resume(
            self._simulation.current, self._simulation.clockwork.seconds(self.rank, seconds)
        )
        self._simulation.pause(("compute", None))
        self._note("compute", start)

    def _enter(self):
        """Start of a call: refused where switching greenlets would hang."""
        simulation = self._simulation
        if simulation.closed:
            raise RuntimeError("this simulation is over; comm is of no use any more")
        if simulation.current is None or simulation.current.greenlet is not greenlet.getcurrent():
            raise RuntimeError("comm was called from another thread or greenlet than its worker's")
        torch = sys.modules.get("torch")
        if torch and torch._C._current_graph_task_id() != -1:
            raise RuntimeError(
                "comm was called from a backward hook; the simulator cannot pause inside backward: use launch"
            )
        return simulation.now

    def _note(self, kind, start, nbytes=0, label="", ref=-1):
        self._simulation.trace.add_call(self.rank, kind, start, self._simulation.now, nbytes, label, ref)

    def _open_channel(self, what):
        """Messages of a collective travel apart from the worker's own."""
        self._enter()
        number = self._collectives
        self._collectives += 1
        self._simulation.agree(number, self.rank, what)
        return _Channel(self._simulation, self.rank, number)


class _Channel:
    """The part of comm that a collective needs: its messages are traced, its calls are not."""

    def __init__(self, simulation, rank, number):
        self.rank, self.size, self.number = rank, simulation.ranks, number
        self._simulation = simulation

    def send(self, array, to):
        self._simulation.post(array, self.rank, to, self.number)

    def recv(self, source, out=None):
        return _unpack(self._simulation.take(self.rank, source, self.number), out)

    def sendrecv(self, array, to, source, out=None):
        self.send(array, to)
        return self.recv(source, out)


class _Handle:
    """An all_reduce in flight."""

    def __init__(self, comm, task):
        self._comm, self._task = comm, task

    def wait(self):
        """Wait until it is done and return its result."""
        simulation = self._comm._simulation
        start = self._comm._enter()
        if not self._task.done:
            self._task.waiter = simulation.current
            simulation.pause(("all_reduce", None))
            self._comm._note("wait", start, 0, "all_reduce")
        return self._task.value


def _link(name, link):
    if not isinstance(link, Link):
        raise TypeError(f"{name} must be a Link(latency, bandwidth); got {link!r}")
    return link


def _unpack(packet, out):
    """A packet's array, in `out` if given."""
    if out is None:
        return packet.array
    check_out(out, describe(packet.array))
    out[...] = packet.array
    return out


def _binomial_broadcast(comm, array, source):
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


def _who_waits(stuck, mains):
    """One line a rank of a deadlock: who waits for whom."""
    lines = []
    for task in stuck:
        call, source = task.waits_for
        whom = "" if source is None else f" from rank {source}"
        gone = ", which has returned" if source is not None and mains[source].done else ""
        lines.append(f"rank {task.rank} waits in {call}{whom}{gone}")
    return "deadlock: nobody is left who could send\n" + "\n".join(lines)
