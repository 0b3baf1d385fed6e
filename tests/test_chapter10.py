"""Chapter 10's checkers: each shortcut of a learner in a hurry is refused, right answers of any form pass."""

import numpy as np
import pytest
from attempts import rejected, server_mean

from course_lib.exercises.chapter10 import check_epoch_batches, check_server_mean, check_weighted_step

# --- 10.1


def among(ranks):
    """server_mean for this many workers only."""

    def attempt(comm, array):
        others = range(1, min(ranks, comm.size))
        if comm.rank > 0:
            comm.send(array, to=0)
            return comm.recv(source=0)
        mean = (array + sum(comm.recv(source) for source in others)) / comm.size
        for rank in range(1, comm.size):
            comm.send(mean, to=rank)
        return mean

    return attempt


def divided_by(number):
    return lambda comm, array: server_mean(comm, array) * comm.size / number


def a_list_of_parts(comm, array):
    """All parts first, then np.mean over them."""
    if comm.rank:
        comm.send(array, to=0)
        return comm.recv(source=0)
    parts = [array] + [comm.recv(source) for source in range(1, comm.size)]
    mean = np.mean(parts, axis=0)
    [comm.send(mean, to=rank) for rank in range(1, comm.size)]
    return mean


def in_plain_python(comm, array):
    """Number by number, in a while loop, from the last worker to the first."""
    if comm.rank:
        comm.send(array, 0)
        return comm.recv(0)
    total, rank = list(array), comm.size - 1
    while rank:
        total = [one + other for one, other in zip(total, comm.recv(rank), strict=True)]
        rank -= 1
    mean = np.array([number / comm.size for number in total])
    for rank in reversed(range(1, comm.size)):
        comm.send(mean, rank)
    return mean


# --- 10.2


def packed(comm, local, count):
    total = comm.all_reduce(np.append(local * count, count))
    return total[:-1] / total[-1]


def in_place(comm, local, count):
    total, mine = comm.all_reduce(np.array([float(count)])), local.copy()
    mine *= count / total
    return comm.all_reduce(mine)


def with_own_shares(comm, local, count):
    """The weight first: no division after the sum."""
    everybody = comm.all_reduce(np.array(count))
    return comm.all_reduce(np.array([number * count / everybody for number in local]))


def of_128(comm, local, count):
    return comm.all_reduce(local * count) / 128


def of_three(comm, local, count):
    total = comm.all_reduce(np.append(local * count, count))
    return total[:3] / total[3]


def in_bytes(comm, local, count):
    return packed(comm, local, int(np.uint8(min(count, 255))))


# --- 10.3


def dealt(order, samples, workers, batch):
    steps = samples // (workers * batch)
    return order[: steps * workers * batch].reshape(steps, workers, batch)


def rows(rng, samples, workers, batch):
    return dealt(rng.permutation(samples), samples, workers, batch)


