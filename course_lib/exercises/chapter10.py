"""Checkers of chapter 10's exercises: values and messages, over worker counts and sizes."""

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
    run_attempt,
    workers,
)
from course_lib.labels import label

SIZES = (1, 4, 5)
FAR = 40, 300, 1e-6  # workers, length and size of gradients unlike the others
COUNTS = (1, 4000), (500, 3, 1, 20_000, 40)  # samples of each worker, for longer and shorter gradients
DEALS = (12, 1, 4), (12, 2, 3), (24, 4, 2), (42, 7, 3), (26, 4, 3), (5, 2, 3), (1000, 5, 8)
PARTNERS = 100  # with how many others a sample shares its batch in 31 epochs of the last of them: about 200


@exercise("10.1")
def check_server_mean(server_mean):
    """Exercise 10.1: server_mean(comm, array) → the mean, by rank 0, with send and recv only."""
    return checked(lambda: _server_mean(server_mean), "1, 2, 3, 4, 7 and 40 workers, values and messages")


@exercise("10.2")
def check_weighted_step(global_gradient):
    """Exercise 10.2: global_gradient(comm, local, count) → the mean over all samples, unequal shards."""
    return checked(
        lambda: _weighted(global_gradient), "unequal shards on 1 to 7 workers, of 1 to 20,000 samples"
    )


@exercise("10.3")
def check_epoch_batches(epoch_batches):
    """Exercise 10.3: epoch_batches(rng, samples, workers, batch) → per step, an index array a worker."""
    return checked(
        lambda: _batches(epoch_batches),
        "no sample twice in an epoch, none left out for ever, equal batches, seeded",
    )


def _server_mean(server_mean):
    changed = "the worker's own gradient was changed; add into a copy"
    for case, inputs in (*gradient_cases(SIZES), _far_gradients()):
        expect_function(case, server_mean)
        run = run_attempt(case, on_copies(server_mean, inputs, case, changed), len(inputs))
        _expect_equal(case, run.values, np.mean(inputs, axis=0), np.abs(inputs).max())
        expect(collectives(run) == 0, case, "a collective was used; send and recv are enough")
        _expect_star(case, run.messages, len(inputs), inputs[0].nbytes)


def _far_gradients():
    """(case, inputs) with more workers, and longer and smaller gradients than in the other cases."""
    ranks, size, scale = FAR
    case = label("ch10_case_small", workers=workers(ranks), size=size, scale=f"{scale:g}")
    return case, list(scale * np.random.default_rng(ranks).normal(size=(ranks, size)))


def _expect_equal(case, values, wanted, scale=1.0):
    """Every rank's value is `wanted`, and all are the same to the last bit; scale: of what was averaged."""
    expect_arrays(case, values, wanted.shape)
    for rank, value in enumerate(values):
        if not np.allclose(value, wanted, rtol=1e-12, atol=1e-12 * scale):
            hint = _ratio(values, wanted)
            expect(False, case, f"rank {rank} returned {value[:3]}, the mean is {wanted[:3]}{hint}")
    same = all(np.array_equal(value, values[0]) for value in values)
    expect(same, case, "the ranks' results differ in the last bits: let one rank add, and send its result")


def _ratio(values, wanted):
    """A hint, if all ranks are off by one and the same factor."""
    ratios = np.array(values) / wanted
    if ratios.size > 1 and np.allclose(ratios, ratios.flat[0], rtol=1e-9):
        return f": {ratios.flat[0]:.4g} times the mean, everywhere"
    return ""


def _expect_star(case, messages, ranks, nbytes):
    """K-1 messages to rank 0, K-1 back, each the size of the gradient, and nothing else."""
    up = sorted(message.source for message in messages if message.target == 0)
    down = sorted(message.target for message in messages if message.source == 0)
    others = list(range(1, ranks))
    expect(up == others, case, f"rank 0 should hear once from each of {others}, but heard from {up}")
    expect(down == others, case, f"rank 0 should answer each of {others} once, but sent to {down}")
    expect(
        len(messages) == 2 * len(others),
        case,
        f"{len(messages)} messages were sent; {2 * len(others)}, all to or from rank 0, are enough",
    )
    for message in messages:
        expect(
            message.nbytes == nbytes,
            case,
            f"{message.source} → {message.target} carried {message.nbytes} bytes, a gradient has {nbytes}",
        )
    expect_received(case, messages)


