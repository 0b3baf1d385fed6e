"""Watches the ranks of one run: results, failures, limits; nothing is left running when it is done."""

import os
import pickle
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import wait

from course_lib.errors import RankError
from course_lib.output import Live
from course_lib.processes import rank as rank_module
from course_lib.processes import server, status
from course_lib.processes.folder import RankFiles, bound_output, read_output
from course_lib.tracebacks import worker_stacks

START_LIMIT = 25.0  # seconds for all ranks to meet
GRACE = 0.5  # seconds: the earliest failure is the cause, what follows from it comes in meanwhile
TICK = 0.05  # seconds between two looks at the ranks
TAIL = 2000  # characters of a dead rank's last output to show


@dataclass(frozen=True)
class Result:
    """What a rank that finished has sent: times of the host's clock, log, result, counts of its calls."""

    begin: float
    finish: float
    log: object
    value: bytes
    counts: dict


@dataclass(frozen=True)
class Failure:
    """Why a rank did not finish."""

    rank: int
    reason: str
    headline: str
    details: str = ""


class Supervisor:
    """Starts one process for each of `tasks`; results() waits for them."""

    def __init__(self, tasks, folder, timeout, live):
        self.tasks = tasks
        self.timeout = timeout
        self.files = [RankFiles(folder, task.rank) for task in tasks]
        self.live = Live([files.output for files in self.files]) if live else None
        self.processes = []
        self.connections = {}  # connection -> rank, of ranks from which more may come
        self.begins = {}  # rank -> when its worker began
        self.finished = {}  # rank -> Result
        self.failures = []  # in order of time

    def results(self):
        """One Result a rank, or RankError."""
        __tracebackhide__ = True
        try:
            self._start()
            self._watch()
            if self.failures:
                raise self._error()
            return [self.finished[task.rank] for task in self.tasks]
        finally:
            self._end()

    def _start(self):
        for task in self.tasks:
            ours, theirs = server.pipe()
            process = server.rank_process(rank_module.run, (task, theirs))
            self.processes.append(process)
            process.start()
            theirs.close()
            self.connections[ours] = task.rank

    def _watch(self):
        """Until all have finished, or one has failed and the others have had their grace."""
        started = time.monotonic()
        while len(self.finished) < len(self.tasks) and not self.failures:
            self._receive(TICK)
            self._look_at_output()
            self._find_waits_in_vain()
            limit, since = START_LIMIT, started
            if len(self.begins) == len(self.tasks):
                limit, since = self.timeout, max(self.begins.values())
            if time.monotonic() > since + limit and not self.failures:
                return self._time_out(limit)
        grace = time.monotonic() + GRACE
        while self.failures and self.connections and time.monotonic() < grace:
            self._receive(TICK)

    def _receive(self, seconds):
        """Take what ranks send within `seconds`; a connection that ends without a result is a failure."""
        for connection in wait(list(self.connections), seconds):
            rank = self.connections[connection]
            try:
                message, *content = pickle.loads(connection.recv_bytes())
            except (EOFError, OSError):
                del self.connections[connection]
                if rank not in self.finished and rank not in [failure.rank for failure in self.failures]:
                    self.failures.append(self._gone(rank))
                continue
            if message == "ready":
                self.begins[rank] = content[0]
            elif message == "done":
                self.finished[rank] = Result(self.begins[rank], *content)
            else:
                self.failures.append(Failure(*content))

    def _look_at_output(self):
        if self.live:
            self.live.show()
        for files in self.files:
            bound_output(files.output)

    def _find_waits_in_vain(self):
        """A rank that has returned sends nothing more: whoever still counts on it waits in vain."""
        for rank in set(self.begins) - set(self.finished):
            now = status.read(self.files[rank].status)
            for gone, result in self.finished.items():
                sent, entered = result.counts["sent"][rank], result.counts["collectives"]
                from_gone = now.get("peer") == gone and sent <= now["number"]
                if from_gone or ("peer" not in now and now.get("number", -1) >= entered):
                    headline = f"rank {gone} returned, but rank {rank} {_in_words(now)}, which never comes"
                    self.failures.append(Failure(gone, "left", headline))
                    return

    def _gone(self, rank):
        """A rank's process ended without a word: by a signal, or by exiting."""
        self.processes[rank].join(1.0)
        code = self.processes[rank].exitcode
        printed = read_output(self.files[rank].output)[-TAIL:].strip()
        details = f"its last output:\n{printed}" if printed else ""
        if code is not None and code < 0:
            headline = f"rank {rank} was killed by {signal.Signals(-code).name} (signal {-code})"
            return Failure(rank, "killed", headline, details)
        return Failure(rank, "left", f"rank {rank} left without a result (exit code {code})", details)

    def _time_out(self, limit):
        """Ask every rank that has not finished for its stacks, and say who waits for whom."""
        stuck = [task.rank for task in self.tasks if task.rank not in self.finished]
        for rank in stuck:
            if hasattr(signal, "SIGUSR1") and self.processes[rank].is_alive():
                os.kill(self.processes[rank].pid, signal.SIGUSR1)
        time.sleep(0.3)
        lines = [f"no end after {limit:g} s"] + [self._state(task.rank) for task in self.tasks]
        stacks = [
            f"rank {rank}: {worker_stacks(read_output(self.files[rank].stacks), self.tasks[rank].sources)}"
            for rank in stuck
        ]
        self.failures.append(Failure(stuck[0], "timeout", "\n".join(lines), "\n\n".join(stacks)))

    def _state(self, rank):
        if rank in self.finished:
            return f"rank {rank} has returned"
        return f"rank {rank} {_in_words(status.read(self.files[rank].status))}"

    def _error(self):
        first, *others = self.failures
        parts = [first.headline, first.details]
        if others:
            also = ", ".join(f"rank {rank}" for rank in sorted(failure.rank for failure in others))
            parts.append(f"In consequence: {also} failed too.")
        return RankError(first.rank, first.reason, "\n\n".join(part for part in parts if part))

    def _end(self):
        """Let the ranks go; kill those that failed or hang, with their children."""
        if len(self.finished) < len(self.tasks):
            for process in self.processes:
                _kill(process.pid)
        for connection in self.connections:
            connection.close()  # a rank that has finished waits for this
        for process in self.processes:
            if process.pid is not None:
                process.join(2.0)
                if process.is_alive():
                    _kill(process.pid)
                    process.join()
                process.close()


def _in_words(now):
    """A rank's status, as the rest of a sentence that begins with its name."""
    doing = now.get("doing", "starting")
    if doing in ("starting", "computing"):
        return f"is {doing}"
    return f"waits in {doing}" + (f" from rank {now['peer']}" if "peer" in now else "")


def _kill(pid):
    """Kill a rank and its session."""
    for kill in (getattr(os, "killpg", os.kill), os.kill):
        try:
            if pid is not None:
                kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        except (ProcessLookupError, PermissionError):
            pass
