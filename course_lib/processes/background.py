"""Collectives in flight: one thread carries them out in the order of the calls, the same on every rank."""

from concurrent.futures import ThreadPoolExecutor


class Background:
    """A queue with one thread, which starts when it is first needed."""

    def __init__(self):
        self._pool = None
        self._last = None

    def submit(self, function):
        """Call function() after all that was submitted before; returns its Future."""
        self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="course_lib-collectives")
        self._last = self._pool.submit(function)
        return self._last

    def drain(self):
        """Wait until the queue is empty, for a collective must not overtake an earlier one."""
        if self._last is not None:
            self._last.result()
            self._last = None


class Handle:
    """An all_reduce in flight."""

    def __init__(self, future, around):
        self._future, self._around = future, around

    def wait(self):
        """Wait until it is done and return its result."""
        if self._future.done():
            return self._future.result()
        with self._around():
            return self._future.result()
