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
from contextlib import contextmanager
from multiprocessing import context, reduction, spawn

# Only what others wrote: an author who edits this library must not run yesterday's in the ranks.
PRELOAD = ["numpy", "torch", "torch.distributed", "cloudpickle", "greenlet", "threadpoolctl"]
FORKS = sys.platform.startswith("linux")  # forking after torch is loaded is unsafe on macOS


def rank_process(target, args):
    """A process object for target(*args), not yet started; both must be picklable."""
    process_class = _ForkedRank if FORKS else _SpawnedRank
    return process_class(target=target, args=args, daemon=False)


if FORKS:
    from multiprocessing import forkserver, popen_forkserver, util

    _server = forkserver.ForkServer()
    _server.set_forkserver_preload(PRELOAD)

    class _Popen(popen_forkserver.Popen):
        """multiprocessing's, but with our server and without the caller's __main__.

        A script without a __main__ guard would otherwise be executed again in every rank.
        """

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
            with _interrupts_held_back():
                _server.ensure_running()
            self.sentinel, writer = _server.connect_to_new_process(self._fds)
            # The rank reads this pipe's other end to learn that its parent is gone.
            parent_end = os.dup(writer)
            self.finalizer = util.Finalize(self, util.close_fds, (parent_end, self.sentinel))
            with open(writer, "wb") as pipe:
                pipe.write(message.getbuffer())
            self.pid = forkserver.read_signed(self.sentinel)

    class _ForkedRank(context.ForkServerProcess):
        @staticmethod
        def _Popen(process_obj):
            return _Popen(process_obj)


class _SpawnedRank(context.SpawnProcess):
    @staticmethod
    def _Popen(process_obj):
        with _main_hidden():
            return context.SpawnProcess._Popen(process_obj)


@contextmanager
def _interrupts_held_back():
    """The fork server inherits a blocked SIGINT: an interrupt meant for the kernel never ends it."""
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
        kept = {name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__}
        main.__spec__ = None
        try:
            yield
        finally:
            del main.__spec__
            main.__dict__.update(kept)


def pipe():
    """A two-way pipe between the launcher and one rank."""
    return multiprocessing.Pipe(duplex=True)
