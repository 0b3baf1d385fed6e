"""What a checker says, how it runs a learner's worker, and what checks of several chapters share."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from course_lib.errors import RankError
from course_lib.exercises.limits import StillRunning, limited
from course_lib.labels import label
from course_lib.simulation import simulate

WORKER_COUNTS = (1, 2, 3, 4, 7)


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


def not_attempted():
    """End the check: the stub is untouched."""
    raise _NotAttempted("not_attempted")


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
    except StillRunning as error:  # raised once more, while the library dealt with the first
        raise NotYet(case, label("still_running", limit=error)) from None
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


def gradient_cases(sizes):
    """Yield (case, inputs) for all worker counts and sizes: what it is called, a drawn gradient a rank."""
    for ranks in WORKER_COUNTS:
        for size in sizes:
            case = f"{workers(ranks)}, gradients of length {size}"
            seeds = [[ranks, size, rank] for rank in range(ranks)]
            yield case, [np.random.default_rng(seed).normal(size=size) for seed in seeds]


def on_copies(function, inputs, case, changed):
    """A worker that returns function(comm, a copy of its rank's input); the check ends if it changed that."""

    def worker(comm):
        mine = inputs[comm.rank].copy()
        value = function(comm, mine)
        expect(np.array_equal(mine, inputs[comm.rank]), case, changed)
        return value

    return worker


def collectives(run):
    """How many collectives a rank took part in; the most of all ranks."""
    counts = Counter(span.rank for span in run.spans if span.kind == "collective")
    return max(counts.values(), default=0)


def largest_message(run):
    """Bytes; 0 if none was sent."""
    return max((message.nbytes for message in run.messages), default=0)


def expect_received(case, messages):
    """Every message has found its receiver; else the check ends."""
    for message in messages:
        lost = f"nobody received what rank {message.source} sent to rank {message.target}"
        expect(message.stop == message.stop, case, f"{lost}: one receive for each send")


def expect_arrays(case, values, shape):
    """Every rank's value is an array of that shape, of real numbers without NaN; else the check ends."""
    for rank, value in enumerate(values):
        kind = type(value).__name__
        expect(isinstance(value, np.ndarray), case, f"rank {rank} returned {kind}, not an array")
        expect(value.shape == shape, case, f"rank {rank} returned shape {value.shape}, not {shape}")
        expect_numbers(case, rank, value)


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
