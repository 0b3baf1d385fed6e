"""Domains of arguments: numbers or arrays; what lies outside, NaN included, is a ValueError with its name."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.ArrayLike  # a number, or what NumPy makes an array of
Result: TypeAlias = (
    Any  # a float of numbers, an array of arrays: a distinction that type checkers do not follow
)


def share(name: str, value: Numbers) -> np.ndarray:
    return _checked(name, value, "between 0 and 1", lambda x: (x >= 0) & (x <= 1))


def positive(name: str, value: Numbers, finite: bool = True) -> np.ndarray:
    return _checked(name, value, "above 0", lambda x: (x > 0) & (np.isfinite(x) | (not finite)))


def not_negative(name: str, value: Numbers) -> np.ndarray:
    return _checked(name, value, "at least 0 and finite", lambda x: (x >= 0) & np.isfinite(x))


def count(name: str, value: Numbers, low: int = 1) -> np.ndarray:
    return _checked(name, value, f"a whole number of at least {low}", lambda x: (x >= low) & (x % 1 == 0))


def _checked(
    name: str, value: Numbers, allowed: str, holds: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """`value` as a float array if `holds` for all of it; NaN never does."""
    try:
        if not _is_real(np.asarray(value)):  # a string, True and 1j would be made a float
            raise TypeError
        array = np.asarray(value, dtype=float)
    except OverflowError:
        raise ValueError(f"{name} must be {allowed}; got a number too large for a float") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {allowed}; got {value!r}") from None
    with np.errstate(invalid="ignore"):
        good = holds(array)
    if not np.all(good):
        raise ValueError(f"{name} must be {allowed}; got {array[~good].flat[0]:g}")
    return array


def _is_real(array: np.ndarray) -> bool:
    if array.dtype.kind == "O":  # fractions, whole numbers beyond 64 bits
        return not any(isinstance(item, bool | str | bytes | complex) for item in array.flat)
    return array.dtype.kind in "iuf"


def plain(result: Any) -> Result:
    """A float for scalars, an array otherwise."""
    return float(result) if np.ndim(result) == 0 else result
