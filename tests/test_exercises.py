"""Checkers accept what is right and reject what is wrong, with a message that helps."""

import itertools
import math
import signal
import sys
import time
import warnings

import numpy as np
import pytest
from attempts import accepts, in_place, left_empty, rejects, server_mean, untouched

from course_lib import Link, simulate
from course_lib.collectives import weighted_mean
from course_lib.exercises import chapter2, chapter3, chapter4, chapter5, chapter12, limits
from course_lib.exercises.chapter10 import check_epoch_batches, check_server_mean, check_weighted_step
from course_lib.exercises.report import checked
from course_lib.pictures import timeline
from course_lib.pictures.wording import bytes_text, number_text, seconds_text
from course_lib.widgets import ring_player


@pytest.mark.parametrize("stub", [untouched, left_empty])
@pytest.mark.parametrize("check", [check_server_mean, check_weighted_step, check_epoch_batches])
def test_an_untouched_stub_is_not_a_failure(check, stub):
    report = check(stub)
    assert report.passed is None
    assert "Not attempted yet" in repr(report)
    assert ("is a return missing?" in repr(report)) == (stub is left_empty)


def any_order(comm, array):
    if comm.rank > 0:
        comm.send(array, to=0)
        return comm.recv(source=0)
    total = array.copy()
    for _ in range(comm.size - 1):
        total += comm.recv_any()[1]
    for rank in range(1, comm.size):
        comm.send(total / comm.size, to=rank)
    return total / comm.size


def sum_only(comm, array):
    return server_mean(comm, array) * comm.size


def two_servers(comm, array):
    server_mean(comm, array)
    return server_mean(comm, array)


def everyone_adds(comm, array):
    total = array.copy()
    for other in set(range(comm.size)) - {comm.rank}:
        comm.send(array, other)
    for other in sorted(set(range(comm.size)) - {comm.rank}):
        total += comm.recv(other)
    return total / comm.size


def nobody_answers(comm, array):
    if comm.rank > 0:
        comm.send(array, to=0)
        return comm.recv(source=0)
    return (array + sum(comm.recv(source) for source in range(1, comm.size))) / comm.size


def as_a_list(comm, array):
    return server_mean(comm, array).tolist()


def drops_one(comm, array):
    if comm.rank > 0:
        comm.send(array[:-1], to=0)
        return comm.recv(source=0)
    padded = [np.append(comm.recv(source), 0) for source in range(1, comm.size)]
    mean = (array + sum(padded)) / comm.size
    for rank in range(1, comm.size):
        comm.send(mean, to=rank)
    return mean


test_server_mean_accepts = accepts(check_server_mean, server_mean, any_order)

test_server_mean_rejects = rejects(
    check_server_mean,
    (sum_only, "2 times the mean, everywhere"),
    (in_place(server_mean), "own gradient was changed"),
    (two_servers, "should hear once"),
    (everyone_adds, "should hear once|messages were sent|last bits"),
    (nobody_answers, "rank 1 waits in recv from rank 0, which has returned"),
    (as_a_list, "returned list, not an array"),
    (drops_one, "the mean is"),
    (lambda comm, array: comm.all_reduce(array, "mean"), "send and recv are enough"),
    (lambda comm, array: array, "the mean is"),
    (lambda comm, array: 1 / 0, "ZeroDivisionError"),
)


def two_reductions(comm, local, count):
    return comm.all_reduce(local * count) / comm.all_reduce(np.array(float(count)))


test_weighted_step_accepts = accepts(check_weighted_step, weighted_mean, two_reductions)

test_weighted_step_rejects = rejects(
    check_weighted_step,
    (lambda comm, local, count: comm.all_reduce(local, "mean"), "plain mean of means"),
    (lambda comm, local, count: comm.all_reduce(local * count), "the mean is"),
    (lambda comm, local, count: local, "the mean is"),
    (lambda comm, local, count: comm.all_reduce(local * count) / count, "count of all ranks"),
    (lambda comm, local, count: [two_reductions(comm, local, count) for _ in "ab"][0], "two are enough"),
    (lambda comm, local, count: two_reductions(comm, np.tile(local, 9), count)[:3], "send sums"),
)


def dealt(rng, samples, workers, batch):
    steps = samples // (workers * batch)
    return rng.permutation(samples)[: steps * workers * batch].reshape(steps, workers, batch)


def test_epoch_batches_accepts():
    assert check_epoch_batches(dealt).passed
    assert check_epoch_batches(lambda *given: [list(step) for step in dealt(*given)]).passed


