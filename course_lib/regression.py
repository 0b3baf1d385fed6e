"""Linear regression by synchronous SGD: the article's demo, in NumPy, for any number of workers."""

from dataclasses import dataclass

import numpy as np

from course_lib.arguments import real_number, whole_number

TRUE_WEIGHTS = (2.0, -1.0, 0.5, 3.0)


@dataclass(frozen=True, eq=False)
class Training:
    """What a training run ended with: weights (features,), and the loss on all data after each epoch."""

    w: np.ndarray
    losses: tuple


def make_regression(samples=128, noise=0.1, seed=42):
    """X (samples, 4) of standard normal numbers and y = X w + noise * normal, w = TRUE_WEIGHTS."""
    samples = whole_number("samples", samples, 1)
    noise = real_number("noise", noise)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, len(TRUE_WEIGHTS)))
    return X, X @ np.array(TRUE_WEIGHTS) + noise * rng.normal(size=samples)


def loss(w, X, y):
    """Half the mean squared error."""
    return float(np.mean((X @ w - y) ** 2) / 2)


def gradient(w, X, y):
    """Gradient of `loss` with respect to w, shape (features,)."""
    return X.T @ (X @ w - y) / len(y)


def shards(samples, workers):
    """One slice a worker; equal parts, and the last worker takes what is left over, as in the article."""
    workers = whole_number("workers", workers, 1, whole_number("samples", samples, 1))
    part = samples // workers
    return [slice(k * part, samples if k == workers - 1 else (k + 1) * part) for k in range(workers)]


def sync_sgd(X, y, workers=4, epochs=6, lr=0.1, *, weighted=True):
    """Train from w = 0 by synchronous SGD, one full-batch step an epoch; returns a Training.

    Each worker's gradient is over its shard. weighted: a worker counts by its number of samples, so that
    the result does not depend on the number of workers; else the plain mean of means, as in the article.
    """
    X, y = check_data(X, y)
    parts = shards(len(y), workers)
    epochs, lr = whole_number("epochs", epochs, 1), real_number("lr", lr, inclusive=False)
    counts = [part.stop - part.start for part in parts] if weighted else [1] * len(parts)
    w, losses = np.zeros(X.shape[1]), []
    for _ in range(epochs):
        gradients = [gradient(w, X[part], y[part]) for part in parts]
        w = w - lr * np.average(gradients, axis=0, weights=counts)
        losses.append(loss(w, X, y))
    return Training(w, tuple(losses))


def first_step(losses, below):
    """The first step (from 1) whose loss is under `below`; ValueError if there is none."""
    if not len(losses):
        raise ValueError("losses must hold at least one number; got none")
    reached = np.flatnonzero(np.asarray(losses) < below)
    if not len(reached):
        raise ValueError(f"no loss is under {below:g}; the least is {np.min(losses):g}")
    return int(reached[0]) + 1


def check_data(X, y):
    """X and y as float arrays, or an error: X (samples, features), y (samples,), finite, not empty."""
    for name, data in (("X", X), ("y", y)):
        if isinstance(data, np.ma.MaskedArray):
            raise TypeError(f"{name} is a masked array, whose mask would be lost: leave out what is masked")
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or y.ndim != 1:
        raise ValueError(f"X must be (samples, features) and y (samples,); got {X.shape} and {y.shape}")
    if len(X) != len(y):
        raise ValueError(f"X and y must have as many samples; got {len(X)} and {len(y)}")
    if X.size == 0:
        raise ValueError(f"X must have at least one sample and one feature; got {X.shape}")
    for name, data in (("X", X), ("y", y)):
        if bad := np.count_nonzero(~np.isfinite(data)):
            raise ValueError(f"{name} must be finite; {bad} of its numbers are not")
    return X, y


def exact_losses(X, y, epochs, lr):
    """Loss after each full-batch step from w = 0, in closed form: (epochs,).

    On a quadratic each eigen-direction of the Hessian X'X/n shrinks by 1 - lr * eigenvalue a step, whatever
    the others do: L(t) = L* + 1/2 sum_i h_i c_i^2 (1 - lr h_i)^(2t).
    """
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    eigenvalues, directions = np.linalg.eigh(X.T @ X / len(y))
    distance = directions.T @ -best
    steps = np.arange(1, epochs + 1)[:, None]
    return loss(best, X, y) + (eigenvalues * distance**2 * (1 - lr * eigenvalues) ** (2 * steps)).sum(1) / 2
