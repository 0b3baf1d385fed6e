"""What is minimised: the mean over samples of a loss, with its gradient, in NumPy."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib import regression
from course_lib.arguments import real_number, whole_number
from course_lib.digits import CLASSES, load_digits


@dataclass(frozen=True, eq=False)
class Problem:
    """The mean of l_i(theta) over the samples i.

    start: theta (p,) before the first update. samples: how many there are.
    loss(theta): over all samples. gradient(theta, indices): mean over the samples of these indices, (p,).
    """

    name: str
    start: np.ndarray
    samples: int
    loss: Callable
    gradient: Callable

    def __repr__(self):
        return f"Problem({self.name}, {len(self.start)} parameters, {self.samples} samples)"


def quadratic(curvatures=(1.0,), *, noise=0.0, samples=1024, start=1.0, seed=0):
    """l_i(theta) = sum over j of curvatures_j / 2 (theta_j - c_ij)^2, c_ij = noise * normal, of mean 0.

    The least loss is at theta = 0 and counts as 0. Without noise every gradient is exact.
    """
    curvatures = np.array([real_number("curvatures", each) for each in np.ravel(curvatures)])
    if not len(curvatures):
        raise ValueError("curvatures must hold at least one number; got none")
    noise, samples = real_number("noise", noise), whole_number("samples", samples, 1)
    start = real_number("start", start, -np.inf)
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    centres = noise * rng.normal(size=(samples, len(curvatures)))
    centres -= centres.mean(axis=0)

    def loss(theta):
        return float(curvatures @ theta**2) / 2

    def gradient(theta, indices):
        return curvatures * (theta - centres[indices].mean(axis=0)) if noise else curvatures * theta

    return Problem("quadratic", np.full(len(curvatures), start), samples, loss, gradient)


def linear_regression(X=None, y=None):
    """Half the mean squared error of X (samples, p) theta against y; chapter 10's data by default."""
    X, y = regression.make_regression() if X is None else regression.check_data(X, y)

    def loss(theta):
        return regression.loss(theta, X, y)

    def gradient(theta, indices):
        return regression.gradient(theta, X[indices], y[indices])

    return Problem("linear regression", np.zeros(X.shape[1]), len(y), loss, gradient)


def digits():
    """Softmax regression on the 1,536 training digits: p = 650, cross-entropy in nats, ln 10 at the start."""
    training, _ = load_digits()
    X = np.column_stack([training.images, np.ones(len(training))])
    targets = np.eye(CLASSES)[training.labels]
    shape = X.shape[1], CLASSES

    def loss(theta):
        return float(-np.mean(np.sum(targets * _log_softmax(X @ theta.reshape(shape)), axis=1)))

    def gradient(theta, indices):
        rows = X[indices]
        error = np.exp(_log_softmax(rows @ theta.reshape(shape))) - targets[indices]
        return (rows.T @ error / len(rows)).ravel()

    return Problem("digits", np.zeros(X.shape[1] * CLASSES), len(X), loss, gradient)


def click_regression(clicks):
    """Logistic regression on a clicks.Clicks: a bias and a weight for each value, cross-entropy in nats."""
    parameters = 1 + sum(clicks.vocabularies)

    def loss(theta):
        scores = click_scores(theta, clicks)
        return float(np.mean(np.logaddexp(0, scores) - clicks.labels * scores))

    def gradient(theta, indices):
        rows = clicks.rows[indices]
        error = 1 / (1 + np.exp(-_scores(theta, rows))) - clicks.labels[indices]
        repeated = np.repeat(error, rows.shape[1])
        sums = np.bincount(1 + rows.ravel(), weights=repeated, minlength=parameters)
        sums[0] = error.sum()
        return sums / len(indices)

    return Problem("clicks", np.zeros(parameters), len(clicks), loss, gradient)


def click_scores(theta, clicks):
    """Log-odds of a click, (samples,), by the parameters `theta` of `click_regression`."""
    return _scores(theta, clicks.rows)


def _scores(theta, rows):
    return theta[0] + theta[1 + rows].sum(axis=1)


def digits_accuracy(theta):
    """Share of the 261 held-out digits that the parameters `theta` of `digits` get right."""
    _, held_out = load_digits()
    X = np.column_stack([held_out.images, np.ones(len(held_out))])
    return float(np.mean(np.argmax(X @ theta.reshape(-1, CLASSES), axis=1) == held_out.labels))


def _log_softmax(scores):
    scores = scores - scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
