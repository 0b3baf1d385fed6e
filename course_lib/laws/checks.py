"""Domains of arguments: numbers or arrays; what lies outside, NaN included, is a ValueError with its name."""

import numpy as np


def share(name, value):
    return _checked(name, value, "between 0 and 1", lambda x: (x >= 0) & (x <= 1))


def positive(name, value, finite=True):
    return _checked(name, value, "above 0", lambda x: (x > 0) & (np.isfinite(x) | (not finite)))


def not_negative(name, value):
    return _checked(name, value, "at least 0 and finite", lambda x: (x >= 0) & np.isfinite(x))


def count(name, value, low=1):
    return _checked(name, value, f"a whole number of at least {low}", lambda x: (x >= low) & (x % 1 == 0))


def _checked(name, value, allowed, holds):
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


def _is_real(array):
    if array.dtype.kind == "O":  # fractions, whole numbers beyond 64 bits
        return not any(isinstance(item, bool | str | bytes | complex) for item in array.flat)
    return array.dtype.kind in "iuf"


def plain(result):
    """A float for scalars, an array otherwise."""
    return float(result) if np.ndim(result) == 0 else result
