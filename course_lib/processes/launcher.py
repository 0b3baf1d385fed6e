"""The real world: `launch` starts one process a rank and waits for all, with a limit."""

import os
from collections.abc import Callable
from typing import Any

from course_lib import arguments, output, tracebacks
from course_lib.comm import Comm
from course_lib.errors import RankError
from course_lib.processes import job, log
from course_lib.processes.folder import RankFiles, read_output, run_folder
from course_lib.processes.interrupts import Interrupts
from course_lib.processes.shipping import pack_worker, unpack
from course_lib.processes.supervisor import Supervisor
from course_lib.processes.task import Task
from course_lib.run import Run

MAX_RANKS = 64  # processes, all on this machine
MAX_TIMEOUT = 86_400  # seconds, a day
BACKENDS = ("gloo", "nccl")


def launch(
    worker: Callable[[Comm], Any],
    ranks: int,
    *,
    timeout: float = 30,
    backend: str | None = None,
    live: bool = False,
    debug: bool = False,
    threads: int | None = None,
) -> Run:
    """Run worker(comm) in `ranks` real processes joined by torch.distributed and return a Run.

    timeout: seconds from the common start, a day at most. backend: "gloo" or "nccl"; None takes NCCL for CUDA
    tensors if there is a GPU for each rank. live: show output as it comes. debug: PyTorch's own checks of
    direct dist.* calls; DDP over gloo does not survive them in PyTorch 2.13 (SIGSEGV). threads: a rank's,
    max(1, cores // ranks) if None. The worker and what it refers to are sent by cloudpickle, so it may be
    defined in a cell. In a job of torchrun its processes are the ranks.
    Raises TypeError or ValueError for a bad argument before any process starts; RankError names the rank
    that raised, was killed, left, or was waited for in vain. No process outlives the call.
    """
    __tracebackhide__ = True
    ranks, timeout = _checked(worker, ranks, timeout, backend)
    if job.inside():
        return job.take_part(worker, ranks, timeout, backend)
    if backend == "nccl":
        _refuse_shared_gpus(ranks)
    task = _task(worker, ranks, timeout, backend, debug, threads)
    with Interrupts() as interrupts, run_folder(task) as folder:
        try:
            begin, results = Supervisor(task, folder, live, interrupts).results()
        finally:
            printed = [read_output(RankFiles(folder, rank).output) for rank in range(task.size)]
            if not live:
                output.replay(printed)
    trace = log.merge([result.log for result in results], [begin] * ranks, [each.finish for each in results])
    values = [_value(rank, result.value) for rank, result in enumerate(results)]
    return Run("real", values, max(trace.finish), printed, trace)


def _checked(
    worker: Callable[[Comm], Any], ranks: int, timeout: float, backend: str | None
) -> tuple[int, float]:
    """ranks and timeout as numbers, all four checked."""
    __tracebackhide__ = True
    arguments.worker_function(worker)
    if backend is not None:
        arguments.one_of("backend", backend, BACKENDS)
    ranks = arguments.whole_number("ranks", ranks, 1, MAX_RANKS)
    seconds = arguments.real_number("timeout", timeout, inclusive=False)
    if seconds > MAX_TIMEOUT:
        raise ValueError(f"timeout must be at most {MAX_TIMEOUT} seconds, a day; got {timeout!r}")
    return ranks, seconds


def _task(
    worker: Callable[[Comm], Any],
    ranks: int,
    timeout: float,
    backend: str | None,
    debug: bool,
    threads: int | None,
) -> Task:
    """What the ranks are told."""
    __tracebackhide__ = True
    threads = max(1, _cores() // ranks) if threads is None else arguments.whole_number("threads", threads, 1)
    sources, environment = tracebacks.cell_sources(), dict(os.environ)
    return Task(ranks, pack_worker(worker), environment, sources, threads, backend, timeout, debug)


def _value(rank: int, packed: bytes) -> Any:
    """A rank's result; what it consists of may be unknown to this process, or refuse to be made anew."""
    __tracebackhide__ = True
    try:
        return unpack(packed)
    except Exception as error:
        text = f"rank {rank} finished, but its result cannot be read here: {type(error).__name__}: {error}"
        raise RankError(rank, "raised", text) from None


def _refuse_shared_gpus(ranks: int) -> None:
    """NCCL hangs if ranks share a GPU. A rank counts them, for this process must not touch CUDA."""
    __tracebackhide__ = True
    (gpus,) = launch(_count_gpus, 1, backend="gloo").values
    if gpus < ranks:
        raise ValueError(
            f"backend='nccl' needs a GPU for each rank, but there are {gpus} for {ranks} ranks: "
            f"use backend='gloo', which moves CUDA tensors through the host, or ranks={max(gpus, 1)}"
        )


def _count_gpus(comm: Comm) -> int:
    import torch

    return torch.cuda.device_count()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
