"""Asynchronous SGD on shared memory without locks ("Hogwild", Niu et al. 2011): processes of one machine."""

import os
import tempfile
from pathlib import Path

import numpy as np

from course_lib.sgd.history import Log, may_diverge
from course_lib.sgd.work import Work, checked


def lock_free(problem, updates, rate, *, batch=None, times=None, seed=0):
    """A worker function for `launch`: each of K ranks makes `updates` updates of the parameters all share.

    Nobody waits for anybody, so of two updates at the same instant one may be lost, in part or whole. Each
    rank returns the History of its own updates (`merged` joins them); their staleness is counted with a
    shared counter that is subject to the same races. The rest as in `asynchronous`.
    """
    rate, times = checked(problem, rate, batch, times, seed, updates=updates)

    def worker(comm):
        if not hasattr(comm, "device"):
            raise ValueError(
                "lock_free shares memory between processes, which the simulator has none of: use launch"
            )
        shared = shared_array(comm, len(problem.start) + 1)
        theta, counter = shared[:-1], shared[-1:]
        if comm.rank == 0:
            theta[:] = problem.start
        work, log = Work(comm, problem, comm.rank, comm.size, batch, times, seed), Log(problem.start)
        comm.barrier()
        with may_diverge():
            for _ in range(updates):
                read = counter[0]
                gradient = work.gradient(theta.copy())
                staleness = max(0, counter[0] - read)
                theta -= rate * gradient
                counter += 1
                log.update(theta.copy(), comm.time(), comm.rank, staleness)
        comm.barrier()
        return log.history()

    return worker


def shared_array(comm, size):
    """An array of `size` float64, 0 at first, in memory that all ranks of this machine share."""
    name = np.zeros(4096, np.uint8)
    if comm.rank == 0:
        handle, made = tempfile.mkstemp(prefix="course-shared-")
        os.truncate(handle, 8 * size)
        os.close(handle)
        encoded = os.fsencode(made)
        name[: len(encoded)] = np.frombuffer(encoded, np.uint8)
    path = Path(os.fsdecode(comm.broadcast(name, 0).tobytes().rstrip(b"\0")))
    if not path.exists():
        raise ValueError(
            f"rank {comm.rank} cannot see rank 0's file: shared memory needs ranks of one machine"
        )
    array = np.memmap(path, np.float64, mode="r+", shape=(size,))
    comm.barrier()  # all have it; its memory lives on without its name
    if comm.rank == 0:
        path.unlink()
    return array
