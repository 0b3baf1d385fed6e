"""Checkers of chapter 11's bug gallery: the loops that can be seen to fail in the simulator."""

import numpy as np

from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import (
    WORKER_COUNTS,
    checked,
    collectives,
    expect,
    expect_arrays,
    largest_message,
    real_array,
    run_attempt,
    workers,
)
from course_lib.labels import label

MANY_FIRST = (2, *(number for number in WORKER_COUNTS if number != 2))  # one worker shows no mistake
RATE = 0.5
STEPS = (
    *((number, 5, RATE) for number in MANY_FIRST),
    (3, 1, 20.0),
    (40, 300, 1e-3),
)  # workers, numbers, rate
LOSSES = ((1.0,), (3.0,), (2.0, 6.0, 4.0), (), (5.0, 0.5), (9.0,), (1.5, 2.5, 0.5, 3.0))  # one tuple a rank
MANY_LOSSES = (0, 700, 1, 0, 3000, 12, 5, 90)  # how many on each rank, where there are too many to list
ROWS = (3, 1, 2, 0, 3, 1, 2)  # samples of the last batch, a number for each rank
LAST = (*((ROWS[:number], RATE) for number in MANY_FIRST), ((0, 60, 1, 0, 7, 400), 1e-3))


@exercise("11.1")
def check_summed_step(step):
    """Exercise 11.1: step(comm, theta, gradient, rate) → theta after a step by the mean gradient."""
    return checked(lambda: _summed(step), label("ch11_passed_summed"))


@exercise("11.4")
def check_epoch_loss(epoch_loss):
    """Exercise 11.4: epoch_loss(comm, losses) → the mean over all samples of all ranks, on every rank."""
    return checked(lambda: _loss(epoch_loss), label("ch11_passed_loss"))


@exercise("11.5")
def check_last_batch(last_step):
    """Exercise 11.5: last_step(comm, theta, X, y, rate) → theta after a step by all samples alike."""
    return checked(lambda: _last(last_step), label("ch11_passed_last"))


# --- gradients summed, rate not scaled


def _summed(step):
    for number, size, rate in STEPS:
        rng = np.random.default_rng(number)
        theta, gradients = rng.normal(size=size), rng.normal(size=(number, size))
        case = label("ch11_case_gradients", workers=workers(number), size=size, rate=f"{rate:g}")
        expect_function(case, step)

        def worker(comm, theta=theta, gradients=gradients, rate=rate):
            return step(comm, theta.copy(), gradients[comm.rank].copy(), rate)

        run = run_attempt(case, worker, number)
        expect_arrays(case, run.values, theta.shape)
        taken = {rank: (theta - value) / rate for rank, value in enumerate(run.values)}
        for rank, direction in taken.items():
            _expect_mean(case, rank, direction, gradients)
        _expect_one(case, run, theta.nbytes)


def _expect_mean(case, rank, direction, gradients):
    mean, number = gradients.mean(axis=0), len(gradients)
    if np.allclose(direction, mean, rtol=1e-9, atol=1e-12):
        return
    for name, wrong in {
        "ch11_own_step": gradients[rank],
        "ch11_sum_step": number * mean,
        "ch11_twice_step": mean / number,
        "ch11_uphill": -mean,
    }.items():
        expect(not np.allclose(direction, wrong), case, label(name, rank=rank, number=number))
    expect(False, case, label("ch11_other_step", rank=rank, got=direction[:2], wanted=mean[:2]))


def _expect_one(case, run, nbytes):
    """One all-reduce of no more than the gradient and a number."""
    expect(collectives(run) <= 1, case, label("ch11_one_collective", count=collectives(run)))
    carried = largest_message(run)
    expect(carried <= nbytes + 8, case, label("ch11_large_message", carried=carried, nbytes=nbytes))


# --- rank 0's loss reported as the loss


def _loss(epoch_loss):
    for case, mine in _losses():
        expect_function(case, epoch_loss)

        def worker(comm, mine=mine):
            return epoch_loss(comm, mine[comm.rank].copy())

        run = run_attempt(case, worker, len(mine))
        _expect_shared(case, run.values, mine)
        for rank, value in enumerate(run.values):
            _expect_loss(case, rank, value, mine)
        carried = largest_message(run)
        expect(carried <= 16, case, label("ch11_loss_bytes", carried=carried))
        expect(collectives(run) <= 2, case, label("ch11_loss_collectives", count=collectives(run)))


