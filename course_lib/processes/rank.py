"""What a rank's process does, from its first line to its last."""

import ctypes
import faulthandler
import io
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from course_lib import tracebacks
from course_lib.errors import RankError
from course_lib.processes import freshness, server
from course_lib.processes.folder import RankFiles, read_task
from course_lib.processes.shipping import pack_result, unpack
from course_lib.processes.status import Page

PR_SET_PDEATHSIG = 1


def start(rank, folder, connection):
    """Entry point of a rank's process, which was forked with this module loaded."""
    if freshness.is_stale():
        freshness.forget()
    from course_lib.processes.rank import run

    run(rank, folder, connection)


def run(rank, folder, connection):
    """Join the others, run the worker, report, and stay until released."""
    become_leader()
    watch = threading.Thread(target=_leave_with_launcher, args=(connection,), daemon=True)
    watch.start()
    files = RankFiles(folder, rank)
    try:
        redirect_output(files.output)
        stacks = open(files.stacks, "w")
    except FileNotFoundError:
        os._exit(1)  # the launcher has given up, and taken the folder with it
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
    try:
        task = read_task(folder)
        _enter_environment(task)
        comm = _join(rank, task, folder, files)  # kept here until the end: gloo drops a send nobody holds
        _work(rank, task, comm, connection)
    except BaseException as error:
        _report(connection, ("failed", time.monotonic(), *_failure(rank, error)))
    watch.join()


def _join(rank, task, folder, files):
    """This rank's comm, once it is connected with all others."""
    from course_lib.processes.comm import ProcessComm
    from course_lib.processes.group import join

    page = Page(files.status)
    _start_afresh(task.threads)
    device, group = join(rank, task, folder)
    return ProcessComm(rank, task.size, device, group, page)


def _work(rank, task, comm, connection):
    worker = unpack(task.worker)
    comm.begin = comm.meet()
    _report(connection, ("ready", comm.begin))
    value = worker(comm)
    comm.settle()
    finish = time.monotonic()
    try:
        packed = pack_result(value)
    except TypeError as error:
        raise RankError(rank, "raised", f"rank {rank} finished, but {error}") from None
    _report(connection, ("done", finish, comm.log, comm.counts()), packed)


def become_leader():
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
    heeds = signal.signal(signal.SIGINT, signal.SIG_IGN)  # forgets one that was meant for the kernel
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, heeds)
    server: Any = forkserver._forkserver  # what is used of it is private
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
    # A DataLoader in this rank may want a fork server: it starts one of its own.
    server._forkserver_alive_fd = server._forkserver_address = server._forkserver_pid = None


def _leave_with_launcher(connection):
    """Stay until the launcher lets go: a rank that left early would break the others' connections.

    Also ends a rank that was forked after its launcher had given up.
    """
    try:
        connection.recv_bytes()
    except (EOFError, OSError):
        pass
    os._exit(0)  # skips torch's teardown, which may wait for peers that are gone


def redirect_output(path):
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


def _start_afresh(threads):
    """What a new process would have and one forked from a server has not: own threads, own randomness."""
    import numpy
    import threadpoolctl
    import torch

    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # for libraries and children that are yet to come
    torch.set_num_threads(threads)
    if threads > 1 or not server.FORKS:
        threadpoolctl.threadpool_limits(threads)  # of NumPy's BLAS; the fork server has set it to 1
    numpy.random.seed()


def _failure(rank, error):
    """What the launcher is told of an error: rank, reason, headline, details."""
    if isinstance(error, RankError):
        return error.rank, error.reason, str(error)
    details = tracebacks.worker_traceback(error)
    if isinstance(error, SystemExit):
        return rank, "left", f"rank {rank} left without a result (exit code {error.code})", details
    headline = f"rank {rank} raised {type(error).__name__}"
    with suppress(Exception):  # an error may fail to say what it is
        headline = f"{headline}: {error}"
    return rank, "raised", headline, details


def _report(connection, *messages):
    """Tell the launcher, after all that was printed; bytes are sent as they are, the rest pickled."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the worker may have closed or replaced it
            stream.flush()
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)  # C's own buffers
    try:
        for message in messages:
            connection.send_bytes(message if isinstance(message, bytes) else pickle.dumps(message))
    except OSError:
        os._exit(1)  # the launcher is gone or has given this run up
