"""What a rank's process does, from its first line to its last."""

import ctypes
import faulthandler
import io
import os
import pickle
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from course_lib import tracebacks
from course_lib.errors import RankError
from course_lib.processes.folder import RankFiles
from course_lib.processes.shipping import pack_result, unpack
from course_lib.processes.status import Status

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Task:
    """All that a rank is told at its start; picklable."""

    rank: int
    size: int
    folder: str
    worker: bytes  # by cloudpickle
    environment: dict
    sources: dict  # the cells' text, for tracebacks
    threads: int
    backend: str | None
    timeout: float  # seconds; the launcher's limit, the process group's is longer
    debug: bool


def run(task, connection):
    """Entry point of a rank's process: join the others, run the worker, report."""
    _become_leader()
    files = RankFiles(Path(task.folder), task.rank)
    _redirect_output(files.output)
    _enter_environment(task)
    stacks = open(files.stacks, "w")
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
    status = Status(files.status)
    try:
        kept = _work(task, connection, status)  # noqa: F841  its outbox: gloo drops a send nobody holds
    except BaseException as error:
        _report(connection, _failure(task.rank, error))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    _await_release(connection)


def _work(task, connection, status):
    import torch.distributed as dist

    from course_lib.processes.comm import ProcessComm
    from course_lib.processes.group import join

    _limit_threads(task.threads)
    device = join(task)
    worker = unpack(task.worker)
    comm = ProcessComm(task.rank, task.size, device, status)
    dist.barrier()
    begin = time.monotonic()
    _report(connection, ("ready", begin))
    value = worker(comm)
    finish = time.monotonic()
    _report(connection, ("done", finish, comm.log, pack_result(value), comm.counts()))
    return comm


def _become_leader():
    """Own session, so that rank and children can be killed as one; dies with the fork server.

    The server dies when the kernel does, but only once nobody holds the end of its alive pipe that every
    rank inherits: so let go of it.
    """
    if not sys.platform.startswith("linux"):
        return
    from multiprocessing import forkserver

    os.setsid()
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    server = forkserver._forkserver
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
    # A DataLoader in this rank may want a fork server: it starts one of its own.
    server._forkserver_alive_fd = server._forkserver_address = server._forkserver_pid = None


def _redirect_output(path):
    """File descriptors 1 and 2 go to one file: it catches C, survives SIGKILL and cannot block."""
    sink = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    os.close(sink)
    sys.stdout, sys.stderr = _writer(1), _writer(2)


def _writer(descriptor):
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=True, write_through=True)


def _enter_environment(task):
    """The kernel's environment at the time of the launch, not at the time the server started."""
    os.environ.clear()
    os.environ.update(task.environment)
    if task.debug:
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
    tracebacks.add_sources(task.sources)


def _limit_threads(threads):
    import threadpoolctl
    import torch

    torch.set_num_threads(threads)
    threadpoolctl.threadpool_limits(threads)


def _failure(rank, error):
    """What the launcher is told of an error: rank, reason, headline, details."""
    if isinstance(error, RankError):
        return "failed", error.rank, error.reason, str(error)
    headline = f"rank {rank} raised {type(error).__name__}: {error}"
    return "failed", rank, "raised", headline, tracebacks.worker_traceback(error)


def _report(connection, message):
    try:
        connection.send_bytes(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))
    except OSError:
        os._exit(1)  # the launcher is gone or has given this run up


def _await_release(connection):
    """Stay until the launcher lets go: a rank that left early would break the others' connections."""
    try:
        connection.recv_bytes()
    except (EOFError, OSError):
        pass
    os._exit(0)  # skips torch's teardown, which may wait for peers that are gone
