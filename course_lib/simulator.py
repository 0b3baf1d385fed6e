"""The simulated world: K workers in one thread, a virtual clock, one queue of events.

A message, from its sending to its being received:
- It leaves when its sender's port is free. A port sends one message at a time, for nbytes / bandwidth each.
- Its head reaches the receiver's port one latency later. The port takes heads in that order, one at a time;
  heads that come at the same instant, in the order in which they were sent.
- After nbytes / bandwidth more it has arrived, and a rank that waits for it resumes.
- recv takes the first message of its source, recv_any the first of all; first is who came first to the port.

Two kinds of event are all that is needed: a head reaches a port; a task resumes. Events of the same instant
are served in this order: heads before tasks, then by rank, then by sequence (of sending; and on one rank the
worker before its collectives in the background). A task, once resumed, runs until it must wait.

A worker runs in a greenlet, so it stays plain, blocking Python, and only ever at the moment that the clock
shows, so no other rank can be behind it.
"""

import contextvars
import sys
from collections import defaultdict, deque
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from heapq import heappop, heappush
from itertools import count

import greenlet
import numpy as np

from course_lib import arguments, output
from course_lib.arrays import alike, as_array, copy_of, describe, fill
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Comm, check_out, reducible
from course_lib.errors import RankError
from course_lib.link import Link
from course_lib.run import Run
from course_lib.trace import Trace
from course_lib.tracebacks import worker_traceback

MAX_RANKS = 65_536
DEFAULT_LINK = Link(5e-6, 10e9)  # 5 microseconds, 10 GB/s
ANY = -1  # the source that recv_any waits for
MAX_REFUSED = 10  # calls of one rank when its run has failed; a worker that makes more will never end
_parked = []  # greenlets of such workers: to free one would wake it


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
    network = _Network(ranks, link, links)
    simulation = _Simulation(worker, ranks, network, _Clockwork(ranks, speeds, jitter, seed))
    printed = []
    try:
        with output.by_rank(ranks, simulation.current_rank) as printed:
            values = simulation.run()
    finally:
        output.replay(printed)
    trace = simulation.trace
    return Run("simulated", values, max(trace.finish), printed, trace)


class _Network:
    """Links, and until when each rank's ports are taken."""

    def __init__(self, ranks, link, links):
        self.link = _checked_link("link", link)
        self.links = {} if links is None else _checked_links(links, ranks)
        self.send_free = [0.0] * ranks
        self.recv_free = [0.0] * ranks


class _Clockwork:
    """How long compute(seconds) takes on a rank."""

    def __init__(self, ranks, speeds, jitter, seed):
        speeds = [1.0] * ranks if speeds is None else _checked_list("speeds", speeds)
        if len(speeds) != ranks:
            raise ValueError(f"speeds must have one number a rank, {ranks}; got {len(speeds)}")
        self.speeds = [arguments.real_number("speeds", speed, inclusive=False) for speed in speeds]
        if jitter is not None and not callable(jitter):
            raise TypeError(f"jitter must be a function of a numpy Generator; got {jitter!r}")
        seed = arguments.whole_number("seed", seed, 0)
        self.jitter = jitter
        self.streams = np.random.default_rng(seed).spawn(ranks) if jitter else None

    def seconds(self, rank, seconds):
        seconds = arguments.real_number("seconds", seconds)
        if self.jitter:
            seconds *= arguments.real_number("jitter's result", self.jitter(self.streams[rank]))
        return seconds / self.speeds[rank]


class _Packet:
    """A message on its way. `head`: when its head reaches the port; `arrival`: known from then on."""

    __slots__ = ("array", "source", "mailbox", "number", "head", "duration", "arrival")

    def __init__(self, array, source, mailbox, number, head, duration):
        self.array = array
        self.source = source
        self.mailbox = mailbox
        self.number = number
        self.head = head
        self.duration = duration


