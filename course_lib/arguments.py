"""Checks of what a caller passes in: each says what was given and what is allowed."""

import inspect
import math
import operator
from collections.abc import Callable, Collection
from typing import Any, TypeVar

T = TypeVar("T")

_NEVER_RUN = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


def whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high], or raise TypeError or ValueError that names it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be {_whole(low, high)}; got {value!r}")
    number = operator.index(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be {_whole(low, high)}; got {value!r}")
    return number


def _whole(low: int, high: int | None) -> str:
    return f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"


def real_number(
    name: str, value: Any, low: float = 0.0, *, inclusive: bool = True, finite: bool = True
) -> float:
    """Return `value` as a float of at least (or above) `low`; NaN is refused, infinity if `finite`."""
    allowed = f"a {'finite ' if finite else ''}number"
    if low > -math.inf:
        allowed += f" {'of at least' if inclusive else 'above'} {low:g}"
    if not isinstance(value, float) and not _is_real(value):
        raise TypeError(f"{name} must be {allowed}; got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be {allowed}; got a number too large for a float") from None
    in_range = number >= low if inclusive else number > low  # False for NaN as well
    if not in_range or (finite and math.isinf(number)):
        raise ValueError(f"{name} must be {allowed}; got {value!r}")
    return number


def _is_real(value: Any) -> bool:
    """True for a number, or an array of no dimensions that holds one; not for a complex one."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__") or getattr(value, "ndim", 0) != 0:
        return False
    dtype = getattr(value, "dtype", None)  # NumPy's or torch's
    return getattr(dtype, "kind", "f") in "iuf" and "complex" not in str(dtype)


def one_of(name: str, value: T, allowed: Collection[T]) -> T:
    """Return `value` if it is one of `allowed`, or raise ValueError that lists them."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
    return value


def worker_function(worker: Callable[..., Any]) -> Callable[..., Any]:
    """Return `worker` if it can be called as worker(comm), or raise TypeError that says why not."""
    if not callable(worker):
        raise TypeError(f"worker must be a function that takes one argument, comm; got {worker!r}")
    for function in (worker, type(worker).__call__):
        if any(test(function) for test in _NEVER_RUN):
            raise TypeError(
                "worker must be a plain function; a generator (yield) or async function, when called, "
                f"does not run; got {worker!r}"
            )
    try:
        signature = inspect.signature(worker)
    except (TypeError, ValueError):
        return worker  # a builtin without a signature: calling it will tell
    try:
        signature.bind(object())
    except TypeError as error:
        name = getattr(worker, "__name__", repr(worker))
        raise TypeError(f"worker must take one argument, comm; {name}{signature} does not: {error}") from None
    return worker
