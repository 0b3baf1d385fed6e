"""How long one gradient takes: seeded draws that the same worker gets in both worlds, and in plain NumPy."""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from course_lib.arguments import one_of, real_number, whole_number

BLOCK = 64  # draws at a time


def _constant(rng, spread, size):
    return np.ones(size)


def _uniform(rng, spread, size):
    return rng.uniform(1 - spread, 1 + spread, size)


def _exponential(rng, spread, size):
    return rng.exponential(size=size)


def _lognormal(rng, spread, size):
    return np.exp(spread * rng.normal(size=size) - spread**2 / 2)


_DRAWS = {
    "constant": _constant,
    "uniform": _uniform,
    "exponential": _exponential,
    "lognormal": _lognormal,
}
KINDS = tuple(_DRAWS)


@dataclass(frozen=True)
class ComputeTimes:
    """Seconds of each gradient of each worker, in draws of mean `mean` (seconds).

    kind: one of KINDS. spread: half-width of "uniform" as a share of the mean (at most 1), sigma of
    "lognormal"; the others have none. factors: how many times longer each worker takes, the first worker's
    first; those not listed 1. Every worker has a stream of its own of `seed`.
    """

    kind: str = "constant"
    mean: float = 1.0
    spread: float = 0.5
    factors: tuple = ()
    seed: int = 0

    def __post_init__(self):
        one_of("kind", self.kind, KINDS)
        real_number("mean", self.mean)
        if real_number("spread", self.spread) > 1 and self.kind == "uniform":
            raise ValueError(
                f"spread of uniform times must be at most 1, or some are negative; got {self.spread}"
            )
        if np.ndim(self.factors) != 1:
            raise TypeError(f"factors must hold a number for each worker; got {self.factors!r}")
        factors = tuple(real_number("factors", factor, inclusive=False) for factor in self.factors)
        object.__setattr__(self, "factors", factors)  # a list could not be hashed
        whole_number("seed", self.seed, 0)

    def stream(self, worker):
        """Endless seconds, those of `worker` (from 0)."""
        whole_number("worker", worker, 0)
        rng = np.random.default_rng((self.seed, worker))
        factor = self.factors[worker] if worker < len(self.factors) else 1.0
        return self._draws(rng, self.mean * factor)

    def table(self, steps, workers):
        """The same draws as an array (steps, workers)."""
        steps, workers = whole_number("steps", steps, 1), whole_number("workers", workers, 1)
        return np.array([list(islice(self.stream(worker), steps)) for worker in range(workers)]).T

    def _draws(self, rng, scale):
        draw = _DRAWS[self.kind]
        while True:
            yield from (scale * draw(rng, self.spread, BLOCK)).tolist()


def step_seconds(table, extra=0):
    """Seconds of each synchronous step (steps,) for a table of times (steps, workers).

    The barrier waits for the slowest; with `extra` backup workers, for all but the `extra` slowest
    (Chen et al. 2016), and every worker begins the next step afresh.
    """
    table = np.asarray(table, dtype=float)
    if table.ndim != 2 or table.size == 0 or not np.all(table >= 0):
        raise ValueError(f"table must be (steps, workers) of numbers of at least 0; got shape {table.shape}")
    counted = table.shape[1] - whole_number("extra", extra, 0, table.shape[1] - 1)
    return np.partition(table, counted - 1, axis=1)[:, counted - 1]