class _Mailbox:
    """What has reached one rank's port: for the worker itself, or for one collective.

    A packet is put here when its head reaches the port. When it will have arrived is known then, for nothing
    overtakes it any more; so its receiver can be woken at that time without an event for the arrival.
    """

    __slots__ = ("name", "packets", "waiter", "wanted")

    def __init__(self, name):
        self.name = name  # of the collective; None for the worker's own
        self.packets = defaultdict(deque)  # source -> packets in order
        self.waiter = None  # the task that waits for one
        self.wanted = None  # and from whom

    def first_source(self):
        """The source of the packet that came first, or None."""
        fronts = [packets[0] for packets in self.packets.values() if packets]
        if not fronts:
            return None
        return min(fronts, key=lambda packet: (packet.head, packet.number)).source


class _Task:
    """A greenlet that works for a rank: its worker, or a collective in the background."""

    def __init__(self, simulation, rank, number, function):
        self.simulation = simulation
        self.rank = rank
        self.number = number
        self.function = function
        self.greenlet = greenlet.greenlet(self._run, parent=simulation.hub)
        self.greenlet.gr_context = contextvars.copy_context()
        self.waits_for = None  # a mailbox or a task, for the report of a deadlock
        self.value = None
        self.done = False
        self.waiters = []  # the tasks that wait for this one's end

    def _run(self):
        """What the greenlet runs; an exception goes on to its parent, the hub."""
        try:
            self.value = self.function()
        finally:
            _reset_grad_mode(self.simulation.torch_modes)  # a plain set_grad_enabled(False) would stay
        self.done = True
        self.function = None  # with what it refers to; a handle may live on
        del self.simulation.tasks[self.number]
        for waiter in self.waiters:
            self.simulation.resume(waiter, self.simulation.now)