test_epoch_batches_rejects = rejects(
    check_epoch_batches,
    (
        lambda rng, n, k, b: [[rng.integers(0, n, b) for _ in range(k)] for _ in range(n // (k * b))],
        "twice",
    ),
    (lambda rng, n, k, b: dealt(np.random.default_rng(0), n, k, b), "another rng gave the same order"),
    (lambda rng, n, k, b: dealt(np.random.default_rng(), n, k, b), "the same rng gave another order"),
    (lambda rng, n, k, b: dealt(rng, n, k, b)[:-1], "whole ones"),
    (lambda rng, n, k, b: dealt(rng, n, k, b).reshape(-1, k * b), "return a list of steps"),
    (lambda rng, n, k, b: dealt(rng, n, k, b) + 1, "indices go from 0"),
    (lambda rng, n, k, b: dealt(rng, n // (k * b) * k * b, k, b), "left out in every epoch"),
)


# --- whatever a function returns, however long it takes, the checker answers

RANKS_CHECKS = [
    check_server_mean,
    check_weighted_step,
    chapter2.check_strong_step,
    chapter3.check_sync_step,
    chapter3.check_same_start,
    chapter3.check_agrees,
    chapter3.check_local_sgd,
    chapter4.check_chain_mean,
    chapter4.check_scaled_loss,
    chapter4.check_reduce_layers,
    chapter5.check_ring,
]
OTHER_CHECKS = [
    check_epoch_batches,
    chapter2.check_workers_for,
    chapter2.check_serial_fractions,
    chapter2.check_best_workers,
    chapter5.check_link,
]
ODD = [
    *("a word", 1 + 2j, 10**400, {"a": 1}, {1: 2, "a": 3}, ("a", "b"), (1j, 2), [1, [2, 3]]),
    *(np.array(["a", "b", "c"]), np.array([None, 1, {}]), np.full(3, 1j), object(), math.nan),
    *([[[1, 2], [3, "4"]]], [[[[1], 2]]]),
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("check", RANKS_CHECKS + OTHER_CHECKS)
def test_odd_values_are_no_traceback(check, odd):
    report = check(lambda *_: odd)
    assert report.passed is False
    assert "could not be checked" not in repr(report) and "course_lib" not in repr(report), report


@pytest.mark.parametrize("check", RANKS_CHECKS)
def test_a_return_on_one_rank_only(check):
    report = check(lambda comm, array, *_: array if comm.rank == 0 else None)
    assert report.passed is False and "could not be checked" not in repr(report), report


def test_only_one_rank_returns_the_mean():
    for check, right in ((check_server_mean, server_mean), (check_weighted_step, weighted_mean)):
        report = check(lambda comm, *given, right=right: [right(comm, *given), None][comm.rank > 0])
        assert "rank 1 returned None: is a return missing on some ranks?" in repr(report)


def test_a_check_that_stumbles_reports_it():
    report = checked(lambda: np.array([[1], [2, 3]]), "")
    assert report.passed is False and "could not be checked (ValueError" in repr(report)


def loops(*_):
    step = 0
    while step < 3:
        pass


def forgets_to_count(comm, *_):
    while True:
        comm.send(np.ones(3), (comm.rank + 1) % comm.size) if comm.size > 1 else comm.compute(0)


def waits_for_the_clock(comm, *_):
    while comm.time() < 1:
        pass


def catches_all(*_):
    while True:
        try:
            time.sleep(0)
        except Exception:
            continue


def generates(rng, *_):
    return ([[index]] for index in itertools.count())


@pytest.mark.parametrize(
    ("check", "endless"),
    [
        *((check, loops) for check in (check_server_mean, chapter5.check_ring, chapter5.check_link)),
        *((check, forgets_to_count) for check in (chapter3.check_sync_step, chapter4.check_reduce_layers)),
        (chapter3.check_agrees, catches_all),
        (chapter4.check_chain_mean, waits_for_the_clock),
        (check_epoch_batches, generates),
        (chapter3.check_sync_step, lambda *_: [time.sleep(0.03) for _ in itertools.count()]),
    ],
)
def test_an_endless_loop_ends(check, endless):
    before, start = sys.gettrace(), time.monotonic()
    report = check(endless)
    assert report.passed is False and "still running after" in repr(report), report
    assert "does the loop end?" in repr(report)
    assert time.monotonic() - start < 30 and sys.gettrace() is before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of the processor's seconds")
def test_an_endless_loop_within_one_line_ends(monkeypatch):
    def loops(*_):
        while True: pass  # fmt: skip  # noqa: E701

    monkeypatch.setattr(limits, "MOST_SECONDS", 0.5)
    before = signal.getsignal(signal.SIGVTALRM)
    assert "still running after 0.5 seconds" in repr(check_server_mean(loops))
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer by the clock")
@pytest.mark.parametrize("check", [check_server_mean, chapter12.check_ring_seconds])
def test_an_attempt_that_sleeps_ends(check, monkeypatch):
    monkeypatch.setattr(limits, "MOST_WAITING", 0.5)
    before, running = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    report = check(lambda *_: time.sleep(100))
    assert report.passed is False and "0.5 seconds" in repr(report)
    assert signal.getsignal(signal.SIGALRM) is before
    after = signal.getitimer(signal.ITIMER_REAL)
    assert bool(after[0]) is bool(running[0]) and after[1] == running[1]


def test_nan_never_passes():
    def spoiled(value, rank):
        return value * (np.nan if rank else 1)

    def layers(comm, layers):
        return [comm.all_reduce(layer, "mean") * np.nan for layer in layers]

    assert "NaN" in repr(chapter4.check_reduce_layers(layers))
    report = check_server_mean(lambda comm, array: spoiled(server_mean(comm, array), comm.rank))
    assert "rank 1 returned NaN" in repr(report)

    def local_sgd(comm, theta, gradient, lr, steps, every):
        for step in range(1, steps + 1):
            theta = theta - lr * gradient(theta)
            if step % every == 0 or step == steps:
                theta = comm.all_reduce(theta, "mean")
        return spoiled(theta, comm.rank)

    assert "rank 1 returned NaN" in repr(chapter3.check_local_sgd(local_sgd))


@pytest.mark.parametrize("given", [(0, None), (0, 5), (7, [1, 2, 3, 4]), (-1, [1] * 4), (0, ["a"] * 4)])
def test_odd_hands_are_rejected(given):
    report = chapter5.check_rank(*given)
    assert report.passed is False and "could not be checked" not in repr(report), report


def test_pictures_of_nothing_and_of_extremes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert timeline(simulate(lambda comm: None, 2)).alt
    assert seconds_text(1e300) == "1e300 s" and number_text(2.5e30) == "2.5e30"
    assert seconds_text(math.inf) == "∞ s"
    assert bytes_text(1e300) == "1e291 GB" and number_text(1e21) == "1" + 7 * ",000"
    assert ring_player(arrays=[np.arange(2.0)] * 2, link=Link(0, math.inf)).picture().alt
