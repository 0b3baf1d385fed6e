"""The real world: `launch` starts one process a rank and waits for all, with a limit."""

import os

from course_lib import arguments, output, tracebacks
from course_lib.processes import log
from course_lib.processes.folder import RankFiles, read_output, run_folder
from course_lib.processes.rank import Task
from course_lib.processes.shipping import pack_worker, unpack
from course_lib.processes.supervisor import Supervisor
from course_lib.run import Run

MAX_RANKS = 64  # processes, all on this machine
BACKENDS = ("gloo",)


def launch(worker, ranks, *, timeout=30, backend=None, live=False, debug=False, threads=None):
    """Run worker(comm) in `ranks` real processes joined by torch.distributed and return a Run.

    timeout: seconds from the common start. backend: None chooses. live: show output as it comes.
    debug: PyTorch's own checks of direct dist.* calls. threads: a rank's, max(1, cores // ranks) if None.
    The worker and what it refers to are sent by cloudpickle, so it may be defined in a cell.
    Raises TypeError or ValueError for a bad argument before any process starts; RankError names the rank
    that raised, was killed, left, or was waited for in vain. No process outlives the call.
    """
    __tracebackhide__ = True
    arguments.worker_function(worker)
    ranks = arguments.whole_number("ranks", ranks, 1, MAX_RANKS)
    timeout = arguments.real_number("timeout", timeout, inclusive=False)
    if backend is not None:
        arguments.one_of("backend", backend, BACKENDS)
    threads = max(1, _cores() // ranks) if threads is None else arguments.whole_number("threads", threads, 1)
    shipped = pack_worker(worker)
    with run_folder() as folder:
        tasks = [
            Task(
                rank,
                ranks,
                str(folder),
                shipped,
                dict(os.environ),
                tracebacks.cell_sources(),
                threads,
                backend,
                timeout,
                debug,
            )
            for rank in range(ranks)
        ]
        try:
            results = Supervisor(tasks, folder, timeout, live).results()
        finally:
            printed = [read_output(RankFiles(folder, rank).output) for rank in range(ranks)]
            if not live:
                output.replay(printed)
    begin = min(result.begin for result in results)
    trace = log.merge([result.log for result in results], begin, [result.finish for result in results])
    values = [unpack(result.value) for result in results]
    return Run("real", values, max(trace.finish), printed, trace)


def _cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
