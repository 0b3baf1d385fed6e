"""The event queue: who goes on when, and where each message is.

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

import sys
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import Any

import greenlet

from course_lib.arrays import copy_of
from course_lib.errors import RankError
from course_lib.simulation.collectives import Collectives
from course_lib.simulation.failures import rank_error, who_waits
from course_lib.simulation.messages import ANY, Mailbox, Packet
from course_lib.simulation.task import Task, in_torch_modes, torch_modes
from course_lib.trace import Trace

_parked = []  # greenlets of workers that do not end: to free one would wake it


class Simulation:
    """The event queue and what hangs on it."""

    def __init__(self, ranks, network, clockwork):
        self.ranks = ranks
        self.network = network
        self.clockwork = clockwork
        self.hub = greenlet.getcurrent()
        self.torch_modes = torch_modes()  # what each task begins with
        self.now = 0.0
        # A heap of (time, rank, number, packet) and (time, ranks + rank, number, task): heads before tasks.
        self.queue = []
        self.current: Any = None  # the Task that runs
        self.trace = Trace(ranks)
        self.mailboxes = [Mailbox(None) for _ in range(ranks)]
        self.collectives = Collectives()
        self.tasks = {}  # those that have not ended, by number
        self.numbers = count()

    def current_rank(self):
        """The rank whose code is running, or None."""
        return self.current.rank if self.current is not None else None

    def run(self, comms):
        """Serve events until all is done, and close the workers' comms; return the workers' values."""
        __tracebackhide__ = True
        workers = list(self.tasks.values())
        try:
            self._serve()
            stuck = [task for task in workers if not task.done]
            if stuck:
                raise RankError(stuck[0].rank, "deadlock", who_waits(stuck, workers))
        except (RankError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if self.current is None:
                raise
            raise rank_error(self.current.rank, error) from error
        finally:
            self._close(comms)
        return [task.value for task in workers]

    def start(self, rank, function):
        """A new task of `rank`, which begins now."""
        task = Task(self, rank, next(self.numbers), function)
        self.tasks[task.number] = task
        self.resume(task, self.now)
        return task

    def resume(self, task, time):
        """Let a task go on at `time`; it must pause until then."""
        heappush(self.queue, (time, self.ranks + task.rank, task.number, task))

    def pause(self):
        """Called in a task: give control back until resumed, with torch's modes as the others know them."""
        if "torch" not in sys.modules or torch_modes() == self.torch_modes:
            self.hub.switch()
        else:
            with in_torch_modes(self.torch_modes):
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
        packet = Packet(copy_of(array), source, mailbox, number, head, duration)
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

    def _close(self, comms):
        """End the greenlets that are left, so that their finally blocks run now."""
        for comm in comms:
            comm.close()
        for task in list(self.tasks.values()):
            if task.greenlet:  # false for one that never started
                self.current = task
                with suppress(Exception):  # of a finally block; the run's own error matters more
                    task.greenlet.throw(greenlet.GreenletExit)
        self.current = None
        self.queue.clear()
        self.mailboxes.clear()
        self.collectives.clear()
