"""Races of eight workers to a loss on the digits: one run, and the record of many seeds for chapter 6."""

import json

import numpy as np

from course_lib import data
from course_lib.link import Link
from course_lib.sgd.local import local
from course_lib.sgd.problem import digits
from course_lib.sgd.server import asynchronous, backup, stale_synchronous
from course_lib.sgd.synchronous import synchronous
from course_lib.sgd.times import ComputeTimes
from course_lib.simulation import simulate

WORKERS, BATCH, TARGET = 8, 8, 0.5
RATES = (1, 1.5, 2, 3, 4, 6, 8)
SEEDS = 20
FIELDS = ("seconds", "gradients", "dropped", "staleness")  # of what `finish` gives
SERVED = ("async", "slack", "backup")  # rank 0 serves, and 8 more ranks work


def race(way, kind, rate, seed, gradients=600):
    """The History of one run of eight workers without time for messages; each gradient counts rate / 8.

    way: "sync", "async", "slack" (of 2 steps), "backup" (6 + 2 workers), "local" (4 steps a round). kind: of
    ComputeTimes. seed: of the order of the samples; the times have 3 + seed.
    """
    given = {"batch": BATCH, "times": ComputeTimes(kind, seed=3 + seed), "seed": seed}
    one = rate / WORKERS
    makers = {
        "sync": lambda problem: synchronous(problem, gradients // WORKERS, rate, **given),
        "async": lambda problem: asynchronous(problem, gradients, one, **given),
        "slack": lambda problem: stale_synchronous(problem, gradients, one, slack=2, **given),
        "backup": lambda problem: backup(problem, gradients // 6, 6 * one, extra=2, **given),
        "local": lambda problem: local(problem, gradients // (4 * WORKERS), rate, period=4, **given),
    }
    link = Link(latency=0.0, bandwidth=np.inf)
    return simulate(makers[way](digits()), WORKERS + (way in SERVED), link=link).values[0]


def finish(history, below=TARGET):
    """(seconds, gradients used, gradients dropped, largest staleness) until the loss stays under `below`.

    Infinity four times if it never does.
    """
    reached = history.reached(digits(), below)
    if reached is None:
        return (np.inf,) * len(FIELDS)
    dropped = sum(seconds <= reached.seconds for seconds, _ in history.late)
    return reached.seconds, reached.gradients, dropped, max(history.staleness[: reached.updates].tolist())


def alone(period, rate, seed):
    """The loss after 512 gradients of eight workers that take `period` steps each between two averagings."""
    problem = digits()
    worker = local(problem, 64 // period, rate, period, batch=BATCH, seed=seed)
    return problem.loss(simulate(worker, WORKERS).values[0].theta)


def recorded():
    """What `python notebooks/source/races.py` has kept: a dict of arrays.

    (way, kind): what `finish` gives, (seeds, rates), with FIELDS; sync and async at RATES, the others at rate
    1. (period, rate): the losses of `alone`, (seeds,).
    """
    kept = json.loads(data.path("races.json").read_text(encoding="utf-8"))
    found = {(each["period"], each["rate"]): np.array(each["losses"]) for each in kept["alone"]}
    for kind, ways in kept["races"].items():
        for way, rows in ways.items():
            numbers = np.nan_to_num(np.array(rows, dtype=float), nan=np.inf)
            found[way, kind] = numbers.view([(name, float) for name in FIELDS])[..., 0]
    return found
