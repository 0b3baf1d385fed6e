"""Which learning rate goes with a batch, and with stale gradients."""

import numpy as np

from course_lib.laws.checks import Numbers, Result, count, plain, positive


def scaled_learning_rate(base_lr: Numbers, base_batch: Numbers, batch: Numbers) -> Result:
    """Linear scaling: base_lr * batch / base_batch (Goyal et al. 2017)."""
    return plain(positive("base_lr", base_lr) * count("batch", batch) / count("base_batch", base_batch))


def square_root_learning_rate(base_lr: Numbers, base_batch: Numbers, batch: Numbers) -> Result:
    """Square-root scaling: base_lr * sqrt(batch / base_batch).

    With SGD it keeps the noise of one step, with Adam and its kin all that a pass does, as long as noise
    dominates (Malladi et al. 2022). Their rule also moves Adam's betas: 1 - beta grows as the batch does,
    epsilon falls as its square root.
    """
    growth = count("batch", batch) / count("base_batch", base_batch)
    return plain(positive("base_lr", base_lr) * np.sqrt(growth))


def staleness_limit(tau: Numbers) -> Result:
    """The largest stable lr * curvature of gradient descent on a quadratic, each gradient tau updates old.

    2 sin(pi / (2 (2 tau + 1))): 2 for tau = 0. From the roots of z^(tau+1) = z^tau - lr * curvature.
    """
    return plain(2 * np.sin(np.pi / (2 * (2 * count("tau", tau, low=0) + 1))))
