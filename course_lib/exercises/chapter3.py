"""Checkers of chapter 3's exercises: values and messages, over worker counts and sizes."""

import numpy as np

from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import (
    WORKER_COUNTS,
    checked,
    collectives,
    expect,
    expect_arrays,
    expect_received,
    largest_message,
    run_attempt,
    workers,
)

SIZES = (1, 4, 5)
FAR = (11, 3000)  # ranks and parameters, far outside the other cases
START = np.array([2.0, -1.0, 0.5])  # of exercise 3.4
LOCAL = (6, 1, 0.1), (6, 3, 0.1), (7, 3, 0.1), (4, 9, 0.1), (5, 5, 0.1), (103, 10, 0.03)  # steps, every, lr
MOST_BYTES = 64  # of a message in exercise 3.3: room for any fingerprint, not for the parameters


@exercise("3.1")
def check_sync_step(sync_step):
    """Exercise 3.1: sync_step(comm, theta, gradient, lr) → theta after one step by the mean gradient."""
    return checked(lambda: _sync_step(sync_step), "1 to 11 workers, values and messages")


@exercise("3.2")
def check_same_start(same_start):
    """Exercise 3.2: same_start(comm, theta) → rank 0's theta, on every rank."""
    return checked(lambda: _same_start(same_start), "rank 0's start on 1 to 11 workers, once each")


@exercise("3.3")
def check_agrees(agrees):
    """Exercise 3.3: agrees(comm, theta) → does this rank hold the same bits as rank 0?"""
    return checked(lambda: _agrees(agrees), "equal, a bit or two off, another order; small messages only")


@exercise("3.4")
def check_local_sgd(local_sgd):
    """Exercise 3.4: local_sgd(comm, theta, gradient, lr, steps, every) → theta, averaged every so often."""
    return checked(lambda: _local_sgd(local_sgd), "values and number of averagings, whole and broken rounds")


# --- 3.1


def _sync_step(sync_step):
    for ranks, size in _worlds():
        case = f"{workers(ranks)}, {_size(size)}"
        expect_function(case, sync_step)
        lr = 0.25 if (ranks, size) != FAR else 1e-3
        gradients = _drawn(ranks, size, 1)
        same, apart = np.repeat(_drawn(1, size, 2), ranks, axis=0), _drawn(ranks, size, 3)
        for starts in (same, apart):
            run = _one_step(sync_step, case, starts, gradients, lr)
            values = _arrays(case, run.values, (size,))
            _expect_step(case, values, starts, gradients, lr)
        if ranks > 1:
            _expect_one_all_reduce(case, run, ranks, 8 * size)
        alike = _one_step(sync_step, case, same, gradients, lr).values
        bits = {value.tobytes() for value in alike}
        expect(len(bits) == 1, case, "replicas that were equal differ in the last bits after the step")


def _one_step(sync_step, case, starts, gradients, lr):
    def worker(comm):
        theta, gradient = starts[comm.rank].copy(), gradients[comm.rank].copy()
        after = sync_step(comm, theta, gradient, lr)
        kept = np.array_equal(theta, starts[comm.rank])
        expect(kept or after is theta, case, "theta was changed in place, but something else was returned")
        expect(
            np.array_equal(gradient, gradients[comm.rank]), case, "the gradient was changed; work on a copy"
        )
        return after

    return run_attempt(case, worker, len(starts))


def _expect_step(case, values, starts, gradients, lr):
    mean = gradients.mean(axis=0)
    found = [
        (starts - lr * mean, None),
        (starts - lr * gradients, "each rank stepped by its own gradient; step by the mean of all"),
        (starts - lr * mean * len(starts), "the step is K times too long: a sum was used, not a mean"),
        (starts + lr * mean, "the step goes uphill: subtract"),
        (starts - mean, "the learning rate is missing"),
        (starts * 0 + mean, "the mean gradient was returned; return theta after the step"),
        (
            np.repeat((starts - lr * gradients).mean(axis=0)[None], len(starts), axis=0),
            "parameters were averaged; with replicas that differ this is not the same: average gradients",
        ),
    ]
    for wanted, hint in found:
        if np.allclose(values, wanted, rtol=1e-12, atol=1e-12):
            expect(hint is None, case, hint)
            return
    rank = int(np.argmax(np.abs(values - found[0][0]).max(axis=1)))
    expect(False, case, f"rank {rank} returned {values[rank][:3]}; one step gives {found[0][0][rank][:3]}")


