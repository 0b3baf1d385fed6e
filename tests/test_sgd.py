"""Ways to run SGD: the same worker functions in both worlds, their times, and how stale gradients are."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import Link, RankError, launch, laws, simulate
from course_lib.regression import make_regression, sync_sgd
from course_lib.sgd import (
    ALL,
    KINDS,
    ComputeTimes,
    asynchronous,
    backup,
    delayed_descent,
    digits,
    digits_accuracy,
    largest_stable,
    linear_regression,
    local,
    lock_free,
    merged,
    quadratic,
    sharded,
    stale_synchronous,
    staleness_of,
    step_seconds,
    synchronous,
)
from course_lib.sgd.lock_free import shared_array
from course_lib.sgd.work import batch_sizes, batches

INSTANT = Link(0.0, math.inf)  # messages that take no time: only the computing counts
RANDOM = ComputeTimes("exponential", seed=3)


def history(worker, ranks, link=INSTANT):
    return simulate(worker, ranks, link=link).values[0]


PROBLEMS = {"quadratic": quadratic([1, 3], noise=1), "linear": linear_regression(), "digits": digits()}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_gradients_are_those_of_the_loss(problem):
    rng, everything = np.random.default_rng(0), np.arange(problem.samples)
    theta = problem.start + 0.1 * rng.normal(size=len(problem.start))
    direction, step = rng.normal(size=len(theta)), 1e-5
    slope = (problem.loss(theta + step * direction) - problem.loss(theta - step * direction)) / (2 * step)
    assert problem.gradient(theta, everything) @ direction == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_the_mean_of_gradients_is_the_gradient_of_the_large_batch(problem):
    theta = problem.start + np.random.default_rng(0).normal(size=len(problem.start))
    sizes = [16] * 8
    parts = [next(batches(problem.samples, sizes, worker)) for worker in range(8)]
    mean = np.mean([problem.gradient(theta, part) for part in parts], axis=0)
    np.testing.assert_allclose(mean, problem.gradient(theta, np.concatenate(parts)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("batch", [None, [1, 2, 3, 10]])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_synchronous_sgd_is_large_batch_sgd(problem, batch):
    total = None if batch is None else 16
    many = simulate(synchronous(problem, 12, 0.1, batch=batch), 4).values
    (alone,) = simulate(synchronous(problem, 12, 0.1, batch=total), 1).values
    for each in many:
        np.testing.assert_allclose(each.parameters, alone.parameters, rtol=0, atol=1e-12)
        assert each.theta.tobytes() == many[0].theta.tobytes()
    assert many[0].gradients.tolist() == list(range(4, 52, 4)) and set(many[0].sources) == {ALL}


def test_the_articles_demo():
    losses = history(synchronous(linear_regression(), 6, 0.1), 4).losses(linear_regression())
    np.testing.assert_allclose(losses[1:], sync_sgd(*make_regression()).losses, rtol=1e-12)


@pytest.mark.parametrize(
    ("worker", "ranks", "workers"),
    [
        (local(PROBLEMS["digits"], 8, 0.1, 1, batch=8), 4, 4),
        (backup(PROBLEMS["digits"], 8, 0.1, 0, batch=8), 5, 4),
        (asynchronous(PROBLEMS["digits"], 8, 0.1, batch=8), 2, 1),
    ],
    ids=["local with period 1", "backup without extra", "one asynchronous worker"],
)
def test_what_is_synchronous_sgd_under_another_name(worker, ranks, workers):
    done = history(worker, ranks)
    plain = history(synchronous(PROBLEMS["digits"], 8, 0.1, batch=8), workers)
    np.testing.assert_allclose(done.parameters, plain.parameters, rtol=0, atol=1e-12)
    assert done.gradients.tolist() == plain.gradients.tolist() and not done.staleness.any()


def test_local_sgd_by_hand():
    done = history(local(quadratic(), 2, 0.5, 3, times=1.0), 2)
    assert done.parameters[:, 0].tolist() == [1, 1 / 8, 1 / 64]
    assert done.seconds.tolist() == [3, 6] and done.gradients.tolist() == [6, 12]
    assert not any(each.flags.writeable for each in (done.seconds, done.gradients, done.parameters))


def test_digits_are_learned():
    problem = digits()
    done = history(synchronous(problem, 30, 1.0, batch=64), 4)
    losses = done.losses(problem)
    assert losses[0] == pytest.approx(math.log(10)) and losses[-1] < 0.6
    assert digits_accuracy(problem.start) < 0.2 < 0.88 < digits_accuracy(done.theta)


# The time of a step


DEVIATIONS = {
    "constant": 0,
    "uniform": 0.5 / 3**0.5,
    "exponential": 1,
    "lognormal": (math.e**0.25 - 1) ** 0.5,
}


@pytest.mark.parametrize("kind", KINDS)
def test_times_have_their_mean_and_are_the_same_in_a_table_and_a_stream(kind):
    times = ComputeTimes(kind, mean=2.0, factors=(1, 3), seed=5)
    table = times.table(4000, 3)
    np.testing.assert_allclose(table.mean(axis=0), [2, 6, 2], rtol=0.06)
    np.testing.assert_allclose(
        table.std(axis=0), DEVIATIONS[kind] * np.array([2, 6, 2]), rtol=0.06, atol=1e-12
    )
    stream = times.stream(1)
    assert [next(stream) for _ in range(100)] == table[:100, 1].tolist()
    assert (table >= 0).all() and (kind == "constant" or table[0, 0] != table[0, 2])


@pytest.mark.parametrize(("workers", "extra"), [(2, 0), (2, 1), (16, 0), (16, 4), (256, 0), (256, 128)])
def test_the_barrier_costs_a_harmonic_number(workers, extra):
    table = np.random.default_rng(0).exponential(size=(5000, workers))
    law = laws.expected_backup(workers - extra, extra) if extra else laws.expected_slowest(workers)
    assert step_seconds(table, extra).mean() == pytest.approx(law, rel=0.02)


def test_the_simulator_waits_for_the_slowest_of_the_same_draws():
    done = history(synchronous(quadratic(), 70, 0.1, times=RANDOM), 8)
    np.testing.assert_allclose(np.diff(done.seconds, prepend=0), step_seconds(RANDOM.table(70, 8)), rtol=1e-9)


def test_the_simulator_waits_for_the_first_of_the_same_draws():
    """Each of 10 workers reports every step; the server notes when the 8th did, and begins when all have."""
    streams = [RANDOM.stream(worker) for worker in range(10)]

    def worker(comm):
        waited = []
        for _ in range(70):
            begin = comm.time()
            if comm.rank == 0:
                arrived = [(comm.recv_any(), comm.time() - begin)[1] for _ in range(10)]
                waited.append(arrived[7])
            else:
                comm.compute(next(streams[comm.rank - 1]))
                comm.send(np.empty(0), 0)
            comm.barrier()
        return waited

    waited = simulate(worker, 11, link=INSTANT).values[0]
    np.testing.assert_allclose(waited, step_seconds(RANDOM.table(70, 10), extra=2), rtol=1e-9)


def test_backup_workers_are_between_no_backup_and_a_fresh_start():
    steps = 200
    done = history(backup(quadratic(), steps, 0.1, 2, times=RANDOM), 11)
    mean = done.seconds[-1] / steps
    assert 1.05 * laws.expected_backup(8, 2) < mean < 0.75 * laws.expected_slowest(8)
    assert done.dropped > 0 and done.gradients[-1] == 8 * steps


def test_backup_by_hand():
    """Workers of 1, 1 and 10 s, one extra: two make every step; the third's first gradient is too late."""
    times = ComputeTimes(factors=(1, 1, 10))
    done = history(backup(quadratic(), 12, 0.5, 1, times=times), 4)
    assert done.seconds.tolist() == list(range(1, 13))
    assert done.dropped == 1 and done.late == ((10.0, 3),)
    np.testing.assert_allclose(done.theta, 0.5**12)


