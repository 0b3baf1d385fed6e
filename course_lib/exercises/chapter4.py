"""Checkers of chapter 4's exercises: values and messages, over worker counts and sizes."""

from itertools import product

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
    gradient_cases,
    largest_message,
    on_copies,
    real_array,
    run_attempt,
    workers,
)

SIZES = (1, 4, 5)
LAYERS = (((3,), (2, 2)), ((5,), (0,), (2, 3), ()), ((1, 4), (7,), (2,), (3, 1), (1,)))
MANY_LAYERS = (*(((3, 1, 2), (), (0, 4), (17,)) * 10), (4, 999))
LOSSES = ((2.0, 3.0, 7.0), (5.0, 0.0), (), (4.0,), (1.0, 1.0, 1.0, 9.0), (), (8.0,))  # one tuple a rank
MANY_LOSSES = (0, 1, 70_000, 3, 0, 17, 250, 2, 0, 1, 8, 1000)  # how many on each rank


@exercise("4.1")
def check_chain_mean(chain_mean):
    """Exercise 4.1: chain_mean(comm, array) → the mean, between neighbours only, there and back."""
    return checked(lambda: _chain(chain_mean), "1 to 12 workers, values and messages")


@exercise("4.2")
def check_scaled_loss(scaled_loss):
    """Exercise 4.2: scaled_loss(comm, losses) → its plain mean over ranks is the mean over all samples."""
    return checked(lambda: _scaled(scaled_loss), "unequal shards and ranks without data, 1 to 12 workers")


@exercise("4.3")
def check_reduce_layers(reduce_layers):
    """Exercise 4.3: reduce_layers(comm, layers) → the mean of each layer, in a single all-reduce."""
    return checked(lambda: _layers(reduce_layers), "values, shapes and one all-reduce, 1 to 12 workers")


def _chain(chain_mean):
    expect_function("chain_mean", chain_mean)
    changed = "array itself was changed; add into a copy"
    small = [1e-9 * np.random.default_rng(rank).normal(size=1001) for rank in range(12)]
    for case, inputs in (*gradient_cases(SIZES), (f"{workers(12)}, 1001 tiny gradients", small)):
        run = run_attempt(case, on_copies(chain_mean, inputs, case, changed), len(inputs))
        expect_arrays(case, run.values, inputs[0].shape)
        expect(
            collectives(run) == 0, case, "a collective was called; comm.send and comm.recv are all you need"
        )
        _expect_line(case, run.messages, len(inputs), inputs[0].nbytes)
        _expect_mean(case, run.values, inputs)


def _expect_line(case, messages, ranks, nbytes):
    """One message over each pair of neighbours each way, and no other."""
    pairs = [(message.source, message.target) for message in messages]
    for message, (source, target) in zip(messages, pairs, strict=True):
        near = abs(source - target) == 1
        expect(near, case, f"rank {source} sent to rank {target}: in a row only neighbours may talk")
        expect(
            message.nbytes == nbytes,
            case,
            f"{source} → {target} carried {message.nbytes} bytes, a gradient has {nbytes}: "
            "add before you pass on, and send whole arrays",
        )
    expect_received(case, messages)
    for low in range(ranks - 1):
        for pair, way in (((low, low + 1), "up"), ((low + 1, low), "back down")):
            count = pairs.count(pair)
            expect(
                count == 1,
                case,
                f"{pair[0]} → {pair[1]} was used {count} times; once on the way {way} is what is asked",
            )
    starts = dict(zip(pairs, (message.start for message in messages), strict=True))
    for low in range(ranks - 2):
        expect(
            starts[low, low + 1] < starts[low + 1, low + 2],
            case,
            f"rank {low + 1} sent up before it had the sum of the ranks below: receive, add, then send",
        )


def _expect_mean(case, values, inputs):
    wanted, partial = np.mean(inputs, axis=0), np.cumsum(inputs, axis=0)
    for rank, value in enumerate(values):
        if _right(case, f"rank {rank}'s mean", value, wanted):
            continue
        if np.allclose(value, len(inputs) * wanted):
            expect(False, case, f"rank {rank} returned the sum; divide by comm.size, once")
        if np.allclose(value, partial[rank]):
            expect(False, case, f"rank {rank} returned what it passed on; the mean comes back down the row")
        if np.allclose(value, wanted / len(inputs)):
            expect(False, case, f"rank {rank} divided twice; the last rank divides, the others pass it on")
        expect(False, case, f"rank {rank} returned {value[:3]}, the mean is {wanted[:3]}")
    same = all(np.array_equal(value, values[0]) for value in values)
    expect(same, case, "the ranks differ in the last bits: pass the finished mean on as it is")


def _right(case, name, value, wanted):
    """Whether `value` is `wanted` to float64's rounding; right to fewer digits ends the check."""
    scale = np.max(np.abs(wanted), initial=0.0)
    right = np.allclose(value, wanted, rtol=0, atol=1e-12 * scale)
    expect(
        right or not np.allclose(value, wanted, rtol=0, atol=1e-3 * scale),
        case,
        f"{name} is right to a few digits only: keep float64, and round nothing",
    )
    return right


