"""How long tests wait. The unit is a start: of a process that imports NumPy, on this machine.

So a slow or a busy machine has longer limits, and none is a number of seconds. A limit that has passed is
measured again before it counts, for the machine may have become busier.
"""

import functools
import subprocess
import sys
import time
from contextlib import contextmanager


def measure():
    """The seconds that a start takes now."""
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    return time.monotonic() - begin


@functools.cache
def a_start():
    """Seconds of a start when this process first asked, the slower of two: a limit errs on the long side."""
    return max(measure(), measure())


def limit(starts):
    """Seconds allowed for what takes as long as `starts` starts."""
    return starts * a_start()


def until(condition, starts):
    """True once condition() is, False if it is not within `starts` starts."""
    begin, end = time.monotonic(), limit(starts)
    while not condition():
        if time.monotonic() - begin > end:
            end = starts * measure()  # a moment passes here, too
            if time.monotonic() - begin > end:
                return bool(condition())
        time.sleep(0.02)
    return True


@contextmanager
def within(starts):
    """Fails if the block takes longer than `starts` starts."""
    begin = time.monotonic()
    yield
    took = time.monotonic() - begin
    assert took < limit(starts) or took < starts * measure(), f"took {took:.2f} s, more than {starts} starts"
