"""Watches the ranks of one run: results, failures, limits; nothing is left running when it is done."""

import os
import pickle
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from course_lib.output import Live
from course_lib.processes import failures, rank, server, status
from course_lib.processes.failures import Failure
from course_lib.processes.folder import RankFiles, bound_output

START_LIMIT = 25.0  # seconds for all ranks to meet
GRACE = 0.5  # seconds: what happened at the same time as the first failure comes in meanwhile
TICK = 0.05  # seconds between two looks at the ranks
LEAVE_LIMIT = 2.0  # seconds for a released rank to end
STACKS_LIMIT = 1.0  # seconds for stuck ranks to write their stacks


@dataclass(frozen=True)
class Result:
    """What a rank that finished has sent: when it did, log, result, counts of its calls."""

    finish: float
    log: object
    counts: dict
    value: bytes


class Member:
    """One rank as its launcher sees it."""

    def __init__(self, rank, folder):
        self.rank = rank
        self.files = RankFiles(folder, rank)
        self.process: Any = None  # what server.start_rank returns
        self.connection = None
        self.begin: float | None = None  # the common start by the host's clock, once its worker has begun
        self.result = None
        self.failed = False
        self.alive = False


class Supervisor:
    """Starts one process a rank; results() waits for them."""

    def __init__(self, task, folder, live, interrupts):
        self.task = task
        self.folder = folder
        self.members = [Member(number, folder) for number in range(task.size)]
        self.failures = []
        self.interrupts = interrupts
        self.live = Live([member.files.output for member in self.members], task.timeout) if live else None

    def results(self):
        """(the common start by the host's clock, one Result a rank), or RankError."""
        __tracebackhide__ = True
        try:
            for member in self.members:
                self._start(member)
            self._watch()
            if self.failures:
                raise failures.as_error(self.failures)
            return self.members[0].begin, [member.result for member in self.members]
        finally:
            self._end()
            if self.live:
                self.live.close()

    def _start(self, member):
        __tracebackhide__ = True
        member.connection, theirs = server.pipe()
        try:
            arguments = (member.rank, self.folder, theirs)
            member.process = server.start_rank(rank.start, arguments, self.interrupts.check)
            member.alive = True
        finally:
            theirs.close()

    def _watch(self):
        """Until all have finished, time is up, or one has failed and the others have had their grace."""
        __tracebackhide__ = True
        started = time.monotonic()
        while not self.failures and any(member.result is None for member in self.members):
            self._receive()
            self._look()
            begins = [member.begin for member in self.members if member.begin is not None]
            since, limit, what = started, START_LIMIT, "the ranks have not all started"
            if len(begins) == len(self.members):
                since, limit, what = begins[0], self.task.timeout, "no end"
            if time.monotonic() > since + limit and not self.failures:
                return self._time_out(f"{what} within {limit:g} s")
        grace = time.monotonic() + GRACE
        while self._undecided() and self.failures and time.monotonic() < grace:
            self._receive()

    def _undecided(self):
        return [member for member in self.members if member.result is None and not member.failed]

    def _receive(self):
        """Wait a tick for what ranks send and for processes that end; interrupts count."""
        __tracebackhide__ = True
        sources = {member.connection: member for member in self.members if member.connection}
        sources.update({member.process.sentinel: member for member in self.members if member.alive})
        for source in wait(list(sources), TICK):
            member = sources[source]
            if source is member.connection:
                self._take_message(member)
            else:
                self._take_end(member)
        self.interrupts.check()

    def _take_message(self, member):
        """The next message of a rank; none comes any more if its connection has ended."""
        try:
            kind, *content = pickle.loads(member.connection.recv_bytes())
            if kind == "done":
                content.append(member.connection.recv_bytes())  # the value; it may be large
        except (EOFError, OSError):
            member.connection.close()
            member.connection = None
            return
        if kind == "ready":
            (member.begin,) = content
        elif kind == "done":
            member.result = Result(*content)
        else:
            self._fail(member, Failure(*content))

    def _take_end(self, member):
        """A process has ended, which none may before it is let go; what it has still sent counts."""
        while member.connection and member.connection.poll():
            self._take_message(member)
        member.alive = False
        if not member.failed:
            exit_code = member.process.wait(1.0)
            end = failures.process_ended(time.monotonic(), member.rank, exit_code, member.files)
            self._fail(member, end)

    def _fail(self, member, failure):
        member.failed = True
        self.failures.append(failure)

    def _look(self):
        """At the output, and at who waits for a rank that has returned."""
        if self.live:
            self.live.show()
        for member in self.members:
            bound_output(member.files.output)
        finished = {member.rank: member.result.counts for member in self.members if member.result}
        for member in self._undecided() if finished else ():
            doing = status.read(member.files.status)
            if doing.doing == status.RECV_ANY and len(finished) < len(self.members) - 1:
                continue  # one that still runs may send
            gone = doing.in_vain(member.rank, finished)
            if gone is not None:
                failure = failures.waits_in_vain(time.monotonic(), member.rank, doing, gone)
                self._fail(self.members[gone], failure)

    def _time_out(self, what):
        """Ask every rank that has not finished for its stacks."""
        stuck = [member for member in self.members if member.result is None]
        if hasattr(signal, "SIGUSR1"):
            for member in stuck:
                if member.alive:
                    with suppress(ProcessLookupError):
                        os.kill(member.process.pid, signal.SIGUSR1)
            _until(lambda: all(member.files.stacks.stat().st_size for member in stuck), STACKS_LIMIT)
            time.sleep(TICK)  # for the last line
        failure = failures.timed_out(time.monotonic(), what, self.members, self.task.sources)
        self._fail(self.members[failure.rank], failure)

    def _end(self):
        """Let the ranks go, or kill them if one failed; nothing of theirs stays behind."""
        release = not self.failures and all(member.result for member in self.members)
        started = [member for member in self.members if member.process]
        if not release:
            for member in started:
                server.kill(member.process, member.alive)
        for member in self.members:
            if member.connection:
                member.connection.close()  # a rank that has finished waits for this
        for member in started:
            if member.process.wait(LEAVE_LIMIT) is None:
                server.kill(member.process, member.alive)
                member.process.wait(LEAVE_LIMIT)
            member.alive = False
            server.kill(member.process, member.alive)
            member.process.close()


def _until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(TICK / 5)
