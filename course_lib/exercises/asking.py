"""Asking a learner's plain function, without workers: what it returns, or why there is no answer."""

import math
from numbers import Real

from course_lib.exercises.limits import StillRunning, limited
from course_lib.exercises.report import NotYet, expect, not_attempted
from course_lib.labels import label
from course_lib.tracebacks import worker_traceback


def ask(case, function, *arguments, hint=""):
    """What a learner's function returns; the check ends if it is empty, unwritten, endless or fails.

    hint: what may be behind that in this case, as the end of a sentence.
    """
    expect_function(case, function)
    try:
        value = _within_reason(case, function, arguments, hint)
    except NotYet:
        raise
    except NotImplementedError:
        value = Ellipsis
    except (Exception, SystemExit) as error:
        hint = hint if isinstance(error, ArithmeticError | ValueError) else ""
        raise NotYet(case, f"it raised {type(error).__name__}{hint}\n{worker_traceback(error)}") from None
    if value is Ellipsis or (value is None and is_empty(function)):
        not_attempted()
    return value


def expect_function(case, function):
    """The check ends for what is no function, or nothing yet."""
    if function is None or function is Ellipsis:
        not_attempted()
    expect(callable(function), case, label("asked_function", kind=type(function).__name__))


def _within_reason(case, function, arguments, hint):
    """function(*arguments), stopped when its search goes on for ever."""
    try:
        with limited():
            return function(*arguments)
    except StillRunning as limit:
        ends = f"{limit}, and the search does not end{hint or ': can this target be reached?'}"
        raise NotYet(case, ends) from None


def is_empty(function):
    """True if the body is `pass` or `...`: nothing was written yet."""
    code = getattr(function, "__code__", None)
    return code is not None and len(code.co_code) <= len((lambda: None).__code__.co_code)


def expect_number(case, value):
    """The attempt ends unless `value` is a number, and no NaN."""
    good = isinstance(value, Real) and not isinstance(value, bool)
    try:
        good = good and not math.isnan(value)
    except OverflowError:
        expect(False, case, "it returned a number that is too large to be right")
    expect(good, case, f"it returned {value!r}, not a number")
