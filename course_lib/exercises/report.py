"""What a checker says, and how it runs a learner's worker."""

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from course_lib.errors import RankError
from course_lib.labels import label
from course_lib.simulator import SimulatedComm, simulate
from course_lib.tracebacks import LIBRARY

WORKER_COUNTS = (1, 2, 3, 4, 7)
MOST_LINES, MOST_CALLS, MOST_SECONDS = 1_000_000, 20_000, 5  # of an attempt, before it counts as endless
CALLS = {
    getattr(SimulatedComm, name).__code__
    for name in ("send", "recv", "recv_any", "sendrecv", "all_reduce", "broadcast", "barrier", "compute")
}


@dataclass(frozen=True, repr=False)
class Report:
    """passed: True, False, or None if not attempted. text: what the learner reads."""

    passed: bool | None
    text: str

    def __repr__(self):
        return self.text


class NotYet(Exception):
    """A check that did not hold: in which case, and what to look at."""

    def __init__(self, case, what):
        super().__init__(label("failed", case=case, what=what))


class _NotAttempted(Exception):
    """An untouched stub; the argument is the key of what to say."""


class StillRunning(BaseException):
    """The limit that an attempt has reached; no Exception, for a learner's loop may catch those."""


def workers(count):
    """ "1 worker", "2 workers": how a case is named."""
    return label("worker" if count == 1 else "workers", count=count)


def checked(check, what):
    """Run check() and return a Report; `what` says what was tried, if all of it held."""
    try:
        check()
    except _NotAttempted as error:
        return Report(None, label(str(error)))
    except NotYet as error:
        return Report(False, str(error))
    except Exception as error:  # the check itself has stumbled over a value that it did not expect
        about = f"{type(error).__name__}: {error}".strip().split("\n")[0][:200]
        return Report(False, label("unchecked", error=about))
    return Report(True, label("passed", what=what))


def run_attempt(case, worker, ranks, **options):
    """Simulate a learner's worker; an untouched stub and a worker that fails end the check."""
    try:
        with limited():
            run = simulate(worker, ranks, **options)
    except RankError as error:
        if isinstance(error.__cause__, NotImplementedError):
            raise _NotAttempted("not_attempted") from None
        if isinstance(error.__cause__, NotYet):
            raise error.__cause__ from None
        if isinstance(error.__cause__, StillRunning):
            raise NotYet(case, label("still_running", limit=error.__cause__)) from None
        raise NotYet(case, str(error)) from None
    if all(value is None or value is Ellipsis for value in run.values):
        raise _NotAttempted("returned_nothing")
    for rank, value in enumerate(run.values):
        expect(value is not None, case, label("returned_none", rank=rank))
    return run


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
        return None if frame.f_code.co_filename.startswith(LIBRARY) else watch

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
        yield
    finally:
        sys.settrace(before)


def real_array(value):
    """`value` as an array of real numbers; None if it is anything else."""
    try:
        array = np.asarray(value)
    except Exception:  # ragged, or of a type with rules of its own
        return None
    return array if array.dtype.kind in "biuf" else None


def expect_numbers(case, rank, value):
    """A rank's array holds real numbers, none of them NaN; else the check ends."""
    real = real_array(value) is not None
    expect(real, case, f"rank {rank} returned {type(value).__name__} of something else than real numbers")
    expect(not np.isnan(value).any(), case, f"rank {rank} returned NaN")


def expect(holds, case, what):
    """Go on if `holds`, else end the check with what to look at."""
    if not holds:
        raise NotYet(case, what)
