"""How well a learner predicts: choices that were right, and by which factor numbers were off."""

import math
from dataclasses import dataclass

import numpy as np

from course_lib import progress
from course_lib.arguments import real_number, whole_number
from course_lib.labels import label
from course_lib.predict import ratio
from course_lib.progress import WITHIN, Guess


@dataclass(frozen=True, repr=False)
class Calibration:
    """choices: {key: was it right?}. factors: {key: the larger by the smaller of guess and measured}."""

    choices: dict
    factors: dict

    @property
    def middle(self):
        """The factor that half of the numbers are within; NaN without any."""
        return float(np.median(list(self.factors.values()))) if self.factors else math.nan

    def within(self, factor):
        """The share of numbers that are off by at most `factor`; NaN without any."""
        factors = list(self.factors.values())
        return sum(each <= factor for each in factors) / len(factors) if factors else math.nan

    def __repr__(self):
        if not self.choices and not self.factors:
            return label("ch12_no_predictions")
        lines = []
        if self.choices:
            lines.append(label("ch12_choices", right=sum(self.choices.values()), count=len(self.choices)))
        if count := len(self.factors):
            right = sum(factor <= WITHIN for factor in self.factors.values())
            lines.append(label("ch12_numbers", right=right, count=count, middle=self.middle))
        return "\n".join(lines)


def calibration(guesses=None):
    """The Calibration of `guesses`, progress.Guess or alike; None: all that a learner has made.

    A guess without a measurement is left out, and so is a number that has no factor, such as one below 0.
    """
    choices, factors = {}, {}
    for each in progress.guesses().values() if guesses is None else guesses:
        if each.guess is None or each.measured is None:
            continue
        if isinstance(each.measured, str) and isinstance(each.guess, str):
            choices[each.key] = each.guess == each.measured
        elif (factor := ratio(each.guess, each.measured)) and math.isfinite(factor):
            factors[each.key] = factor
    return Calibration(choices, factors)


def simulated_learner(count, typical, seed):
    """`count` log-normal guesses of numbers, half of them within the factor `typical`, more or less."""
    count = whole_number("count", count, 0)
    off = np.random.default_rng(seed).normal(0, spread(typical), count)
    return [Guess(str(number), float(math.exp(value)), 1.0) for number, value in enumerate(off)]


def share_within(factor, typical):
    """The law of `simulated_learner`: the share of guesses that are off by at most `factor`."""
    limits = np.log(np.asarray(factor, dtype=float)) / (spread(typical) * math.sqrt(2))
    return np.vectorize(math.erf, otypes=[float])(limits)


def spread(typical):
    """The standard deviation of the logarithm, such that half of the guesses are within `typical`."""
    typical = real_number("typical", typical, 1, inclusive=False)
    return math.log(typical) / 0.6744897501960817  # the upper quartile of a normal distribution