class _Simulation:
    """The event queue and what hangs on it."""

    def __init__(self, worker, ranks, network, clockwork):
        self.ranks = ranks
        self.network = network
        self.clockwork = clockwork
        self.hub = greenlet.getcurrent()
        self.torch_modes = _torch_modes()  # what each task begins with
        self.now = 0.0
        # A heap of (time, rank, number, packet) and (time, ranks + rank, number, task): heads before tasks.
        self.queue = []
        self.current = None
        self.trace = Trace(ranks)
        self.mailboxes = [_Mailbox(None) for _ in range(ranks)]
        self.collective_mailboxes = {}  # (rank, number of the collective) -> mailbox
        self.signatures = []  # the n-th collective: (what its first rank asked for, that rank)
        self.tasks = {}  # those that have not ended, by number
        self.numbers = count()
        self.comms = [SimulatedComm(self, rank, worker) for rank in range(ranks)]

    def current_rank(self):
        """The rank whose code is running, or None."""
        return self.current.rank if self.current is not None else None

    def run(self):
        """Serve events until all is done; return the workers' values."""
        __tracebackhide__ = True
        workers = list(self.tasks.values())
        try:
            self._serve()
            stuck = [task for task in workers if not task.done]
            if stuck:
                raise RankError(stuck[0].rank, "deadlock", _who_waits(stuck, workers))
        except (RankError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if self.current is None:
                raise
            raise _rank_error(self.current.rank, error) from error
        finally:
            self._close()
        return [task.value for task in workers]

    def start(self, rank, function):
        """A new task of `rank`, which begins now."""
        task = _Task(self, rank, next(self.numbers), function)
        self.tasks[task.number] = task
        self.resume(task, self.now)
        return task

    def resume(self, task, time):
        """Let a task go on at `time`; it must pause until then."""
        heappush(self.queue, (time, self.ranks + task.rank, task.number, task))

    def pause(self):
        """Called in a task: give control back until resumed, with torch's modes as the others know them."""
        if "torch" not in sys.modules or _torch_modes() == self.torch_modes:
            self.hub.switch()
        else:
            with _in_torch_modes(self.torch_modes):
                self.hub.switch()

    def wait_for(self, task):
        """Pause until `task` has ended; None has."""
        if task is not None and not task.done:
            task.waiters.append(self.current)
            self.current.waits_for = task
            self.pause()

    def post(self, array, source, target, mailbox):
        """A copy of `array` sets out when its send port is free; returns the message's number."""
        network = self.network
        link = network.links.get((source, target), network.link) if network.links else network.link
        start, nbytes = network.send_free[source], array.nbytes
        if start < self.now:
            start = self.now
        duration = nbytes / link.bandwidth
        network.send_free[source] = start + duration
        number = self.trace.add_message(source, target, nbytes, start)
        head = start + link.latency
        packet = _Packet(copy_of(array), source, mailbox, number, head, duration)
        heappush(self.queue, (head, target, number, packet))
        return number

    def take(self, mailbox, source):
        """Wait for the next packet of `source`, or of ANY, and return it."""
        if source == ANY:
            source = self._wait_for_any(mailbox)
        packets = mailbox.packets[source]
        if not packets:
            self._wait_for_head(mailbox, source)
        elif packets[0].arrival > self.now:
            self.resume(self.current, packets[0].arrival)
            self.pause()
        packet = packets.popleft()
        self.trace.stop[packet.number] = packet.arrival
        return packet

    def collective_mailbox(self, rank, number):
        """Messages of a collective travel apart from the worker's own."""
        mailbox = self.collective_mailboxes.get((rank, number))
        if mailbox is None:
            name, _ = self.signatures[number]
            mailbox = self.collective_mailboxes[rank, number] = _Mailbox(name)
        return mailbox

    def agree(self, number, rank, what):
        """Raise RankError unless `what`, a rank's n-th collective, is what the first rank there asked for."""
        if number == len(self.signatures):
            self.signatures.append((what, rank))
        first, other = self.signatures[number]
        if first != what:
            text = f"collective {number} differs: rank {other} asked for {first}, rank {rank} for {what}"
            raise RankError(rank, "mismatch", text)

    def _wait_for_any(self, mailbox):
        """The source of the first packet; waits if there is none."""
        if mailbox.first_source() is None:
            self._wait_for_head(mailbox, ANY)
        return mailbox.first_source()

    def _wait_for_head(self, mailbox, source):
        """Pause until the next packet of `source` that reaches the port has arrived."""
        mailbox.waiter, mailbox.wanted = self.current, source
        self.current.waits_for = mailbox
        self.pause()

    def _serve(self):
        __tracebackhide__ = True
        queue, ranks = self.queue, self.ranks
        while queue:
            self.now, place, _, item = heappop(queue)
            if place < ranks:
                self._reach_port(place, item)
            else:
                self._switch_to(item)

    def _reach_port(self, rank, packet):
        """The head of a message is at the receiver's port, which takes it when free."""
        free = self.network.recv_free
        begin = free[rank]
        if begin < self.now:
            begin = self.now
        packet.arrival = free[rank] = begin + packet.duration
        mailbox = packet.mailbox
        mailbox.packets[packet.source].append(packet)
        if mailbox.waiter is not None and mailbox.wanted in (packet.source, ANY):
            self.resume(mailbox.waiter, packet.arrival)
            mailbox.waiter = None

    def _switch_to(self, task):
        """Let a task run until it pauses or ends."""
        __tracebackhide__ = True
        self.current = task
        task.greenlet.switch()
        self.current = None

    def park(self):
        """Called in a task that does not end when it should: give control back for good."""
        _parked.append(greenlet.getcurrent())
        while True:
            with suppress(BaseException):  # it is thrown into when the interpreter ends
                self.pause()

    def _close(self):
        """End the greenlets that are left, so that their finally blocks run now."""
        for comm in self.comms:
            comm.close()
        for task in list(self.tasks.values()):
            if task.greenlet:  # false for one that never started
                self.current = task
                with suppress(Exception):  # of a finally block; the run's own error matters more
                    task.greenlet.throw(greenlet.GreenletExit)
        self.current = None
        self.queue.clear()
        self.mailboxes.clear()
        self.collective_mailboxes.clear()


class SimulatedComm(Comm):
    """`comm` in the simulated world; see course_lib.comm.Comm for the contract."""

    def __init__(self, simulation, rank, worker):
        super().__init__(rank, simulation.ranks)
        self._simulation = simulation
        self._mailbox = simulation.mailboxes[rank]
        self._collectives = 0
        self._in_flight = None  # the last collective in the background: the next one begins when it has ended
        self._refused = 0
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
        return _Handle(self, self._in_flight)

    def broadcast(self, array, source):
        array = as_array(array)
        source = arguments.whole_number("source", source, 0, self.size - 1)
        name = f"broadcast from {source}"
        channel, start = self._open_channel(name, f"{name} of {describe(array)}")
        self._simulation.wait_for(self._in_flight)
        result = _binomial_broadcast(channel, copy_of(array), source)
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
        return packet.source, _unpack(array, out)

    def _open_channel(self, name, what):
        """The messages of this rank's next collective, and the time."""
        self._enter()
        number = self._collectives
        self._collectives += 1
        self._simulation.agree(number, self.rank, what)
        return _Channel(self._simulation, self.rank, number), self._simulation.now

    def _end_collective(self, channel, name, start, nbytes):
        simulation = self._simulation
        simulation.trace.add_call(
            self.rank, "collective", start, simulation.now, nbytes, name, channel.number
        )
        simulation.trace.finish[self.rank] = simulation.now  # its worker may have returned before
        del simulation.collective_mailboxes[self.rank, channel.number]


class _Channel:
    """The part of comm that a collective needs: its messages are traced, its calls are not."""

    def __init__(self, simulation, rank, number):
        self.rank, self.size, self.number = rank, simulation.ranks, number
        self._simulation = simulation
        self._mailbox = simulation.collective_mailbox(rank, number)

    def send(self, array, to):
        simulation = self._simulation
        simulation.post(array, self.rank, to, simulation.collective_mailbox(to, self.number))

    def recv(self, source, out=None):
        return _unpack(self._simulation.take(self._mailbox, source).array, out)

    def sendrecv(self, array, to, source, out=None):
        self.send(array, to)
        return self.recv(source, out)


class _Handle:
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


def _checked_link(name, link):
    if not isinstance(link, Link):
        raise TypeError(f"{name} must be a Link(latency, bandwidth); got {link!r}")
    return link


def _checked_links(links, ranks):
    """`links` as a dict of pairs of ranks, or an error that names what is wrong."""
    if not isinstance(links, Mapping):
        raise TypeError(f"links must be a dict of (source, target): Link; got {links!r}")
    checked = {}
    for pair, link in links.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"links must have keys (source, target); got {pair!r}")
        source, target = (arguments.whole_number("links: rank", rank, 0, ranks - 1) for rank in pair)
        if source == target:
            raise ValueError(f"links must join two ranks; got {pair!r}")
        checked[source, target] = _checked_link(f"links[{pair}]", link)
    return checked


