"""Starts rank processes: forked from a server that has torch loaded (Linux), or spawned (elsewhere).

The server is our own instance, apart from multiprocessing's global one: whoever else uses that one, before
or after us and with whatever preloaded, is not our concern. The kernel itself never imports torch.
"""

import io
import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from multiprocessing import context, reduction, spawn
from multiprocessing.connection import wait

from course_lib.processes.socket_folder import room_for_a_socket

FORKS = sys.platform.startswith("linux")  # forking after torch is loaded is unsafe on macOS
TICK = 0.05  # seconds between two calls of while_waiting
SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)
pipe = multiprocessing.Pipe


def start_rank(target, args, while_waiting):
    """Start target(*args) in a new process; returns its handle: pid, sentinel, poll(), wait(s), close().

    while_waiting: called now and then until the process is there (the server may be loading torch); what
    it raises ends the wait.
    """
    __tracebackhide__ = True
    if not FORKS:
        with _main_hidden():
            return context.SpawnProcess._Popen(context.SpawnProcess(target=target, args=args))
    process = context.ForkServerProcess(target=target, args=args)
    try:
        return _fork(process, while_waiting)
    except (ConnectionError, EOFError):
        time.sleep(2 * TICK)  # the server was killed, a moment ago perhaps: once more, with a new one
        return _fork(process, while_waiting)


def kill(process, alive):
    """Kill a rank with all its children, which are in its session; they may outlive it."""
    with suppress(ProcessLookupError, PermissionError):  # not yet the leader of it, or nobody is left
        if hasattr(os, "killpg"):
            os.killpg(process.pid, SIGKILL)
    with suppress(ProcessLookupError):
        if alive:
            os.kill(process.pid, SIGKILL)


if FORKS:
    from multiprocessing import forkserver, popen_forkserver, resource_tracker, util

    _server = forkserver.ForkServer()
    _server.set_forkserver_preload(["course_lib.processes.preload"])

    class _Popen(popen_forkserver.Popen):
        """multiprocessing's, but with our server, and without the caller's __main__ or waiting for the pid.

        A script without a __main__ guard would otherwise be executed again in every rank.
        """

        _fds: list[int]  # multiprocessing's, which its type hints leave out

        def _launch(self, process_obj):
            setup = spawn.get_preparation_data(process_obj.name)
            setup.pop("init_main_from_name", None)
            setup.pop("init_main_from_path", None)
            message = io.BytesIO()
            context.set_spawning_popen(self)
            try:
                reduction.dump(setup, message)
                reduction.dump(process_obj, message)
            finally:
                context.set_spawning_popen(None)
            with _interrupts_blocked(), room_for_a_socket():
                _server.ensure_running()
            self.sentinel, writer = _server.connect_to_new_process(self._fds)
            # The rank reads this pipe's other end to learn that its parent is gone.
            parent_end = os.dup(writer)
            ends = parent_end, self.sentinel
            self.finalizer = util.Finalize(self, util.close_fds, ends)  # type: ignore[attr-defined]
            with open(writer, "wb") as pipe:
                pipe.write(message.getbuffer())


def _fork(process, while_waiting):
    __tracebackhide__ = True
    popen = _Popen(process)
    try:
        while not wait([popen.sentinel], TICK):
            while_waiting()
        popen.pid = forkserver.read_signed(popen.sentinel)
    except BaseException:
        popen.close()  # should the server fork it later, it finds its launcher gone and leaves
        raise
    return popen


@contextmanager
def _interrupts_blocked():
    """The fork server inherits a blocked SIGINT: an interrupt meant for the kernel never ends it."""
    resource_tracker.ensure_running()  # which would unblock it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_main_lock = threading.Lock()


@contextmanager
def _main_hidden():
    """Hide where __main__ came from, for spawn would execute it again in the new process."""
    main = sys.modules["__main__"]
    with _main_lock:
        kept = {name: main.__dict__.pop(name) for name in ["__file__", "__spec__"] if name in main.__dict__}
        main.__spec__ = None
        try:
            yield
        finally:
            del main.__spec__
            main.__dict__.update(kept)