# Staleness


@pytest.mark.parametrize(
    ("kind", "factors", "of_each"),
    [("constant", (1, 1, 1, 10), (2.1, 2.1, 2.1, 29)), ("lognormal", (), (3, 3, 3, 3))],
)
def test_mean_staleness_is_one_less_than_the_workers(kind, factors, of_each):
    times = ComputeTimes(kind, factors=factors, seed=1)
    done = history(asynchronous(quadratic(), 2000, 0.01, times=times), 5)
    later, sources = done.staleness[40:], done.sources[40:]
    assert later.mean() == pytest.approx(3, rel=0.02)
    means = [later[sources == worker].mean() for worker in range(1, 5)]
    np.testing.assert_allclose(means, of_each, rtol=0.1)


def worst_staleness(workers, slack, seed):
    times = ComputeTimes("lognormal", spread=1.0, factors=(1,) * (workers - 1) + (5,), seed=seed)
    worker = stale_synchronous(quadratic(), 20 * workers, 0.001, slack, times=times)
    return history(worker, workers + 1).staleness.max()


@given(workers=st.integers(2, 6), slack=st.integers(0, 3), seed=st.integers(0, 10**6))
def test_staleness_of_stale_synchronous_has_a_bound(workers, slack, seed):
    assert worst_staleness(workers, slack, seed) <= (workers - 1) * (2 * slack + 1)


