"""Chapter 7: the checker of the learning rate accepts what trains and says what is wrong with the rest."""

import math
from fractions import Fraction

import numpy as np
from attempts import accepts, an_ellipsis, left_empty, rejects, untouched, waits_for

from course_lib.exercises.chapter7_rates import check_scaled_rate


def warm(top, over):
    return lambda epoch: top * min(1, (epoch + 0.05) / over)


def endless(epoch):
    while True:
        epoch += 1


test_an_untouched_stub_is_not_a_failure = waits_for(
    check_scaled_rate, stubs=[None, ..., untouched, left_empty, an_ellipsis]
)


def from_the_old_one(epoch):
    """As Goyal et al. do: from the small batch's rate up to the scaled one."""
    if epoch < 3:
        return 0.2 + (1.6 - 0.2) * epoch / 3
    return 1.6


test_a_rate_that_trains_passes = accepts(
    check_scaled_rate,
    warm(1.6, 3),
    from_the_old_one,
    lambda epoch: np.interp(epoch, [0, 3], [0.01, 1.4]),  # a NumPy number
    lambda epoch: [0.02 + 1.58 * min(1, step / 72) for step in range(241)][round(24 * epoch)],
    lambda epoch: 1.5 * (1 - math.exp(-epoch)) if epoch else Fraction(1, 100),
)

# Each is an answer of somebody in a hurry, and trains; the goal asks for the rule and for the warm-up.
test_shortcuts_are_refused = rejects(
    check_scaled_rate,
    *((constant, "of 10 passes") for constant in (0.2, 0.5, 0.2 * math.sqrt(8), 0.8)),
    (1.0, "the loss is steepest at the start"),
    (0.2 / 8, "the old rate makes none of them longer"),
    (warm(0.2 * math.sqrt(8), 3), "the longest here is 2.83 times"),
    (warm(0.2, 3), "the old rate makes none of them longer"),
    (lambda epoch: 1.6 if epoch >= 1 else 0.2, "too steep for it"),  # no line, a step
    (warm(1.6 * 8, 3), "64 times the small batch's"),  # scaled twice
)

test_what_is_no_rate_is_told_at_once = rejects(
    check_scaled_rate,
    ("1.6", "a number, or a function of the epoch that returns one; got str"),
    (lambda epoch: 1j, "got complex"),
    (lambda epoch: True, "got bool"),
    (float("nan"), "at epoch 0 the rate is nan"),
    (lambda epoch: 1 - epoch, "at epoch 1.04167 the rate is -0.04"),
    (0, "nothing can be learned"),
    (lambda: 1.6, "TypeError"),
    (endless, "does the loop end?"),
)

test_a_rate_that_does_not_train_is_explained = rejects(
    check_scaled_rate,
    (0.2, "the old rate makes none of them longer"),
    (0.3, "the longest here is 1.5 times the old one"),
    (1.6, "It begins with 1.6, and the loss is steepest at the start"),
    (12.8, "goes up to 12.8, 64 times the small batch's"),
    (warm(1.6, 1), "more slowly|longer to raise it"),
    (lambda epoch: 1.6 if epoch > 7 else 0.01, "for too few of the passes"),
)
