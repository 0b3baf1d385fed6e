"""What a training run did, update by update, whoever made the updates."""

from dataclasses import dataclass

import numpy as np

from course_lib.arguments import real_number

ALL = -1  # the source of an update that every worker had a part in


@dataclass(frozen=True)
class Reached:
    """What it took to get somewhere: updates, gradients put to use, seconds since the common start."""

    updates: int
    gradients: int
    seconds: float


@dataclass(frozen=True, eq=False)
class History:
    """One row an update, in the order in which they were applied.

    seconds (n,): when, since the common start. sources (n,): the worker's rank, or ALL.
    staleness (n,): updates applied between the reading of the parameters and this one.
    gradients (n,): gradients that had been put to use by then.
    parameters (n + 1, p): before the first update, and after each.
    late: (seconds, source) of each gradient that came too late to count.
    """

    seconds: np.ndarray
    sources: np.ndarray
    staleness: np.ndarray
    gradients: np.ndarray
    parameters: np.ndarray
    late: tuple = ()

    def __len__(self):
        return len(self.seconds)

    def __repr__(self):
        return f"History({len(self)} updates, {self.gradients[-1]} gradients, {self.dropped} dropped)"

    @property
    def dropped(self):
        """How many gradients came too late to count."""
        return len(self.late)

    @property
    def theta(self):
        """The parameters at the end, (p,)."""
        return self.parameters[-1]

    def losses(self, problem):
        """The loss over all samples before the first update and after each, (n + 1,); inf if it overflows."""
        with may_diverge():
            losses = np.array([problem.loss(theta) for theta in self.parameters])
        return np.where(np.isnan(losses), np.inf, losses)

    def round_seconds(self, workers):
        """Seconds for as many gradients as there are `workers`, over the second half of the run."""
        half = len(self) // 2 - 1
        gradients = int(self.gradients[-1] - self.gradients[half])
        return workers * float(self.seconds[-1] - self.seconds[half]) / gradients

    def leads(self, workers):
        """(n,): how many steps the first worker has finished more than the slowest, after each update.

        For ways in which an update is one gradient of one of the ranks 1 to `workers`.
        """
        done = np.cumsum(self.sources[:, None] == np.arange(1, workers + 1), axis=0)
        return done.max(axis=1) - done.min(axis=1)

    def reached(self, problem, below):
        """A Reached: what it took until the loss was under `below` for good; None if it never was."""
        below = real_number("below", below, -np.inf, finite=False)
        above = np.flatnonzero(self.losses(problem) >= below)
        updates = int(above[-1]) + 1 if len(above) else 0
        if updates > len(self):
            return None
        if not updates:
            return Reached(0, 0, 0.0)
        return Reached(updates, int(self.gradients[updates - 1]), float(self.seconds[updates - 1]))


def may_diverge():
    """Around a run: numbers that overflow are a result, not a reason to warn."""
    return np.errstate(over="ignore", invalid="ignore")


class Log:
    """Gathers the rows of a History while the run is on."""

    def __init__(self, start):
        self.parameters = [start]
        self.rows = []
        self.late = []

    @property
    def version(self):
        """How many updates there have been."""
        return len(self.rows)

    @property
    def theta(self):
        return self.parameters[-1]

    def update(self, theta, seconds, source=ALL, staleness=0, gradients=1):
        """Record the parameters after one more update."""
        self.parameters.append(theta)
        self.rows.append((seconds, source, staleness, gradients))

    def history(self):
        """All of it, read-only."""
        seconds, sources, staleness, gradients = np.array(self.rows).T
        arrays = (seconds, sources.astype(int), staleness.astype(int), np.cumsum(gradients, dtype=int))
        parameters = np.array(self.parameters)
        for array in (*arrays, parameters):
            array.setflags(write=False)
        return History(*arrays, parameters, tuple(self.late))


def merged(histories):
    """One History of what several ranks did on shared parameters, in order of time."""
    order = np.argsort(np.concatenate([each.seconds for each in histories]), kind="stable")

    def join(name):
        return np.concatenate([getattr(each, name) for each in histories])[order]

    after = np.concatenate([each.parameters[1:] for each in histories])[order]
    return History(
        join("seconds"),
        join("sources"),
        join("staleness"),
        np.arange(1, len(order) + 1),
        np.concatenate([histories[0].parameters[:1], after]),
    )
