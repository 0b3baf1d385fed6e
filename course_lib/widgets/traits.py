"""Traits that say, as a ValueError with the trait's name, what they allow."""

import math
from contextlib import suppress

from traitlets import TraitType


class Checked(TraitType):
    """A value that `clean` accepts: it returns the value to keep, or None if it is not allowed."""

    def __init__(self, default, allowed, clean):
        super().__init__(default)
        self.allowed, self._clean = allowed, clean
        self.tag(sync=True)

    def validate(self, widget, value):
        kept = self._clean(value)
        if kept is None:
            raise refusal(self.name, self.allowed, value)
        return kept


def refusal(name, allowed, value):
    """The error that all widgets raise for a bad value."""
    return ValueError(f"{name} must be {allowed}; got {value!r}")


def share(default):
    """A number between 0 and 1."""
    return _number(default, "between 0 and 1", lambda x: 0 <= x <= 1)


def positive_share(default):
    """A number above 0 and at most 1."""
    return _number(default, "above 0 and at most 1", lambda x: 0 < x <= 1)


def positive(default):
    """A finite number above 0."""
    return _number(default, "a finite number above 0", lambda x: 0 < x < math.inf)


def not_negative(default):
    """A finite number of at least 0."""
    return _number(default, "a finite number of at least 0", lambda x: 0 <= x < math.inf)


def between(default, low, high):
    """A number from low to high."""
    return _number(default, f"a number from {low:g} to {high:g}", lambda x: low <= x <= high)


def count(default, low, high):
    """A whole number from low to high."""

    def clean(value):
        number = as_number(value)
        return int(number) if number is not None and low <= number <= high and number % 1 == 0 else None

    return Checked(default, f"a whole number from {low:,} to {high:,}", clean)


def choice(default, allowed):
    """One of `allowed`."""

    def clean(value):
        same = (option for option in allowed if type(value) in (type(option), int) and value == option)
        return next(same, None)  # the browser sends 1 for 1.0

    return Checked(default, f"one of {', '.join(map(str, allowed))}", clean)


def some(default, allowed):
    """A list of one or more of `allowed`, in their order."""

    def clean(value):
        if not isinstance(value, list | tuple) or not value or any(each not in allowed for each in value):
            return None
        return [each for each in allowed if each in value]

    return Checked(list(default), f"a list of some of {', '.join(allowed)}", clean)


class Pins(Checked):
    """A list of at most `most` dicts of the widget's traits `names`: what a learner keeps to compare with."""

    def __init__(self, names, most=5):
        super().__init__([], f"a list of at most {most} dicts with good values for {', '.join(names)}", None)
        self._names, self._most = names, most

    def validate(self, widget, value):
        if isinstance(value, list | tuple) and len(value) <= self._most:
            with suppress(AttributeError, KeyError, ValueError):
                return [self._checked(widget, pin) for pin in value]
        raise refusal(self.name, self.allowed, value)

    def _checked(self, widget, pin):
        if pin.keys() != set(self._names):
            raise KeyError
        return {name: widget.traits()[name].validate(widget, pin[name]) for name in self._names}


def as_number(value):
    """`value` as a float, or None if it is no number; NaN is none."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _number(default, allowed, holds):
    def clean(value):
        number = as_number(value)
        return number if number is not None and holds(number) else None

    return Checked(default, allowed, clean)
