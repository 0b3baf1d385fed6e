"""Sweeps over the batch at equal epochs: how should the learning rate follow?"""

import math
from dataclasses import dataclass, replace

import numpy as np

from course_lib import laws
from course_lib.arguments import one_of
from course_lib.digits import CLASSES
from course_lib.training.digits import DigitsConfig, digits_worker
from course_lib.training.sweep import train_each

RULES = {
    "constant": lambda base_lr, base_batch, batch: base_lr,
    "square root": laws.square_root_learning_rate,
    "linear": laws.scaled_learning_rate,
}
SGD = DigitsConfig(batch=8, lr=0.2, decay_epochs=3)
WARMED_UP = replace(SGD, warmup_epochs=3)
ADAM = DigitsConfig(batch=8, lr=0.008, optimizer="adam", decay_epochs=3)
GUESSING = math.log(CLASSES)  # loss of a network that gives every class the same chance
LEARNED = 1.0  # a run that ends below has learned something, in nats

_trained = {}  # worker -> its result


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Runs over batches and seeds, at equal epochs; shows as a table.

    batches, rates: (B,). losses, in the end on all training data, and accuracies, held out: (B, seeds).
    """

    batches: np.ndarray
    rates: np.ndarray
    losses: np.ndarray
    accuracies: np.ndarray

    @property
    def failed(self):
        """(B, seeds): True where a run ends no better than one that guesses, or at NaN."""
        return ~(self.losses < GUESSING)

    @property
    def learned(self):
        """(B, seeds): True where a run ends well below the loss of guessing."""
        return self.losses < LEARNED

    def below(self, other):
        """(B,): how many seeds end lower than in `other`, a Sweep over the same batches."""
        return np.sum(self.losses < other.losses, axis=1)

    def __repr__(self):
        rows = zip(self.batches, self.rates, self.losses, self.learned, strict=True)
        head = f"{'batch':>5} {'η':>7}   median loss (range)     learned"
        return "\n".join([head, *(_row(*row) for row in rows)])


def _row(batch, rate, losses, learned):
    spread = f"{np.median(losses):.3f} ({losses.min():.3f} … {losses.max():.3f})"
    return f"{batch:5} {rate:7.3g}   {spread:22}  {learned.sum()} of {learned.size}"


def scaled(config, batch, rule="linear"):
    """`config` at another batch, its learning rate scaled by one of RULES."""
    lr = RULES[one_of("rule", rule, tuple(RULES))](config.lr, config.batch, batch)
    return replace(config, batch=batch, lr=lr)


def sweep(config, batches, rule="linear", seeds=(0, 1, 2), ranks=2):
    """Train digits with `config` scaled to each batch by `rule`, for each seed; returns a Sweep.

    A run gives the same result each time, so what this process has had trained is not trained again.
    """
    configs = [scaled(config, batch, rule) for batch in batches]
    workers = [digits_worker(replace(each, seed=seed)) for each in configs for seed in seeds]
    missing = [worker for worker in workers if worker not in _trained]
    _trained.update(zip(missing, train_each(missing, ranks), strict=True))
    results = [_trained[worker] for worker in workers]
    shape = len(configs), len(seeds)
    return Sweep(
        np.array([each.batch for each in configs]),
        np.array([each.lr for each in configs]),
        np.array([result.training_loss for result in results]).reshape(shape),
        np.array([result.accuracy for result in results]).reshape(shape),
    )
