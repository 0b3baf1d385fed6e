"""A learner's guess before the reveal, held against what came out."""

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

from course_lib.labels import label


@dataclass(frozen=True, repr=False)
class Comparison:
    """The prediction `key`; guess: None, a number or a choice; measured: what came out. Shows all three.

    computed: `measured` is no measurement, but comes out of a formula or of the simulator.
    """

    key: str
    guess: object
    measured: object
    computed: bool = False

    def __repr__(self):
        # JupyterLab shows the first line of a folded output: there the answer must not stand.
        return f"{label('compared', key=self.key)}\n{self._verdict()}"

    def _verdict(self):
        measured, key = _short(self.measured), "_computed" if self.computed else ""
        if isinstance(self.measured, str):
            return label("no_choice" if self.guess is None else "choice", guess=self.guess, measured=measured)
        if self.guess is None:
            return label(f"no_guess{key}", measured=measured)
        factor = ratio(self.guess, self.measured)
        if factor and factor >= 1.05:  # else it would say "a factor of 1"
            return label(f"guess_ratio{key}", guess=_short(self.guess), measured=measured, ratio=factor)
        return label(f"guess{key}", guess=_short(self.guess), measured=measured)


def predict(key, choices=None, unit=""):
    """A question to the learner: show it in a cell, and begin a later one with .compare(measured).

    key: unique in the course, such as "3.2". choices: the letters to choose from, such as "abc"; None asks
    for a number, with `unit`. Without a guess (Run All, CI) everything still runs.
    """
    from course_lib.widgets.prediction import Prediction  # here, for `compare` needs no widgets

    return Prediction(key, choices, unit)


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _positive(value):
    return _is_number(value) and value > 0


def ratio(one, other):
    """The larger by the smaller of two positive numbers; None for anything else, and beyond floats."""
    if not (_positive(one) and _positive(other)):
        return None
    try:
        return max(float(one) / float(other), float(other) / float(one))
    except (OverflowError, ZeroDivisionError):
        return None


def _short(value):
    if not _is_number(value):
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        return f"{Decimal(int(value)):.4g}"
    return str(value) if isinstance(value, int) else f"{number:.4g}"