def _weighted(global_gradient):
    changed = "the worker's own gradient was changed; multiply a copy"
    for case, counts, parts in _shares():
        expect_function(case, global_gradient)
        ranks, means = len(parts), [part.mean(axis=0) for part in parts]

        def attempt(comm, local, counts=counts):
            return global_gradient(comm, local, int(counts[comm.rank]))

        run = run_attempt(case, on_copies(attempt, means, case, changed), ranks)
        wanted = np.concatenate(parts).mean(axis=0)
        expect_arrays(case, run.values, wanted.shape)
        plain = np.mean(means, axis=0)
        got = run.values[0]
        if ranks > 1 and np.allclose(got, plain):
            expect(False, case, f"{got} is the plain mean of means; shards of {counts} samples need weights")
        own = [part.sum(axis=0) for part in parts]
        by_own = [sum(own) / len(part) for part in parts]
        expect(
            ranks == 1 or not np.allclose(run.values, by_own),
            case,
            "divided by this rank's count; divide by the count of all ranks",
        )
        _expect_equal(case, run.values, wanted)
        rounds = collectives(run)
        expect(rounds <= 2, case, f"{rounds} collectives were used; two are enough, and one can do it")
        carried = largest_message(run)
        expect(
            carried <= 8 * (wanted.size + 1),
            case,
            f"a message carried {carried} bytes: send sums, not samples",
        )


def _shares():
    """Yield (case, counts, parts): how many samples each worker has, and their gradients."""
    for ranks in WORKER_COUNTS:
        rng = np.random.default_rng(ranks)
        counts = rng.integers(1, 9, size=ranks)
        yield workers(ranks), counts, [rng.normal(size=(count, 3)) for count in counts]
    for width, many in zip((1, 17), COUNTS, strict=True):
        rng = np.random.default_rng(width)
        case = label("ch10_case_counts", workers=workers(len(many)), counts=", ".join(map(str, many)))
        yield case, np.array(many), [rng.normal(rank, size=(count, width)) for rank, count in enumerate(many)]


def _batches(epoch_batches):
    for samples, ranks, batch in DEALS:
        case = f"{samples} samples, {workers(ranks)}, batches of {batch}"
        expect_function(case, epoch_batches)

        def epochs(_, given=(samples, ranks, batch)):
            made = [epoch_batches(np.random.default_rng(seed), *given) for seed in (0, 0, *range(1, 30))]
            made = [list(epoch) if hasattr(epoch, "__next__") else epoch for epoch in made]
            return None if made[0] is None or made[0] is Ellipsis else made

        first, again, *others = (_as_steps(case, epoch) for epoch in run_attempt(case, epochs, 1).values[0])
        for epoch in (first, *others):
            _expect_dealt(case, epoch, samples, ranks, batch)
        if not len(first):
            continue
        expect(_same(first, again), case, "the same rng gave another order: draw from rng only")
        expect(not _same(first, others[0]), case, "another rng gave the same order: shuffle with rng")
        ever = set(np.concatenate([_used(epoch) for epoch in (first, *others)]))
        expect(len(ever) == samples, case, "some samples are left out in every epoch: shuffle all of them")
        _expect_mixed(case, [first, *others], samples, ranks, batch)


def _expect_dealt(case, epoch, samples, ranks, batch):
    """Whole steps only, full batches, no sample twice, indices in range."""
    steps = samples // (ranks * batch)
    expect(len(epoch) == steps, case, f"{len(epoch)} steps; an epoch holds {steps} whole ones")
    if not steps:
        return
    shapes = {tuple(map(len, step)) for step in epoch}
    wanted = f"each step needs {batch} indices for each of {workers(ranks)}"
    expect(shapes == {(batch,) * ranks}, case, f"{wanted}, got sizes {sorted(shapes)}")
    used = _used(epoch)
    expect(len(set(used)) == len(used), case, "a sample was used twice in one epoch")
    expect(0 <= used.min() and used.max() < samples, case, f"indices go from 0 to {samples - 1}")


def _expect_mixed(case, epochs, samples, ranks, batch):
    """No worker keeps its samples, no sample its neighbours."""
    for rank in range(ranks if ranks > 1 else 0):
        seen = {index for epoch in epochs for step in epoch for index in step[rank].tolist()}
        expect(len(seen) > -(-samples // ranks), case, label("ch10_same_pieces", rank=rank))
    if (samples, ranks, batch) == DEALS[-1]:
        parts = [set(part.tolist()) for epoch in epochs for step in epoch for part in step]
        beside = set().union(*(part for part in parts if 0 in part)) - {0}
        expect(len(beside) > PARTNERS, case, label("ch10_neighbours", count=len(beside), epochs=len(epochs)))


def _used(epoch):
    return np.concatenate([np.concatenate(step) for step in epoch])


def _as_steps(case, epoch):
    """An epoch as a list of steps, each a list of integer arrays; a clear report if it is not."""
    try:
        steps = [[np.asarray(part) for part in step] for step in epoch]
        whole = all(
            np.issubdtype(part.dtype, np.integer) and part.ndim == 1 for step in steps for part in step
        )
    except (TypeError, ValueError):
        whole = False
    expect(whole, case, "return a list of steps; a step is a list with one array of indices a worker")
    return steps


def _same(one, two):
    flat_one, flat_two = (
        [index for step in epoch for part in step for index in part] for epoch in (one, two)
    )
    return flat_one == flat_two
