"""The ways to run SGD, each simulated on the same quadratic, with the same draws and budget of gradients."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from course_lib import Link, simulate
from course_lib.sgd.local import local
from course_lib.sgd.outcome import Outcome, lanes_of
from course_lib.sgd.problem import quadratic
from course_lib.sgd.server import asynchronous, backup, stale_synchronous
from course_lib.sgd.synchronous import synchronous
from course_lib.sgd.times import ComputeTimes

WAYS = ("synchronous", "asynchronous", "stale_synchronous", "backup", "local")
SINGLE = ("asynchronous", "stale_synchronous")  # each update is one gradient; the others average
SERVED = (*SINGLE, "backup")  # a server on rank 0, the workers after it
CURVATURES = np.geomspace(1, 0.1, 240)  # so many that a ring can cut them into equal chunks
SPREADING = ("uniform", "lognormal")  # kinds of times that have a spread
# Fields of a Setting that not every way looks at, with those that do.
USERS = {"divided": SINGLE, "slack": ("stale_synchronous",), "extra": ("backup",), "period": ("local",)}


@dataclass(frozen=True)
class Setting:
    """What the ways are compared at. Times are in means of a gradient's time, and count as seconds.

    kind, spread: see ComputeTimes. slow: how many times longer the first worker takes. latency: of a message.
    transfer: of one whole gradient over a link. rate: of an averaged gradient. divided: whether a single
    gradient counts with rate / workers, else with rate. noise: standard deviation of a gradient at curvature
    1. slack, extra (on top of `workers`), period: of the ways that have them. gradients: for each way, as
    near as whole steps allow.
    """

    workers: int = 8
    kind: str = "exponential"
    spread: float = 0.5
    slow: float = 1.0
    latency: float = 0.0
    transfer: float = 0.0
    rate: float = 0.5
    divided: bool = True
    noise: float = 0.0
    slack: int = 2
    extra: int = 2
    period: int = 4
    seed: int = 1
    gradients: int = 200

    @property
    def steps(self):
        """Synchronous steps that use up the gradients."""
        return max(1, round(self.gradients / self.workers))

    @property
    def one_rate(self):
        """What a single gradient counts with."""
        return self.rate / self.workers if self.divided else self.rate

    @property
    def ideal(self):
        """Whether all workers are alike and messages take no time."""
        return self.slow == 1 and not self.latency and not self.transfer

    def matters(self, name, ways):
        """Whether the field `name` has any effect on one of `ways`."""
        at_work = name != "spread" or self.kind in SPREADING
        return at_work and bool(set(ways) & set(USERS.get(name, WAYS)))

    @property
    def link(self):
        return Link(self.latency, CURVATURES.nbytes / self.transfer if self.transfer else np.inf)


def outcome(way, setting):
    """The Outcome of one of WAYS; kept, so that to ask again, or to change what it does not use, is free."""
    plain = {field.name: field.default for field in fields(Setting)}
    unused = {name: value for name, value in plain.items() if not setting.matters(name, [way])}
    return _outcome(way, replace(setting, **unused))


@lru_cache(maxsize=64)
def _outcome(way, setting):
    problem, ranks = _problem(setting.noise), setting.workers
    ranks += setting.extra * (way == "backup") + (way in SERVED)
    run = simulate(_worker(way, setting, problem), ranks, link=setting.link)
    history, losses = run.values[0], run.values[0].losses(problem)
    lanes = lanes_of(run, int(way in SERVED), history.late)
    return Outcome(way, setting.workers, history, losses / losses[0], lanes)


@lru_cache(maxsize=8)
def _problem(noise):
    return quadratic(CURVATURES, noise=noise, samples=256)


def _worker(way, setting, problem):
    """The worker function of a way."""
    steps, rate, k = setting.steps, setting.rate, setting.workers
    times = ComputeTimes(setting.kind, spread=setting.spread, factors=(setting.slow,), seed=setting.seed)
    others = {"batch": 1, "times": times, "seed": setting.seed}
    if way == "synchronous":
        return synchronous(problem, steps, rate, **others)
    if way == "asynchronous":
        return asynchronous(problem, steps * k, setting.one_rate, **others)
    if way == "stale_synchronous":
        return stale_synchronous(problem, steps * k, setting.one_rate, setting.slack, **others)
    if way == "backup":
        return backup(problem, steps, rate, setting.extra, **others)
    return local(problem, max(1, round(steps / setting.period)), rate, setting.period, **others)
