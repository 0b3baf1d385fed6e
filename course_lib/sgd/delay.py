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