def _expect_one_all_reduce(case, run, ranks, nbytes):
    rounds = collectives(run)
    expect(rounds <= 1, case, f"{rounds} collectives were used; one all-reduce is enough")
    sent, enough = sum(message.nbytes for message in run.messages), 2 * (ranks - 1) * nbytes
    expect(sent <= enough, case, f"{sent} bytes were sent in all; {enough} are enough")
    expect_received(case, run.messages)


# --- 3.2


def _same_start(same_start):
    for ranks, size in _worlds():
        case = f"{workers(ranks)}, {_size(size)}"
        expect_function(case, same_start)
        starts = _drawn(ranks, size, 4)

        def worker(comm, starts=starts):
            return same_start(comm, starts[comm.rank].copy())

        run = run_attempt(case, worker, ranks)
        values = _arrays(case, run.values, (size,))
        if ranks > 1:
            _expect_first(case, values, starts)
        expect(np.array_equal(values[0], starts[0]), case, "rank 0's own start was changed")
        sent, enough = sum(message.nbytes for message in run.messages), (ranks - 1) * 8 * size
        expect(
            sent <= enough,
            case,
            f"{sent} bytes were sent in all; one copy to each other rank is {enough}",
        )
        expect_received(case, run.messages)


def _expect_first(case, values, starts):
    mean = np.repeat(starts.mean(axis=0)[None], len(starts), axis=0)
    expect(
        not np.allclose(values, mean, rtol=1e-12),
        case,
        "all agree, but on the mean of the starts; rank 0's is wanted",
    )
    for rank in range(1, len(starts)):
        others = [other for other in range(1, len(starts)) if np.array_equal(values[rank], starts[other])]
        kept = "its own start" if rank in others else f"rank {others[0]}'s start" if others else None
        expect(not others, case, f"rank {rank} returned {kept}; rank 0's is wanted")
        expect(
            np.array_equal(values[rank], starts[0]),
            case,
            f"rank {rank} returned {values[rank][:3]}; rank 0 started from {starts[0][:3]}",
        )


# --- 3.3