def in_lists(rng, samples, workers, batch):
    order = list(range(samples))
    rng.shuffle(order)
    steps = []
    for _ in range(samples // (workers * batch)):
        steps.append([[order.pop() for _ in range(batch)] for _ in range(workers)])
    return steps


def by_stride(rng, samples, workers, batch):
    steps = samples // (workers * batch)
    order = rng.permutation(samples)
    shares = [order[rank::workers][: steps * batch] for rank in range(workers)]
    return [[share[step * batch : (step + 1) * batch] for share in shares] for step in range(steps)]


def by_sorting(rng, samples, workers, batch):
    yield from dealt(np.argsort(rng.random(samples)), samples, workers, batch)


def own_pieces_shuffled(rng, samples, workers, batch):
    steps = samples // (workers * batch)
    shares = [rng.permutation(np.arange(rank, samples, workers)) for rank in range(workers)]
    return [[share[step * batch : (step + 1) * batch] for share in shares] for step in range(steps)]


def blocks_shuffled(rng, samples, workers, batch):
    blocks = np.arange(samples // batch * batch).reshape(-1, batch) + samples % batch * rng.integers(2)
    order = rng.permutation(blocks).ravel()
    return dealt(order, samples, workers, batch)


def rolled(rng, samples, workers, batch):
    return dealt(np.roll(np.arange(samples), rng.integers(samples)), samples, workers, batch)


def steps_in_order(rng, samples, workers, batch):
    order = np.arange(samples)
    if rng.integers(2):
        order = order[::-1].copy()
    for start in range(0, samples, workers * batch):
        rng.shuffle(order[start : start + workers * batch])
    return dealt(np.roll(order, rng.integers(samples % (workers * batch) + 1)), samples, workers, batch)


RIGHT = {
    check_server_mean: (server_mean, a_list_of_parts, in_plain_python),
    check_weighted_step: (packed, in_place, with_own_shares),
    check_epoch_batches: (rows, in_lists, by_stride, by_sorting),
}
SHORTCUTS = {
    check_server_mean: {
        "a constant": (lambda comm, array: np.zeros_like(array), "the mean is"),
        "own gradient": (lambda comm, array: array.copy(), "the mean is"),
        "divided by 4": (divided_by(4), "the mean is|times the mean"),
        "four workers": (among(4), "the mean is|nobody received"),
        "seven workers": (among(7), "the mean is|nobody received"),
        "rounded": (lambda comm, array: np.round(server_mean(comm, array), 12), "the mean is"),
        "float32": (lambda comm, array: server_mean(comm, array.astype("f4")).astype(float), "the mean is"),
        "a tuple": (lambda comm, array: tuple(server_mean(comm, array)), "not an array"),
    },
    check_weighted_step: {
        "a constant": (lambda comm, local, count: np.zeros_like(local), "the mean is"),
        "the plain mean": (lambda comm, local, count: comm.all_reduce(local, op="mean"), "plain mean"),
        "128 samples": (of_128, "the mean is"),
        "three numbers": (of_three, "shape|IndexError"),
        "counts up to 255": (in_bytes, "the mean is"),
        "rounded": (lambda *given: np.round(packed(*given), 9), "the mean is"),
        "float32": (lambda comm, local, count: packed(comm, local.astype("f4"), count), "the mean is"),
        "own count": (lambda comm, local, count: comm.all_reduce(local * count) / count, "this rank's count"),
    },
    check_epoch_batches: {
        "a constant": (lambda *_: [[[0, 1, 2, 3]]], "another order|steps|sizes"),
        "no shuffle": (lambda rng, n, k, b: dealt(np.arange(n), n, k, b), "another rng gave the same order"),
        "shuffled shards": (own_pieces_shuffled, "worker 0 gets the same samples in every epoch"),
        "shuffled blocks": (blocks_shuffled, "shuffle single samples|left out"),
        "rolled": (rolled, "shuffle single samples"),
        "shuffled steps": (steps_in_order, "shuffle single samples|left out"),
        "a step too many": (
            lambda rng, n, k, b: np.resize(rng.permutation(n), (n // (k * b) + 1, k, b)),
            "steps; an epoch holds",
        ),
        "at least one step": (
            lambda rng, n, k, b: (
                rows(rng, n, k, b) if n >= k * b else rng.permutation(k * b).reshape(1, k, b)
            ),
            "steps; an epoch holds",
        ),
    },
}


@pytest.mark.parametrize(
    ("check", "attempt"), [(check, attempt) for check, attempts in RIGHT.items() for attempt in attempts]
)
def test_right_answers_of_any_form_pass(check, attempt):
    report = check(attempt)
    assert report.passed, report


@pytest.mark.parametrize(
    ("check", "shortcut"), [(check, name) for check, names in SHORTCUTS.items() for name in names]
)
def test_a_shortcut_is_refused(check, shortcut):
    attempt, hint = SHORTCUTS[check][shortcut]
    rejected(check(attempt), hint)


@pytest.mark.parametrize("check", RIGHT)
@pytest.mark.parametrize("nothing", [None, ...])
def test_nothing_yet_is_not_attempted(check, nothing):
    report = check(nothing)
    assert report.passed is None and "Not attempted yet" in repr(report)


@pytest.mark.parametrize("check", RIGHT)
@pytest.mark.parametrize("value", [7, "mean", [1.0], np.zeros(3)])
def test_what_is_no_function_is_told(check, value):
    rejected(check(value), f"a function is asked for; this is {type(value).__name__}")
