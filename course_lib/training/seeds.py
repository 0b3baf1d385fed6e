"""Chapter 7's trainings over many seeds: what they are, and what data/trainings.json has recorded of them."""

import json
from dataclasses import dataclass
from functools import cache

import numpy as np

from course_lib import data
from course_lib.arguments import one_of
from course_lib.compression import Int8, Sign, TopK
from course_lib.training.digits import DigitsConfig
from course_lib.training.experiments import ADAM, LEARNED, SGD, WARMED_UP, Sweep, scaled, sweep

SEEDS = tuple(range(15))
BATCHES = (8, 16, 32, 64, 128)
ADAM_BATCHES = (32, 128, 256)
SWEEPS = {  # name: (configuration, batches, rule)
    "constant": (SGD, BATCHES, "constant"),
    "linear": (SGD, BATCHES[1:], "linear"),
    "square root": (SGD, BATCHES[1:], "square root"),
    "linear, warm-up": (WARMED_UP, BATCHES[1:], "linear"),
    "Adam, constant": (ADAM, (ADAM.batch, *ADAM_BATCHES), "constant"),
    "Adam, linear": (ADAM, ADAM_BATCHES, "linear"),
    "Adam, square root": (ADAM, ADAM_BATCHES, "square root"),
}
FACTOR = 2  # by which losses of the same run may differ on another processor: rounding grows in a training

CODES = {"int8": Int8(), "sign": Sign()}
CODES |= {f"top-k {100 * share:g} %": TopK(share) for share in (0.2, 0.01, 0.003)}
COMPRESSED = DigitsConfig(batch=16, lr=0.5, epochs=3)  # on four ranks
CODE_RATES = (0.5, 1, 2)
WHOLE = {  # optimiser of the whole gradient: learning rates
    "sgd": (0.25, 0.5, 0.7, 1),
    "momentum": (0.05, 0.1, 0.2),
    "adam": (0.01, 0.02, 0.04, 0.08),
}


@cache
def record():
    """data/trainings.json: "seeds", "machine", "date", "sweeps", "codes", "noise_scales"."""
    return json.loads(data.path("trainings.json").read_text(encoding="utf-8"))


def recorded_sweep(name):
    """One of SWEEPS as it was recorded, of all seeds."""
    config, batches, rule = SWEEPS[one_of("name", name, tuple(SWEEPS))]
    rates = np.array([scaled(config, batch, rule).lr for batch in batches])
    kept = record()["sweeps"][name]
    return Sweep(np.array(batches), rates, *(np.array(kept[key]) for key in ("losses", "accuracies")))


def as_recorded(name, seed=0):
    """Train one seed of one of SWEEPS here: does every run learn or fail as recorded, to a similar loss?"""
    config, batches, rule = SWEEPS[one_of("name", name, tuple(SWEEPS))]
    here = sweep(config, batches, rule, seeds=(seed,)).losses[:, 0]
    return bool(np.all(similar(here, recorded_sweep(name).losses[:, SEEDS.index(seed)])))


def similar(losses, others):
    """For each pair: has neither run learned, or have both, with losses that agree to FACTOR?"""
    losses, others = np.asarray(losses, dtype=float), np.asarray(others, dtype=float)
    learned, other_learned = losses < LEARNED, others < LEARNED
    near = (losses < FACTOR * others) & (others < FACTOR * losses)
    return (learned == other_learned) & (near | ~learned)


@dataclass(frozen=True)
class Trained:
    """A code's runs at one learning rate, of all seeds. feedback: None for a whole gradient's optimiser."""

    name: str
    feedback: bool | None
    lr: float
    losses: tuple
    accuracies: tuple

    @property
    def loss(self):
        """The median."""
        return float(np.median(self.losses))

    def below(self, other):
        """In how many seeds this ends lower than `other`."""
        return int(np.sum(np.less(self.losses, other.losses)))


@dataclass(frozen=True, repr=False)
class AtBest:
    """Each code at the learning rate that is best for it; shows as a table."""

    rows: tuple

    def of(self, name, feedback=None):
        """The row of that name."""
        return next(row for row in self.rows if (row.name, row.feedback) == (name, feedback))

    def __repr__(self):
        head = f"{'':12} feedback     η  median loss (range)    accuracy"
        return "\n".join([head, *map(_line, self.rows)])


def _line(row):
    low, high, accuracy = min(row.losses), max(row.losses), np.median(row.accuracies)
    feedback = {None: "", True: "yes", False: "no"}[row.feedback]
    return f"{row.name:12} {feedback:8} {row.lr:5g}  {row.loss:.3f} ({low:.3f} … {high:.3f})  {accuracy:8.0%}"


def trained(name, feedback=None):
    """The Trained rows of a code, or of an optimiser with the whole gradient: one a learning rate."""
    return [row for row in _rows() if (row.name, row.feedback) == (name, feedback)]


def at_best():
    """AtBest of all codes, and of the whole gradient with each optimiser."""
    names = dict.fromkeys((row.name, row.feedback) for row in _rows())
    return AtBest(tuple(min(trained(*name), key=lambda row: row.loss) for name in names))


@cache
def _rows():
    found = (row for name in (*WHOLE, *CODES) for row in record()["codes"][name])
    lists = ("losses", "accuracies")
    return tuple(Trained(**{**row, **{key: tuple(row[key]) for key in lists}}) for row in found)


def codes_as_recorded(ends):
    """Do the runs of EveryCode, {(name, feedback): (bytes, loss, accuracy)} of seed 0, end as recorded?"""
    found, kept = [], []
    for (name, feedback), (_, loss, _) in ends.items():
        rows = trained("sgd") if name == "float32" else trained(name, feedback)
        rows = [row for row in rows if row.lr == COMPRESSED.lr]
        found += [loss] * len(rows)
        kept += [row.losses[0] for row in rows]
    return bool(np.all(similar(found, kept)))


def recorded_noise_scales():
    """(seeds, looks): tr Σ / |G|² over all training data, before the first of four passes and after each."""
    return np.array(record()["noise_scales"])