def _agrees(agrees):
    for ranks in WORKER_COUNTS:
        for size in (2, 5, 1000):
            theta = _drawn(1, size, 5)[0]
            last_bit, other_order = theta.copy(), theta[::-1].copy()
            last_bit[size // 2] = np.nextafter(theta[size // 2], np.inf)
            kinds: list[tuple] = [("all equal", theta, None)]
            for rank in {0, ranks - 1} if ranks > 1 else ():
                last = f"rank {rank} is off by the last bit of one number"
                order = f"rank {rank} holds the same numbers in another order"
                kinds += [(last, last_bit, rank), (order, other_order, rank)]
            for name, strange, odd in kinds:
                _expect_verdicts(
                    agrees, f"{workers(ranks)}, {_size(size)}, {name}", ranks, theta, strange, odd
                )
    for dtype in (np.float64, np.float32):
        for name, theta, strange in _sly(dtype):
            case = f"{workers(3)}, {_size(len(theta))} of {theta.dtype}, {name}"
            _expect_verdicts(agrees, case, 3, theta, strange, None if strange is theta else 2)


def _sly(dtype, size=1001):
    """(name, rank 0's parameters, rank 2's): what a sum, an XOR or a look at a few numbers misses."""
    theta = _drawn(1, size, 7)[0].astype(dtype)
    theta[[400, 555, 700]] = 1.0, 1.5, 0.0
    not_a_number = theta.copy()
    not_a_number[3] = np.nan
    yield "all equal, one of them NaN", not_a_number, not_a_number
    for place in (0, 777, size - 1):
        last_bit = theta.copy()
        last_bit[place] = np.nextafter(theta[place], dtype(np.inf))
        yield f"rank 2 is off by the last bit of number {place}", theta, last_bit
    for name, places, values in (
        ("two numbers swapped", [400, 555], [1.5, 1.0]),
        ("two numbers drawn together, their sum unchanged", [400, 555], [1.25, 1.25]),
        ("-0.0 in the place of 0.0", [700], [-0.0]),
    ):
        changed = theta.copy()
        changed[places] = values
        yield f"rank 2 has {name}", theta, changed
    flipped = theta.copy()
    flipped.view(f"u{theta.itemsize}")[[401, 556]] ^= 1
    yield "rank 2 is off by the same bit of two numbers", theta, flipped


def _expect_verdicts(agrees, case, ranks, theta, strange, odd):
    """Rank `odd` holds `strange`, the others theta."""
    expect_function(case, agrees)

    def worker(comm):
        return agrees(comm, (strange if comm.rank == odd else theta).copy())

    run = run_attempt(case, worker, ranks)
    wanted = [rank == 0 or odd is None or odd not in (0, rank) for rank in range(ranks)]
    for rank, (verdict, right) in enumerate(zip(run.values, wanted, strict=True)):
        known = isinstance(verdict, bool | np.bool_)
        expect(known, case, f"rank {rank} returned {type(verdict).__name__}, not True or False")
        expect(
            bool(verdict) == right,
            case,
            f"rank {rank} says {bool(verdict)}; compared with rank 0, bit for bit, it is {right}",
        )
    most = largest_message(run)
    expect(
        most <= MOST_BYTES,
        case,
        f"a message carried {most} bytes; send a fingerprint, {MOST_BYTES} bytes at most",
    )
    expect_received(case, run.messages)


# --- 3.4


def _local_sgd(local_sgd):
    for ranks in WORKER_COUNTS:
        for steps, every, lr in LOCAL:
            case = f"{workers(ranks)}, {steps} steps, averaging every {every}"
            expect_function(case, local_sgd)
            answers, pulls = _drawn(ranks, 3, 6), np.linspace(0.5, 2, ranks)

            def worker(comm, steps=steps, every=every, lr=lr, answers=answers, pulls=pulls):
                def gradient(theta):
                    return pulls[comm.rank] * (theta - answers[comm.rank])

                return local_sgd(comm, START.copy(), gradient, lr, steps, every)

            run = run_attempt(case, worker, ranks)
            values = _arrays(case, run.values, (3,))
            wanted, last_round_alone = _local_reference(answers, pulls, steps, every, lr)
            for when in _one_step_early(steps, every) if ranks > 1 else ():
                early = np.allclose(values, _local_end(answers, pulls, steps, when, lr))
                expect(not early, case, f"the first averaging is due after {every} steps; count from 1")
            if steps % every and ranks > 1:
                left = np.allclose(values, last_round_alone)
                expect(not left, case, "the last steps were not averaged: average once more at the end")
            rounds = collectives(run)
            enough = -(-steps // every)
            expect(
                rounds == enough or ranks == 1,
                case,
                f"{rounds} collectives were used; {enough} averagings are due",
            )
            _expect_local(case, values, wanted)


def _expect_local(case, values, wanted):
    together = np.ptp(values, axis=0).max() <= 1e-12  # not so for infinities
    expect(together, case, "the ranks end with different parameters; is it the parameters that you average?")
    expect(
        np.allclose(values[0], wanted, rtol=1e-12),
        case,
        f"rank 0 returned {values[0]}; {wanted} comes out if parameters are averaged after those steps",
    )


def _local_reference(answers, pulls, steps, every, lr):
    """(the end, the end if the broken last round is not averaged)"""
    theta = _local_end(answers, pulls, steps, range(every, steps + 1, every), lr)
    return theta.mean(axis=0), theta


def _one_step_early(steps, every):
    """The steps of `step % every == 0` counted from 0, without and with an averaging at the end."""
    early = range(1, steps + 1, every)
    return [early, [*early, steps]] if every > 1 else []


def _local_end(answers, pulls, steps, when, lr):
    """All ranks' parameters if they are averaged after the steps in `when`, the first step being 1."""
    theta = np.repeat(START[None], len(answers), axis=0)
    for step in range(1, steps + 1):
        theta = theta - lr * pulls[:, None] * (theta - answers)
        if step in when:
            theta = np.repeat(theta.mean(axis=0)[None], len(theta), axis=0)
    return theta


# --- for all


def _worlds():
    """(ranks, parameters) of each case."""
    return [*((ranks, size) for ranks in WORKER_COUNTS for size in SIZES), FAR]


def _size(count):
    return "1 parameter" if count == 1 else f"{count} parameters"


def _drawn(ranks, size, seed):
    return np.random.default_rng([seed, ranks, size]).normal(size=(ranks, size))


def _arrays(case, values, shape):
    """The ranks' values as one array, or a report of the first that is not an array of that shape."""
    expect_arrays(case, values, shape)
    return np.array(values)