def test_the_bound_of_staleness_is_not_far_from_what_happens():
    assert max(worst_staleness(4, 1, seed) for seed in range(8)) > 9 / 2


def test_nobody_runs_further_ahead_than_the_slack():
    times = ComputeTimes(factors=(1, 10))
    done = history(stale_synchronous(quadratic(), 60, 0.01, 2, times=times), 3)
    fast, slow = (np.cumsum(done.sources == worker) for worker in (1, 2))
    assert (fast - slow).max() == 3  # begun when 2 ahead, and then done
    assert done.leads(2).tolist() == abs(fast - slow).tolist()
    free = history(asynchronous(quadratic(), 60, 0.01, times=times), 3)
    assert (free.sources == 1).sum() > 50


def test_asynchronous_updates_from_one_version():
    """C23: four gradients of w^2 / 2 at w = 1, rate 0.5, of one version, end at -1; synchronous at 0.5."""
    four = history(asynchronous(quadratic(), 4, 0.5, times=1.0), 5)
    assert four.parameters[:, 0].tolist() == [1, 0.5, 0, -0.5, -1]
    assert history(synchronous(quadratic(), 1, 0.5, times=1.0), 4).theta[0] == 0.5


def test_delayed_descent_by_hand():
    late = delayed_descent(0.5, [0, 1, 1, 3], 4, curvature=0.5, start=2.0)
    assert late.tolist() == [2, 1.5, 1, 0.625, 0.125]


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_the_largest_stable_rate_of_a_delayed_gradient(delay):
    limit = laws.staleness_limit(delay)
    below, above = (abs(delayed_descent(share * limit, delay, 6000)) for share in (0.98, 1.02))
    assert below[-100:].max() < 0.01 and above[-100:].max() > 100


