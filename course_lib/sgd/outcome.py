"""What one way to run SGD came to: its losses by any count, who computed when, and when it got there."""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from course_lib.sgd.history import History

AXES = ("updates", "gradients", "seconds")  # what progress can be counted in


@dataclass(frozen=True, eq=False)
class Outcome:
    """One run. workers: K, those whose gradients make a step; backup workers come on top.

    losses (n + 1,): as a share of the loss at the start. lanes: for each worker the (start, stop, late) of
    each gradient that it computed, in seconds; late: whether it came too late to count.
    """

    way: str
    workers: int
    history: History
    losses: np.ndarray
    lanes: tuple

    @property
    def seconds(self):
        """When the last update was made."""
        return float(self.history.seconds[-1])

    @property
    def round_seconds(self):
        """Seconds for as many gradients as there are workers: for synchronous SGD, of a step."""
        return self.seconds * self.workers / float(self.history.gradients[-1])

    @property
    def waiting(self):
        """Share of all workers' time until the last update in which they did not compute."""
        end, bars = self.seconds, [bar for lane in self.lanes for bar in lane]
        busy = sum(max(0.0, min(stop, end) - start) for start, stop, _ in bars)
        return round(max(0.0, 1 - busy / (len(self.lanes) * end)), 9)  # no leftovers of rounding

    @property
    def grew(self):
        """Whether the loss ends above its start."""
        return not self.losses[-1] <= 1

    def along(self, axis):
        """Where each of `losses` stands on one of AXES, (n + 1,)."""
        if axis == "updates":
            return np.arange(len(self.losses))
        return np.concatenate([[0], getattr(self.history, axis)])

    def seconds_of(self, rounds):
        """When `rounds` gradients a worker had been put to use, or the last ones there are."""
        used = np.searchsorted(self.history.gradients, rounds * self.workers)
        return float(self.history.seconds[min(used, len(self.history) - 1)])

    def reached(self, target):
        """How many updates until the loss is at `target` or below for good; None if it never is."""
        above = np.flatnonzero(self.losses > target)
        updates = int(above[-1]) + 1 if len(above) else 0
        return updates if updates < len(self.losses) else None

    def seconds_to(self, target):
        """When `reached` happens; None if it never does."""
        updates = self.reached(target)
        return None if updates is None else float(self.along("seconds")[updates])


def lanes_of(run, first, late):
    """Outcome.lanes of a Run whose first worker is rank `first`; late: see History."""
    lanes = [[] for _ in run.values[first:]]
    for rank, start, stop in run.trace.computing():
        lanes[rank - first].append([start, stop, False])
    for seconds, source in late:  # it was the last that its worker had finished by then
        lane = lanes[source - first]
        lane[bisect_right(lane, seconds, key=lambda bar: bar[1]) - 1][2] = True
    return tuple(tuple(tuple(bar) for bar in lane) for lane in lanes)
