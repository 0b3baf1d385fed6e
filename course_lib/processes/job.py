"""A launch inside a job of torchrun: the processes are there already, here or on other machines."""

import atexit
import os
import time

from course_lib.processes import log
from course_lib.run import Run


def inside():
    """True in a process that torchrun has started."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def take_part(worker, ranks, timeout, backend):
    """Run worker(comm) as this process's rank of the job; the same Run on every rank.

    torchrun shows what is printed and ends the job when a rank fails, so run.output stays empty. Machines
    have no common clock: each rank's times count from its own start, just after all have met.
    """
    import torch.distributed as dist

    from course_lib.processes.comm import ProcessComm
    from course_lib.processes.group import connect

    rank, size, local_rank, local_size = (
        int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    )
    if ranks != size:
        raise ValueError(
            f"ranks={ranks}, but this torchrun job has {size}: start it with as many "
            "(--nnodes times --nproc-per-node), or pass ranks=int(os.environ['WORLD_SIZE'])"
        )
    if not dist.is_initialized():
        atexit.register(_leave)
    device, group = connect(local_rank, local_size, backend, timeout)
    comm = ProcessComm(rank, size, device, group, _NoPage())
    comm.meet()
    comm.begin = time.monotonic()
    value = worker(comm)
    comm.settle()
    finish = time.monotonic()
    gathered = [None] * size
    dist.all_gather_object(gathered, (value, comm.log, comm.begin, finish), group=group)
    comm.meet()  # nobody leaves while others still listen
    values, logs, begins, finishes = zip(*gathered, strict=True)
    trace = log.merge(logs, begins, finishes)
    return Run("real", list(values), max(trace.finish), [""] * size, trace)


def _leave():
    """Take the groups down while the interpreter is whole; at its end that may wait for ranks now gone."""
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


class _NoPage:
    """Nobody watches this rank but torchrun."""

    def write(self, *status, **details):
        pass
