"""Collectives in flight: one thread carries them out in the order of the calls, the same on every rank."""

from concurrent.futures import ThreadPoolExecutor


class Background:
    """A queue with one thread, which starts when it is first needed."""

    def __init__(self):
        self._pool = None
        self._pending = []  # not yet done, or with an error that nobody has seen

    def submit(self, function):
        """Call function() after all that was submitted before; returns its Future."""
        self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="course_lib-collectives")
        self._pending = [each for each in self._pending if not each.done() or each.exception()]
        self._pending.append(self._pool.submit(function))
        return self._pending[-1]

    def result(self, future):
        """What a Future gives; an error raised here is not raised again by drain."""
        try:
            return future.result()
        finally:
            if future in self._pending:
                self._pending.remove(future)

    def drain(self):
        """Wait until the queue is empty, for a collective must not overtake an earlier one."""
        while self._pending:
            self._pending.pop(0).result()


class Handle:
    """An all_reduce in flight."""

    def __init__(self, background, future, around):
        self._background, self._future, self._around = background, future, around

    def wait(self):
        """Wait until it is done and return its result."""
        if self._future.done():
            return self._background.result(self._future)
        with self._around():
            return self._background.result(self._future)
