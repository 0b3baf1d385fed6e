"""Checker of chapter 7: the learning rate for eight times the batch, tried in real training."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from course_lib.arguments import real_number
from course_lib.digits import load_digits
from course_lib.exercises.credit import exercise
from course_lib.exercises.limits import StillRunning, limited
from course_lib.exercises.report import checked, expect, not_attempted
from course_lib.labels import label
from course_lib.training import digits_worker, train_each
from course_lib.training.experiments import GUESSING, SGD, scaled
from course_lib.training.seeds import recorded_sweep

GROWTH = 8
LARGE = scaled(SGD, GROWTH * SGD.batch)
SEEDS, BASE_SEEDS = range(15), range(2)
# Times the small batch's loss, medians of 15 seeds: the old rate ends at 10 times, the square root at 4.1,
# constants at 3.3 or more, linear scaling with a warm-up at 2.3 to 3.0.
TOLERANCE = 3.1
RISES = 1.05  # by this factor a rate rises that has a warm-up
HIGHEST = 1.4  # times what linear scaling gives; beyond, no warm-up helps


@exercise("7.1")
def check_scaled_rate(rate):
    """Exercise: `rate`, a number or rate(epoch) → number, for a batch of 64 instead of 8 (η = 0.2).

    epoch is a float from 0 to 10. Digits are trained for each of SEEDS, 10 passes, over the last 3 of which
    the run itself lets the rate fall to 0; the median loss must be within TOLERANCE times the small batch's.
    """
    passed = label("ch7_rate_passed", epochs=SGD.epochs, times=TOLERANCE, base=SGD.batch)
    return checked(lambda: _try(rate), passed)


@dataclass(frozen=True)
class Table:
    """rate(epoch) by looking it up: what the learner's function said, a number for each update."""

    rates: tuple

    def __call__(self, epoch):
        step = round(epoch * len(self.rates) / LARGE.epochs)
        return self.rates[min(step, len(self.rates) - 1)]


def _try(rate):
    case, rates = label("ch7_rate_case", batch=LARGE.batch), _rates(rate)
    expect(max(rates) > 0, case, label("ch7_rate_zero"))
    jobs = [digits_worker(replace(LARGE, seed=seed), rate=Table(rates)) for seed in SEEDS]
    ends = train_each(jobs)
    loss = float(np.median([end.training_loss for end in ends]))
    goal, by_epoch = _small_batch()
    if not loss < GUESSING / 2:
        why = _why_diverged(rates)
        expect(False, case, label("ch7_rate_diverged", loss=loss, guessing=GUESSING, why=why))
    if loss > TOLERANCE * goal:
        words = {"base": SGD.batch, "epochs": SGD.epochs, "why": _why_slow(rates), "goal": goal}
        last = float(np.median([np.mean(end.losses[-len(rates) // LARGE.epochs :]) for end in ends]))
        passes = int(np.argmax(np.append(by_epoch, 0) <= last)) + 1
        expect(False, case, label("ch7_rate_slow", loss=loss, passes=min(passes, SGD.epochs), **words))
    expect(max(rates) > RISES * rates[0], case, label("ch7_rate_no_warmup", first=rates[0]))


@cache
def _small_batch():
    """(loss in the end, as recorded, and mean loss of each epoch) of the small batch at its own rate."""
    ends = train_each([digits_worker(replace(SGD, seed=seed)) for seed in BASE_SEEDS])
    by_epoch = [np.reshape(end.losses, (SGD.epochs, -1)).mean(axis=1) for end in ends]
    return float(np.median(recorded_sweep("constant").losses[0])), np.median(by_epoch, axis=0)


def _rates(rate):
    """The learning rate of each update, as floats; ends the check for anything else."""
    if rate is None or rate is Ellipsis:
        not_attempted()
    case, per_epoch = label("ch7_rate_case", batch=LARGE.batch), _updates()
    number = not callable(rate)
    try:
        with limited():
            said = [rate if number else rate(step / per_epoch) for step in range(per_epoch * LARGE.epochs)]
    except NotImplementedError:
        not_attempted()
    except StillRunning as error:
        expect(False, case, label("still_running", limit=error))
    except Exception as error:
        expect(False, case, f"{type(error).__name__}: {error}")
    if all(value is None or value is Ellipsis for value in said):
        not_attempted()
    for step, value in enumerate(said):
        try:
            said[step] = real_number("rate", value)
        except TypeError:
            expect(False, case, label("ch7_rate_kind", kind=type(value).__name__))
        except ValueError:
            expect(False, case, label("ch7_rate_bad", epoch=step / per_epoch, value=value))
    return tuple(said)


def _updates():
    """Of an epoch, with the large batch."""
    return LARGE.steps_per_epoch(len(load_digits()[0]))


def _why_diverged(rates):
    top, first = max(rates), rates[0]
    if top > HIGHEST * LARGE.lr:
        return label("ch7_rate_too_large", top=top, times=top / SGD.lr, growth=GROWTH)
    if first > top / 2:
        return label("ch7_rate_no_warmup", first=first)
    if _is_late(rates):
        return label("ch7_rate_late", top=top)
    return label("ch7_rate_short_warmup", top=top, epoch=int(np.argmax(rates)) / _updates())


def _why_slow(rates):
    top = max(rates)
    words = {"growth": GROWTH, "times": top / SGD.lr, "top": top}
    if top <= 1.01 * SGD.lr:
        return label("ch7_rate_old", **words)
    if top < LARGE.lr / 2:
        return label("ch7_rate_low", **words)
    if rates[0] > top / 2:
        return label("ch7_rate_no_warmup", first=rates[0])
    return label("ch7_rate_late" if _is_late(rates) else "ch7_rate_rough", **words)


def _is_late(rates):
    """True if the rate is high for less than 3 of the passes before the run lets it fall."""
    before = np.array(rates[: -round(LARGE.decay_epochs * _updates())])
    return np.sum(before >= max(rates) / 2) < 3 * _updates()
