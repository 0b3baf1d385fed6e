"""Gradient descent whose gradients are late, on a quadratic: what staleness alone does."""

import numpy as np

from course_lib.arguments import real_number, whole_number
from course_lib.sgd.history import may_diverge


def delayed_descent(rate, delays, steps, *, curvature=1.0, start=1.0):
    """theta after each step (steps + 1,), with gradient curvature * theta as it was `delay` steps ago.

    theta_(t+1) = theta_t - rate * curvature * theta_(t - delay_t); before the first step theta was `start`.
    delays: one whole number of at least 0, or one a step, (steps,). For a constant delay it converges below
    `laws.staleness_limit(delay)` = rate * curvature, and diverges above.
    """
    rate, curvature = real_number("rate", rate, inclusive=False), real_number("curvature", curvature)
    steps, start = whole_number("steps", steps, 1), real_number("start", start, -np.inf)
    delays = np.asarray(delays)
    if delays.dtype.kind not in "iu" or np.any(delays < 0) or delays.shape not in ((), (steps,)):
        raise ValueError(f"delays must be whole numbers of at least 0, one or {steps}; got {delays!r:.100}")
    delays = np.broadcast_to(delays, steps).tolist()  # of unsigned ones, differences would wrap around
    theta = np.full(steps + 1, start)
    with may_diverge():
        for step, delay in enumerate(delays):
            theta[step + 1] = theta[step] - rate * curvature * theta[max(0, step - delay)]
    return theta


def staleness_of(table):
    """The staleness of each update of an asynchronous class, from its table of seconds (steps, workers).

    Messages take no time. Updates after the first worker's last are left out, for others would follow.
    """
    ends = np.cumsum(table, axis=0)
    order = np.argsort(ends, axis=None, kind="stable")  # together: in the workers' order
    order = order[ends.ravel()[order] <= ends[-1].min()]
    read, staleness = np.zeros(ends.shape[1], int), np.empty(len(order), int)
    for version, worker in enumerate(order % ends.shape[1]):
        staleness[version], read[worker] = version - read[worker], version + 1
    return staleness


def largest_stable(delays, *, curvature=1.0, halvings=12):
    """For each row of delays (runs, steps), the largest rate for which theta, from 1, ends below 1; (runs,).

    `delayed_descent` of all rows at once, with a rate for each, and the interval [0, 2.2 / curvature] halved.
    """
    delays = np.atleast_2d(delays)
    past = np.maximum(0, np.arange(delays.shape[1]) - delays)
    low, high = np.zeros(len(delays)), np.full(len(delays), 2.2)
    for _ in range(halvings):
        middle = (low + high) / 2
        stable = _ends(middle, past) < 1
        low, high = np.where(stable, middle, low), np.where(stable, high, middle)
    return low / curvature


def _ends(rates, past):
    """The largest |theta| of the last 100 steps of each run, (runs,)."""
    runs, steps = past.shape
    theta, each = np.ones((steps + 1, runs)), np.arange(runs)
    with may_diverge():
        for step in range(steps):
            theta[step + 1] = theta[step] - rates * theta[past[:, step], each]
    last = np.abs(theta[-100:]).max(axis=0)
    return np.where(np.isnan(last), np.inf, last)