def _scaled(scaled_loss):
    expect_function("scaled_loss", scaled_loss)
    few = [[np.array(losses) for losses in LOSSES[:ranks]] for ranks in WORKER_COUNTS]
    many = [np.random.default_rng(rank).exponential(size=size) for rank, size in enumerate(MANY_LOSSES)]
    for mine in (*few, many):
        ranks = len(mine)
        case = f"{workers(ranks)} with {', '.join(str(len(losses)) for losses in mine)} losses"

        def worker(comm, mine=mine):
            return scaled_loss(comm, mine[comm.rank].copy())

        run = run_attempt(case, worker, ranks)
        samples = np.concatenate(mine)
        wanted = [ranks * losses.sum() / len(samples) for losses in mine]
        values = _as_numbers(case, run.values)
        _expect_scaled(case, values, wanted, mine, samples)
        carried = largest_message(run)
        expect(
            carried <= 8, case, f"a message carried {carried} bytes: only the count of losses needs to travel"
        )
        rounds = collectives(run)
        expect(rounds <= 1, case, f"{rounds} collectives were used; one, for the count, is enough")


def _as_numbers(case, values):
    for rank, value in enumerate(values):
        number = real_array(value)
        good = number is not None and number.size == 1
        expect(good, case, f"rank {rank} returned {value!r}, not one number")
    return [np.asarray(value, dtype=float).item() for value in values]


def _expect_scaled(case, values, wanted, mine, samples):
    for rank, value in enumerate(values):
        if np.isnan(value):
            expect(False, case, f"rank {rank} returned NaN: the mean of no losses; start from the sum")
        if _right(case, f"rank {rank}'s number", value, wanted[rank]):
            continue
        if len(mine) > 1 and np.isclose(value, samples.mean()) and np.allclose(values, values[0]):
            expect(
                False,
                case,
                "every rank returned the mean over all: its gradient would no longer be that of "
                "this rank's own losses; return your own share",
            )
        if np.isclose(value, mine[rank].sum()) and len(samples) > 1:
            expect(
                False, case, f"rank {rank} returned its plain sum, {value:g}; which factor makes it right?"
            )
        if np.isclose(value, wanted[rank] / len(mine)):
            expect(
                False, case, f"rank {rank} forgot that the average over ranks divides by {len(mine)} again"
            )
        if len(mine[rank]) and np.isclose(value, mine[rank].mean()):
            expect(
                False,
                case,
                f"rank {rank} returned its own mean, {value:g}: a rank with few losses counts too much",
            )
        expect(False, case, f"rank {rank} returned {value:g}, not {wanted[rank]:g}")


def _layers(reduce_layers):
    expect_function("reduce_layers", reduce_layers)
    for ranks, shapes in (*product(WORKER_COUNTS, LAYERS), (12, MANY_LAYERS)):
        listed = f"layers of shapes {', '.join(map(str, shapes))}"
        case = f"{workers(ranks)}, {listed if len(shapes) < 9 else f'{len(shapes)} layers'}"
        inputs = [_random_layers(ranks, rank, shapes) for rank in range(ranks)]

        def worker(comm, inputs=inputs, case=case):
            mine = [layer.copy() for layer in inputs[comm.rank]]
            means = reduce_layers(comm, mine)
            same = all(map(np.array_equal, mine, inputs[comm.rank]))
            expect(same, case, "the worker's own layers were changed; return new arrays")
            return means

        run = run_attempt(case, worker, ranks)
        _expect_layers(case, run.values, inputs, shapes)
        _expect_one_collective(case, run)


def _random_layers(ranks, rank, shapes):
    rng = np.random.default_rng([ranks, rank, len(shapes)])
    return [rng.normal(size=shape) for shape in shapes]


def _expect_layers(case, values, inputs, shapes):
    for rank, means in enumerate(values):
        listed = isinstance(means, list | tuple)
        expect(listed, case, f"rank {rank} returned {type(means).__name__}; return a list, one array a layer")
        expect(
            len(means) == len(shapes),
            case,
            f"rank {rank} returned {len(means)} arrays for {len(shapes)} layers",
        )
        for place, (mean, shape) in enumerate(zip(means, shapes, strict=True)):
            known = real_array(mean) is not None
            expect(known, case, f"layer {place} is {type(mean).__name__} on rank {rank}, not real numbers")
            got = np.shape(mean)
            expect(
                got == shape,
                case,
                f"layer {place} came back with shape {got}, not {shape}: reshape each part",
            )
            expect(not np.isnan(mean).any(), case, f"layer {place} has NaN on rank {rank}")
            wanted = np.mean([layers[place] for layers in inputs], axis=0)
            if _right(case, f"layer {place}", mean, wanted):
                continue
            total = np.allclose(mean, len(inputs) * wanted)
            expect(
                not total, case, f"layer {place} is the sum, not the mean: op='mean', or divide by comm.size"
            )
            own = np.allclose(mean, inputs[rank][place])
            expect(not own, case, f"layer {place} is rank {rank}'s own: the mean over ranks is wanted")
            expect(
                False,
                case,
                f"layer {place} has wrong numbers: does each part start where the last one ended?",
            )


def _expect_one_collective(case, run):
    rounds = collectives(run)
    expect(rounds > 0, case, "no all-reduce was used; flatten the layers and pass them to comm.all_reduce")
    expect(rounds == 1, case, f"{rounds} all-reduces were used; join the layers into one array first")