def _checked_list(name, values):
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must be a list of numbers; got {values!r}")
    return list(values)


def _unpack(array, out):
    """A received array, in `out` if given."""
    if out is None:
        return array
    if not alike(out, array):  # nearly never: the rest takes its time
        check_out(as_array(out), describe(array))
    fill(out, array)
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


def _torch_modes():
    """torch's inference and grad mode, which belong to the thread; the usual ones if it is not imported."""
    torch = sys.modules.get("torch")
    return (torch.is_inference_mode_enabled(), torch.is_grad_enabled()) if torch else (False, True)


@contextmanager
def _in_torch_modes(modes):
    torch = sys.modules["torch"]
    inference, grad = modes
    with torch.inference_mode(inference), torch.set_grad_enabled(grad):
        yield


def _reset_grad_mode(modes):
    if _torch_modes() != modes:
        _, grad = modes
        sys.modules["torch"].set_grad_enabled(grad)


def _rank_error(rank, error):
    """What a worker raised, as a RankError."""
    if isinstance(error, SystemExit):
        return RankError(rank, "left", f"rank {rank} left without a result (exit code {error.code})")
    try:
        what = f"{type(error).__name__}: {error}"
    except Exception:  # of its __str__
        what = type(error).__name__
    return RankError(rank, "raised", f"rank {rank} raised {what}\n\n{worker_traceback(error)}")


def _who_waits(stuck, workers):
    """One line a rank of a deadlock: who waits for whom."""
    lines = ["deadlock: nobody is left who could send"]
    for task in stuck:
        mailbox = task.waits_for
        while isinstance(mailbox, _Task):
            mailbox = mailbox.waits_for
        call = mailbox.name or ("recv_any" if mailbox.wanted == ANY else "recv")
        line = f"rank {task.rank} waits in {call}"
        if mailbox.wanted != ANY:
            gone = ", which has returned" if workers[mailbox.wanted].done else ""
            line += f" from rank {mailbox.wanted}{gone}"
        lines.append(line)
    return "\n".join(lines)
