"""A job under torchrun, undisturbed and with a rank killed: run, with limits, and read from its log."""

import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from course_lib.arguments import real_number, whole_number
from course_lib.processes import server
from course_lib.training.elastic import start_agent
from course_lib.training.job_log import read_log
from course_lib.training.ports import ATTEMPTS, port_taken

GRACE = 2  # seconds that torchrun has to end its ranks
SHOWN = 3000  # characters of what a failed job printed


@dataclass(frozen=True)
class JobRun:
    """One job. events: tuple of Event in order of time, seconds since the job's start."""

    events: tuple

    @property
    def seconds(self):
        """From its start to its last event."""
        return self.events[-1].seconds

    def of(self, kind, rank=None):
        """The events of a kind, of all ranks or one."""
        return [each for each in self.events if each.kind == kind and rank in (None, each.rank)]

    @property
    def digests(self):
        """The parameters' digest at the end, one a rank."""
        return tuple(event.digest for event in sorted(self.of("done"), key=lambda event: event.rank))

    @property
    def restarts(self):
        """How often torchrun started the ranks anew."""
        return max(event.attempt for event in self.events)

    @property
    def steps_twice(self):
        """The steps that rank 0 did more than once: lost with the accident, done again after it."""
        steps = [event.step for event in self.of("step", rank=0)]
        return tuple(sorted({step for step in steps if steps.count(step) > 1}))

    @property
    def lost(self):
        """Seconds from each kill to the end of the next step that had not been done before; their sum."""
        return sum(self._caught_up(kill) - kill.seconds for kill in self.of("kill"))

    def _caught_up(self, kill):
        return next(each.seconds for each in self.of("step", kill.rank) if each.step == kill.step)


@dataclass(frozen=True)
class Recovery:
    """The same job twice: undisturbed, and with a rank killed."""

    undisturbed: JobRun
    disturbed: JobRun

    @property
    def same(self):
        """True if the parameters of all ranks of both jobs are equal in the end, bit for bit."""
        return len({*self.undisturbed.digests, *self.disturbed.digests}) == 1


def run_job(script, *, ranks=2, kill=None, timeout=120):
    """Run `script` under torchrun's agent and return its JobRun; kill: (rank, step) of an accident, or None.

    The script takes --folder and --kill RANK STEP, and logs as notebooks/fault_tolerance/train.py does.
    timeout: seconds. Raises RuntimeError for a job that fails, TimeoutError for one that takes too long; no
    process outlives the call. A job whose ranks find that somebody else has taken their port is done again,
    for torchrun's restart would count as an accident.
    """
    (job,) = _run(script, ranks, [kill], timeout)
    return job


def recovery(script, *, ranks=2, kill_rank=1, kill_step=10, timeout=120):
    """Run `script` twice at the same time, as `run_job` does, once with a rank killed; returns a Recovery.

    timeout: seconds for both.
    """
    return Recovery(*_run(script, ranks, [None, (kill_rank, kill_step)], timeout))


def _run(script, ranks, kills, timeout):
    """A JobRun for each of `kills`, all at the same time."""
    script = Path(script).resolve()
    if not script.is_file():
        raise FileNotFoundError(f"there is no script {script}")
    ranks = whole_number("ranks", ranks, 1)
    options = [_kill_options(kill, ranks) for kill in kills]
    end = time.monotonic() + real_number("timeout", timeout, inclusive=False)
    with tempfile.TemporaryDirectory(prefix="course_lib-recovery-") as folder:
        jobs = []
        try:
            for number, each in enumerate(options):
                jobs.append(_Job(script, ranks, Path(folder) / str(number), each))
            return [job.result(end) for job in jobs]
        finally:
            for job in jobs:
                job.stop()


def _kill_options(kill, ranks):
    if kill is None:
        return ()
    if not isinstance(kill, tuple | list) or len(kill) != 2:
        raise TypeError(f"kill must be (rank, step), or None; got {kill!r}")
    rank, step = kill
    return "--kill", whole_number("kill_rank", rank, 0, ranks - 1), whole_number("kill_step", step, 0)


class _Job:
    """A job of torchrun, started at once."""

    def __init__(self, script, ranks, folder, options):
        folder.mkdir()
        self._place, self._arguments = folder, (script, ranks, options)
        self._start()

    def _start(self):
        """In a folder of its own."""
        script, ranks, options = self._arguments
        folder = self._folder = Path(tempfile.mkdtemp(dir=self._place))
        self._output = folder / "output.txt"
        # torchrun 2.13 keeps one store over restarts, in which a rank that is quicker than another may find
        # the address of its dead predecessor (pytorch issue 135712): let the ranks make a store of their own.
        settings = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "OMP_NUM_THREADS": "1"}
        settings["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
        self._begin = time.time()
        self._process = start_agent(
            script,
            ("--folder", folder, *options),
            ranks=ranks,
            folder=folder,
            output=self._output,
            environment={**os.environ, **settings},
        )

    def result(self, end):
        """The JobRun, once the job has ended; `end`: when it must have, on the monotonic clock."""
        for attempt in range(ATTEMPTS):
            if attempt:
                ended = self._process
                self._start()
                ended.close()
            code = self._process.wait(max(0, end - time.monotonic()))
            if code is None:
                raise TimeoutError(f"the job did not end in time; it printed\n{self._printed()}")
            port = port_taken(self._output.read_text(encoding="utf-8", errors="replace"))
            if port is None:
                break
        else:
            raise RuntimeError(
                f"the job has found its port taken {ATTEMPTS} times, the last time {port}; it printed\n"
                + self._printed()
            )
        if code:
            raise RuntimeError(f"the job failed (exit code {code}); it printed\n{self._printed()}")
        events = read_log(self._folder)
        return JobRun(tuple(each._replace(seconds=each.seconds - self._begin) for each in events))

    def stop(self):
        """End the job, if it has not ended: torchrun passes SIGTERM on to its ranks."""
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGTERM)
            if self._process.wait(GRACE) is None:
                server.kill(self._process, alive=True)
        self._process.close()

    def _printed(self):
        return self._output.read_text(encoding="utf-8", errors="replace")[-SHOWN:]
