"""What each worker does alone: take its next batch, compute for a while, return the gradient."""

from itertools import count

import numpy as np

from course_lib.arguments import real_number, whole_number
from course_lib.sgd.problem import Problem
from course_lib.sgd.times import ComputeTimes


def batch_sizes(samples, workers, batch=None):
    """A list of samples a step: `batch` for every worker, or one number each, or all samples dealt out."""
    if batch is None:
        return [len(part) for part in np.array_split(np.arange(samples), workers)]
    sizes = [batch] * workers if np.ndim(batch) == 0 else list(batch)
    if len(sizes) != workers:
        raise ValueError(f"batch must be one number, or one a worker, {workers}; got {len(sizes)}")
    return [whole_number("batch", size, 1, samples) for size in sizes]


def batches(samples, sizes, worker, seed=0):
    """Endless index arrays for `worker`: each step takes the next sum(sizes) of an epoch's permutation.

    Worker w gets sizes[w] of them, so the workers' batches together are one process's large batch. What is
    left over at an epoch's end is left out. ValueError if a step needs more samples than there are.
    """
    total, first = sum(sizes), sum(sizes[:worker])
    if total > samples or sizes[worker] < 1:
        raise ValueError(
            f"one step of {len(sizes)} workers takes {total} samples, at least 1 each; there are {samples}"
        )
    return _deal(samples, total, slice(first, first + sizes[worker]), seed)


def _deal(samples, total, mine, seed):
    for epoch in count():
        order = np.random.default_rng((seed, epoch)).permutation(samples)
        for step in range(samples // total):
            yield order[step * total :][mine]


class Work:
    """One worker's gradients, one after another; each takes its time on `comm`.

    weight: what its gradient counts in a mean over all workers, 1 where they take equal batches.
    """

    def __init__(self, comm, problem, worker, workers, batch, times, seed):
        sizes = batch_sizes(problem.samples, workers, batch)
        self.weight = sizes[worker] * workers / sum(sizes)
        self._comm, self._problem = comm, problem
        self._batches = batches(problem.samples, sizes, worker, seed)
        self._seconds = times.stream(worker) if times is not None else None

    def gradient(self, theta):
        """The mean gradient of the next batch at `theta`, (p,)."""
        if self._seconds is not None:
            self._comm.compute(next(self._seconds))
        return self._problem.gradient(theta, next(self._batches))


def checked(problem, rate, batch, times, seed, **counts):
    """(rate, times) of a run, all of it checked as far as it can be before the number of workers is known.

    counts: whole numbers of at least 1.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, such as quadratic(); got {problem!r}")
    if batch is not None:
        batch_sizes(problem.samples, np.size(batch), batch)
    whole_number("seed", seed, 0)
    for name, value in counts.items():
        whole_number(name, value, 1)
    if times is not None and not isinstance(times, ComputeTimes):
        times = ComputeTimes(mean=real_number("times", times))
    return real_number("rate", rate, inclusive=False), times
