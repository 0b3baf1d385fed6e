"""A guess beside what was measured."""

from fractions import Fraction

import pytest

from course_lib.predict import Comparison


@pytest.mark.parametrize(
    ("guess", "measured", "text"),
    [
        (None, 69, "You made no guess. Measured: 69"),
        (50, 100, "Your guess: 50. Measured: 100. You were off by a factor of 2"),
        (100.0, 50, "Your guess: 100. Measured: 50. You were off by a factor of 2"),
        (0, 3, "Your guess: 0. Measured: 3"),
        (-1.5, 3, "Your guess: -1.5. Measured: 3"),
        ("a", "b", "Your guess: a. The answer is b."),
        (None, "b", "You made no guess. The answer is b."),
        ("many", 3, "Your guess: many. Measured: 3"),
        (None, 1.96044583, "You made no guess. Measured: 1.96"),
        (1.8, 1.81, "Your guess: 1.8. Measured: 1.81"),
        (Fraction(1, 3), 1, "Your guess: 0.3333. Measured: 1. You were off by a factor of 3"),
        (Fraction(1, 10**400), 1, "Your guess: 0. Measured: 1"),
        (10**400, 1, "Your guess: 1.000e+400. Measured: 1"),
        pytest.param(10**5000, 1, "Your guess: 1.000e+5000. Measured: 1", id="5001 digits"),
    ],
)
def test_compare(guess, measured, text):
    assert repr(Comparison("5.3", guess, measured)).splitlines() == ["Prediction 5.3, compared:", text]


@pytest.mark.parametrize(
    ("guess", "measured", "text"),
    [
        (None, 1.3125, "You made no guess. It comes out as 1.312"),
        (50, 100, "Your guess: 50. It comes out as 100. You were off by a factor of 2"),
        (0, 3, "Your guess: 0. It comes out as 3"),
        ("a", "b", "Your guess: a. The answer is b."),
    ],
)
def test_what_was_computed_is_not_called_measured(guess, measured, text):
    assert repr(Comparison("5.3", guess, measured, computed=True)).splitlines()[1:] == [text]
