"""An end to attempts that have none: a loop that goes on, a message too many."""

import signal
import sys
import sysconfig
import threading
import time
from contextlib import contextmanager

from course_lib.comm import Comm
from course_lib.simulation.comm import SimulatedComm
from course_lib.tracebacks import LIBRARY

MOST_LINES, MOST_CALLS, MOST_SECONDS = 1_000_000, 20_000, 5  # of an attempt, before it counts as endless
MOST_WAITING = 30  # seconds by the clock: an attempt that sleeps takes none of the processor's
# The lines of other people's packages do not count: the first `import torch` alone has a million.
NOT_COUNTED = (LIBRARY, "<frozen", *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))
CALLS = {getattr(SimulatedComm, name).__code__ for name in Comm.__abstractmethods__}


class StillRunning(BaseException):
    """The limit that an attempt has reached; no Exception, for a learner's loop may catch those."""


@contextmanager
def limited():
    """Raise StillRunning in a learner's code once it has run for too many lines, calls of comm or seconds.

    A trace function is the thread's, so this one sees all simulated workers, each in its greenlet.
    """
    before, lines, calls, stop = sys.gettrace(), 0, 0, time.monotonic() + MOST_SECONDS

    def enter(frame, event, argument):
        nonlocal calls
        if frame.f_code in CALLS:
            calls += 1
            if calls > MOST_CALLS:
                raise StillRunning(f"{MOST_CALLS:,} calls of comm")
        return None if frame.f_code.co_filename.startswith(NOT_COUNTED) else watch

    def watch(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        if lines >= MOST_LINES:
            raise StillRunning(f"{MOST_LINES:,} lines")
        if lines % 16 == 0 and time.monotonic() > stop:
            raise StillRunning(f"{MOST_SECONDS} seconds")
        return watch

    sys.settrace(enter)
    try:
        with _alarm():
            yield
    finally:
        sys.settrace(before)


@contextmanager
def _alarm():
    """A loop within one line, or a sleep, tells a trace function nothing: timers end it.

    One of the processor's seconds, and one by the clock. Where there are such timers: on Unix, in the main
    thread, which runs a notebook's cells.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    with (
        _timer(signal.SIGVTALRM, signal.ITIMER_VIRTUAL, MOST_SECONDS),
        _timer(signal.SIGALRM, signal.ITIMER_REAL, MOST_WAITING),
    ):
        yield


@contextmanager
def _timer(number, timer, seconds):
    def ring(number, frame):
        if not frame.f_code.co_filename.startswith(LIBRARY):  # else it ends the simulator
            raise StillRunning(f"{seconds} seconds")

    before = signal.signal(number, ring)
    running = signal.setitimer(timer, seconds, 0.5)  # again, should it be caught
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)
        signal.setitimer(timer, *running)  # pytest's time limit, say
