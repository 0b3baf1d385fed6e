"""Ways to run SGD on many workers, written against `comm`: each makes a worker function for either world.

run = simulate(synchronous(quadratic(), steps=50, rate=0.5), ranks=4)
run = launch(asynchronous(digits(), updates=200, rate=0.05, batch=32), ranks=5)   # rank 0 serves

Rank 0 returns a History: one row an update, with its time, its worker, its staleness and the parameters.
"""

from course_lib.sgd.delay import delayed_descent, largest_stable, staleness_of
from course_lib.sgd.history import ALL, History, Reached, merged
from course_lib.sgd.local import local
from course_lib.sgd.lock_free import lock_free
from course_lib.sgd.problem import (
    Problem,
    click_regression,
    click_scores,
    digits,
    digits_accuracy,
    linear_regression,
    quadratic,
)
from course_lib.sgd.server import asynchronous, backup, sharded, stale_synchronous
from course_lib.sgd.synchronous import synchronous
from course_lib.sgd.times import KINDS, ComputeTimes, step_seconds

__all__ = [
    "ALL",
    "KINDS",
    "ComputeTimes",
    "History",
    "Problem",
    "Reached",
    "asynchronous",
    "backup",
    "click_regression",
    "click_scores",
    "delayed_descent",
    "digits",
    "digits_accuracy",
    "largest_stable",
    "linear_regression",
    "local",
    "lock_free",
    "merged",
    "quadratic",
    "sharded",
    "stale_synchronous",
    "staleness_of",
    "step_seconds",
    "synchronous",
]