@pytest.mark.parametrize("slack", [0, 1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_the_lead_at_the_end_of_a_step_is_the_slack_and_one(kind, slack):
    times = ComputeTimes(kind, factors=(1, 1, 1, 3), seed=1)
    assert (
        history(stale_synchronous(quadratic(), 400, 0.01, slack, times=times), 5).leads(4).max() == slack + 1
    )


def test_seconds_of_a_round():
    done = history(asynchronous(quadratic(), 40, 0.01, times=2.0), 5)
    assert done.round_seconds(4) == 2
    assert history(synchronous(quadratic(), 10, 0.01, times=3.0), 4).round_seconds(4) == 3


@pytest.mark.parametrize("servers", [1, 4])
def test_sharded_servers_train_as_one_does(servers):
    problem, times = PROBLEMS["digits"], ComputeTimes("lognormal", seed=1)
    sharded_run = simulate(sharded(problem, 6, 0.1, servers, batch=8, times=times), servers + 3, link=INSTANT)
    histories = sharded_run.values[:servers]
    one = history(asynchronous(problem, 12, 0.1, batch=8, times=times), 4)
    parts = np.concatenate([each.parameters[:13] for each in histories], axis=1)
    np.testing.assert_allclose(parts, one.parameters, rtol=0, atol=1e-12)
    for each in histories:
        assert len(each) == 18 and each.staleness[:12].tolist() == one.staleness.tolist()
    assert sharded_run.values[servers:] == [None] * 3


@pytest.mark.parametrize(("kind", "factors"), [("constant", ()), ("exponential", ()), ("lognormal", (1, 5))])
def test_staleness_is_counted_from_the_times_alone(kind, factors):
    times = ComputeTimes(kind, factors=factors, seed=2)
    counted = staleness_of(times.table(60, 3))
    done = history(asynchronous(quadratic(), len(counted), 0.01, times=times), 4)
    assert len(counted) > 60 and counted.tolist() == done.staleness.tolist()


def test_the_largest_stable_rates_of_several_runs():
    delays = np.stack([np.full(3000, delay) for delay in (0, 1, 7)])
    limits = laws.staleness_limit(np.array([0, 1, 7]))
    np.testing.assert_allclose(largest_stable(delays), limits, rtol=0.005)
    np.testing.assert_allclose(largest_stable(delays, curvature=4), limits / 4, rtol=0.005)


def test_widely_spread_delays_of_the_same_mean_are_milder():
    rate = 1.1 * laws.staleness_limit(4)
    random = np.random.default_rng(0).integers(0, 9, 4000)
    assert abs(delayed_descent(rate, 4, 4000))[-1] > 1e3
    assert abs(delayed_descent(rate, random, 4000))[-1] < 1e-3


# Real processes

ALIKE = {
    **{f"synchronous {name}": synchronous(each, 10, 0.2, batch=16) for name, each in PROBLEMS.items()},
    **{f"local {name}": local(each, 5, 0.2, 2, batch=16) for name, each in PROBLEMS.items()},
}


def count(comm):
    """1000 increments of a counter that all share and of each rank's own: what is left, and is the file?"""
    shared = shared_array(comm, 1 + comm.size)
    for _ in range(1000):
        shared[0] += 1
        shared[1 + comm.rank] += 1
    comm.barrier()
    return shared.tolist(), Path(shared.filename).exists()


@pytest.fixture(scope="module")
def real():
    """What the four ranks of one launch made of each worker."""
    times = ComputeTimes("uniform", mean=0.01, spread=0.3)
    workers = {
        **ALIKE,
        "lock_free": lock_free(digits(), 60, 0.1, batch=32, times=0.001),
        "count": count,
        # Last, for gradients that its server has not read at the end are left.
        "asynchronous": asynchronous(digits(), 120, 0.05, batch=16, times=times),
    }
    run = launch(lambda comm: [worker(comm) for worker in workers.values()], 4)
    return dict(zip(workers, zip(*run.values, strict=True), strict=True))


def expect_alike(real, simulated):
    np.testing.assert_allclose(real.parameters, simulated.parameters, rtol=1e-9, atol=1e-12)
    assert (np.diff(real.seconds) > 0).all()


@pytest.mark.parametrize("name", ALIKE)
def test_both_worlds_train_alike(real, name):
    expect_alike(real[name][0], history(ALIKE[name], 4))


def test_both_worlds_train_alike_with_backup_workers():
    worker = backup(PROBLEMS["digits"], 10, 0.2, 0, batch=16)
    expect_alike(launch(worker, 3).values[0], history(worker, 3))


def test_staleness_in_real_processes(real):
    """In the long run it is one less than the workers, however fast they are."""
    done = real["asynchronous"][0]
    assert done.staleness[12:].mean() == pytest.approx(2, rel=0.1)
    assert done.losses(digits())[-1] < 1.6


def test_stale_synchronous_in_real_processes():
    times = ComputeTimes("uniform", mean=0.004, factors=(1, 1, 4))
    done = launch(stale_synchronous(linear_regression(), 60, 0.05, 1, batch=8, times=times), 4).values[0]
    assert done.staleness.max() <= 6 and len(done) == 60


def test_lock_free_training_on_shared_memory(real):
    done = merged(real["lock_free"])
    assert done.gradients.tolist() == list(range(1, 241)) and set(done.sources) == {0, 1, 2, 3}
    assert done.parameters.shape == (241, 650)
    assert (np.diff(done.seconds) >= 0).all() and done.staleness.max() >= 1
    assert done.losses(digits())[-1] < 1.0


def test_lock_free_counters_lose_updates_at_most(real):
    """C24: at most 4000, and never asserted to be exact; what every process wrote alone is all there."""
    for counts, file_exists in real["count"]:
        assert 1 <= counts[0] <= 4000 and counts[1:] == [1000] * 4
        assert not file_exists


# Bad input


BAD_RATE = "rate must be a finite number above 0"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: synchronous(quadratic(), 1, 0), BAD_RATE),
        (lambda: asynchronous(quadratic(), 1, -1), BAD_RATE),
        (lambda: stale_synchronous(quadratic(), 1, math.nan, 1), BAD_RATE),
        (lambda: backup(quadratic(), 1, math.inf, 1), BAD_RATE),
        (lambda: local(quadratic(), 1, 0, 1), BAD_RATE),
        (lambda: sharded(quadratic(), 1, 0, 1), BAD_RATE),
        (lambda: sharded(quadratic(), 1, 0.1, 0), "servers must be a whole number of at least 1"),
        (lambda: lock_free(quadratic(), 1, 0), BAD_RATE),
        (lambda: delayed_descent(0, 1, 1), BAD_RATE),
        (lambda: delayed_descent(0.1, -1, 5), "delays must be whole numbers of at least 0"),
        (lambda: delayed_descent(0.1, [0, 1], 5), "delays must be whole numbers .*, one or 5"),
        (lambda: delayed_descent(0.1, 0.5, 5), "delays must be whole"),
        (lambda: local(quadratic(), 1, 0.1, 0), "period must be a whole number of at least 1; got 0"),
        (lambda: stale_synchronous(quadratic(), 1, 0.1, -1), "slack must be a whole number of at least 0"),
        (lambda: backup(quadratic(), 1, 0.1, -1), "extra must be"),
        (lambda: synchronous(quadratic(), 0, 0.1), "steps must be"),
        (lambda: synchronous(quadratic(), 1, 0.1, times=-1.0), "times must be"),
        (lambda: synchronous(quadratic(), 1, 0.1, times=math.nan), "times must be"),
        (lambda: ComputeTimes("gauss"), "kind must be one of 'constant'"),
        (lambda: ComputeTimes("uniform", spread=1.5), "spread of uniform times must be at most 1"),
        (lambda: ComputeTimes(mean=math.nan), "mean must be"),
        (lambda: ComputeTimes(factors=(1, 0)), "factors must be a finite number above 0"),
        (lambda: step_seconds(np.empty((0, 4))), "table must be"),
        (lambda: step_seconds([[1.0, math.nan]]), "table must be"),
        (lambda: step_seconds(np.ones((5, 4)), extra=4), "extra must be a whole number from 0 to 3"),
        (lambda: quadratic(noise=math.nan), "noise must be"),
        (lambda: quadratic([-1.0]), "curvatures must be"),
        (lambda: quadratic([]), "curvatures must hold at least one number"),
        (lambda: quadratic(start=math.nan), "start must be a finite number; got nan"),
        (lambda: quadratic(seed=None), "seed must be"),
        (lambda: synchronous(quadratic, 1, 0.1), "problem must be a Problem, such as quadratic"),
        (lambda: asynchronous(None, 1, 0.1), "problem must be a Problem"),
        (lambda: local(quadratic(), 1, 0.1, 1, batch=0), "batch must be a whole number from 1 to 1024"),
        (lambda: backup(quadratic(), 1, 0.1, 1, batch=[1, True]), "batch must be"),
        (lambda: synchronous(quadratic(), 1, 0.1, seed=-1), "seed must be"),
        (lambda: lock_free(quadratic(), 1, 0.1, seed=True), "seed must be"),
        (lambda: synchronous(quadratic(), 1, np.True_), "rate must be"),
        (lambda: ComputeTimes(factors=2), "factors must hold a number for each worker; got 2"),
        (lambda: laws.expected_backup(0, 1), "k must be"),
        (lambda: laws.expected_backup(4, -1), "extra must be"),
        (lambda: batch_sizes(8, 2, [1, 2, 3]), "batch must be one number, or one a worker, 2; got 3"),
        (lambda: batch_sizes(8, 2, 0), "batch must be"),
        (lambda: batches(8, [5, 5], 0), "one step of 2 workers takes 10 samples, .*; there are 8"),
        (lambda: batches(1, [1, 0], 1), "at least 1 each"),
    ],
)
def test_bad_input(call, said):
    with pytest.raises((ValueError, TypeError), match=said):
        call()


@pytest.mark.parametrize(
    ("worker", "ranks", "said"),
    [
        (asynchronous(quadratic(), 1, 0.1), 1, "at least 2 ranks"),
        (sharded(quadratic(), 1, 0.1, 3), 3, "3 servers and their workers need more ranks than 3"),
        (backup(quadratic(), 1, 0.1, 3), 4, "extra must be a whole number from 0 to 2; got 3"),
        (lock_free(quadratic(), 1, 0.1), 2, "use launch"),
    ],
)
def test_ranks_that_do_not_fit(worker, ranks, said):
    with pytest.raises(RankError, match=said):
        simulate(worker, ranks)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int8])
def test_delays_of_any_whole_type(dtype):
    assert (delayed_descent(0.1, dtype(3), 300) == delayed_descent(0.1, 3, 300)).all()


def test_times_with_a_list_of_factors_can_be_hashed():
    assert hash(ComputeTimes(factors=[1, 2])) == hash(ComputeTimes(factors=(1, 2)))


@pytest.mark.parametrize("way", [synchronous, asynchronous])
def test_a_run_that_diverges_ends_and_says_infinity(way):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert history(way(quadratic(), 1200, 3.0), 2).losses(quadratic())[-1] == math.inf