def _losses():
    """Yield (case, an array of losses for each rank)."""
    for number in MANY_FIRST:
        mine = [np.array(losses) for losses in LOSSES[:number]]
        listed = " | ".join(", ".join(f"{loss:g}" for loss in losses) or "–" for losses in mine)
        yield label("ch11_case_losses", workers=workers(number), listed=listed), mine
    rng = np.random.default_rng(0)
    case = label(
        "ch11_case_many", workers=workers(len(MANY_LOSSES)), listed=" | ".join(map(str, MANY_LOSSES))
    )
    yield case, [rng.exponential(1e3, size=count) for count in MANY_LOSSES]


def _expect_shared(case, values, mine):
    """Not every rank its own mean, where they differ."""
    own = [losses.mean() if len(losses) else 0.0 for losses in mine]
    numbers = [real_array(value) for value in values]
    if len(mine) > 1 and all(number is not None and number.size == 1 for number in numbers):
        same = np.allclose([float(np.ravel(number)[0]) for number in numbers], own)
        expect(not same, case, label("ch11_loss_each"))


def _expect_loss(case, rank, value, mine):
    number = real_array(value)
    single = number is not None and number.size == 1
    expect(single, case, label("ch11_not_a_number", rank=rank, value=f"{value!r:.40}"))
    number, everything = float(np.ravel(number)[0]), np.concatenate(mine)
    wanted = everything.mean()
    expect(number == number, case, label("ch11_loss_nan", rank=rank))
    if np.isclose(number, wanted, rtol=1e-9):
        return
    means = [losses.mean() for losses in mine if len(losses)]
    for name, wrong in {
        "ch11_loss_rank_0": mine[0].mean() if len(mine[0]) else np.nan,
        "ch11_loss_means": np.mean(means),
        "ch11_loss_means_all": np.sum(means) / len(mine),
        "ch11_loss_sum": everything.sum(),
        "ch11_loss_sum_means": np.sum(means),
        "ch11_loss_by_ranks": everything.sum() / len(mine),
    }.items():
        told = label(name, rank=rank, got=f"{number:g}", wanted=f"{wanted:g}")
        expect(not np.isclose(number, wrong), case, told)
    expect(False, case, label("ch11_loss_other", rank=rank, got=f"{number:g}", wanted=f"{wanted:g}"))


# --- the last batch over-weighted


def _last(last_step):
    for counts, rate in LAST:
        number = len(counts)
        rng = np.random.default_rng(number)
        theta = rng.normal(size=2)
        data = [(rng.normal(size=(rows, 2)), rng.normal(size=rows)) for rows in counts]
        case = label("ch11_case_rows", workers=workers(number), listed=" | ".join(map(str, counts)))
        expect_function(case, last_step)

        def worker(comm, theta=theta, data=data, rate=rate):
            X, y = data[comm.rank]
            with np.errstate(invalid="ignore", divide="ignore"):  # of no rows: the report tells it
                return last_step(comm, theta.copy(), X.copy(), y.copy(), rate)

        run = run_attempt(case, worker, number)
        for rank, value in enumerate(run.values):
            _expect_step(case, rank, value, theta, data, rate)
        rounds = collectives(run)
        expect(rounds <= 2, case, label("ch11_two_collectives", count=rounds))
        carried = largest_message(run)
        expect(carried <= theta.nbytes + 8, case, label("ch11_rows_sent", carried=carried))


def _expect_step(case, rank, value, theta, data, rate):
    array = real_array(value)
    shaped = array is not None and array.shape == theta.shape
    expect(shaped, case, label("ch11_not_theta", rank=rank, value=f"{value!r:.40}"))
    expect(not np.isnan(array).any(), case, label("ch11_rows_nan", rank=rank))
    taken = (theta - array) / rate
    sums = [X.T @ (X @ theta - y) for X, y in data]
    counts = np.array([len(y) for _, y in data])
    wanted = np.sum(sums, axis=0) / counts.sum()
    if np.allclose(taken, wanted, rtol=1e-9, atol=1e-12):
        return
    means = [total / max(rows, 1) for total, rows in zip(sums, counts, strict=True)]
    wrongs = [
        ("ch11_rows_own", means[rank]),
        ("ch11_rows_means", np.mean(means, axis=0)),
        ("ch11_rows_means", np.sum(means, axis=0) / np.count_nonzero(counts)),
        ("ch11_rows_sum", np.sum(sums, axis=0)),
        ("ch11_rows_again", wanted / len(data)),
        ("ch11_rows_by_ranks", np.sum(sums, axis=0) / len(data)),
        ("ch11_rows_sum_of_means", np.sum(means, axis=0)),
    ]
    for name, wrong in wrongs:
        told = label(name, rank=rank, number=len(data), rows=counts[rank], samples=counts.sum())
        expect(not np.allclose(taken, wrong), case, told)
    expect(False, case, label("ch11_other_step", rank=rank, got=taken, wanted=wanted))
