"""Chapter 9's comparisons on clicks with one seed, and the record of many."""

import json
from dataclasses import replace

import numpy as np

from course_lib import data
from course_lib.clicks import make_clicks
from course_lib.link import Link
from course_lib.processes import launch
from course_lib.sgd import ComputeTimes, asynchronous, click_regression, synchronous
from course_lib.simulation import simulate
from course_lib.training.clicks import MODELS, ClicksConfig, clicks_worker
from course_lib.training.clicks_table import compare_compression

SEEDS = 15
SHARES = np.array([107, 107, 21, 21])  # of 256 samples, by the workers' speeds
FACTORS = (1, 1, 5, 5)


def models(seed, timeout=120):
    """{"logistic", "deepfm", "best"}: AUC on the held-out clicks of two real processes, and of the truth."""
    configs = [ClicksConfig(model=model, seed=seed, data_seed=seed) for model in MODELS]
    workers = [clicks_worker(config) for config in configs]
    runs = launch(lambda comm: [w(comm) for w in workers], 2, threads=1, timeout=timeout).values[0]
    return {**{name: run.auc for name, run in zip(MODELS, runs, strict=True)}, "best": runs[0].best_auc}


def codes(seed, timeout=120):
    """{code: AUC} of DeepFM after one pass on four workers; "none" is float32."""
    config = ClicksConfig(batch=256, lr=0.05, epochs=1, decay_epochs=0.5)
    config = replace(config, seed=seed, data_seed=seed)
    table = compare_compression(config, ranks=4, timeout=timeout)
    return {row.comm_hook or "none": row.auc for row in table.rows}


def paces(seed):
    """{way: (jitter, lowest loss, seconds)} of logistic regression, two of the four workers slow.

    "sync" at η, "sized" with shards by speed; "async/K" at η/K and "async" at η, with a server of its own;
    "alone", one worker at η with as many steps as they have gradients.
    """
    problem = click_regression(make_clicks(20_000, 1, seed=seed)[0])
    mixed = ComputeTimes("lognormal", spread=0.2, factors=FACTORS, seed=seed)
    sized = replace(mixed, factors=tuple(SHARES / 64 * FACTORS))
    given = {"batch": 64, "seed": seed}
    runs = {
        "sync": (synchronous(problem, 120, 1.4, times=mixed, **given), 4),
        "sized": (synchronous(problem, 120, 1.4, times=sized, batch=SHARES.tolist(), seed=seed), 4),
        "async/K": (asynchronous(problem, 480, 0.35, times=mixed, **given), 5),
        "async": (asynchronous(problem, 480, 1.4, times=mixed, **given), 5),
        "alone": (asynchronous(problem, 480, 1.4, times=1.0, **given), 2),
    }
    free = Link(latency=0.0, bandwidth=np.inf)
    return {name: _pace(problem, simulate(*run, link=free).values[0]) for name, run in runs.items()}


def _pace(problem, history):
    losses = losses_of(problem, history)
    return jitter_of(losses), float(losses.min()), float(history.seconds[-1])


def losses_of(problem, history):
    """The loss after every fourth gradient."""
    looks = np.flatnonzero(history.gradients % 4 == 0)
    return np.array([problem.loss(history.parameters[1 + look]) for look in looks])


def jitter_of(losses):
    """Standard deviation of the change from one look to the next, in the second half."""
    return float(np.std(np.diff(losses[len(losses) // 2 :])))


def recorded():
    """What `python notebooks/source/click_seeds.py` has kept: {"models", "codes", "paces": {name: array}}.

    An array's first axis is the seeds; `paces` have the three numbers of `paces` on a second.
    """
    kept = json.loads(data.path("click_seeds.json").read_text(encoding="utf-8"))["seeds"]
    return {
        part: {name: np.array([seed[part][name] for seed in kept]) for name in kept[0][part]}
        for part in kept[0]
    }
