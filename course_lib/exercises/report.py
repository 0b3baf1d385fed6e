"""What a checker says, and how it runs a learner's worker."""

from dataclasses import dataclass

from course_lib.errors import RankError
from course_lib.labels import label
from course_lib.simulator import simulate

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
    return Report(True, label("passed", what=what))


def run_attempt(case, worker, ranks, **options):
    """Simulate a learner's worker; an untouched stub and a worker that fails end the check."""
    try:
        run = simulate(worker, ranks, **options)
    except RankError as error:
        if isinstance(error.__cause__, NotImplementedError):
            raise _NotAttempted("not_attempted") from None
        if isinstance(error.__cause__, NotYet):
            raise error.__cause__ from None
        raise NotYet(case, str(error)) from None
    if all(value is None or value is Ellipsis for value in run.values):
        raise _NotAttempted("returned_nothing")
    return run


def expect(holds, case, what):
    """Go on if `holds`, else end the check with what to look at."""
    if not holds:
        raise NotYet(case, what)
