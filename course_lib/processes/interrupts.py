"""Interrupts (Ctrl-C, the notebook's stop button) during a run: heeded only where nothing is half done."""

import signal
import threading


class Interrupts:
    """A context in which SIGINT is noted, not obeyed at once; check() obeys, and so does leaving.

    Only the main thread gets interrupts; in other threads this does nothing.
    """

    def __enter__(self):
        self._previous, self._noted = None, None
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            signal.signal(signal.SIGINT, self._note)
            self._previous = handler
        return self

    def __exit__(self, kind, error, trace):
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        if error is None:
            self.check()

    def check(self):
        """Do what the interrupt would have done: raise KeyboardInterrupt, most often."""
        __tracebackhide__ = True
        if self._previous is not None and self._noted is not None:
            noted, self._noted = self._noted, None
            self._previous(*noted)

    def _note(self, *signal_and_frame):
        self._noted = signal_and_frame
