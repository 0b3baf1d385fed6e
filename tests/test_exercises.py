"""Checkers accept what is right and reject what is wrong, with a message that helps."""

import itertools
import json
import math
import signal
import sys
import time
import warnings
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest
from attempts import (
    accepts,
    an_ellipsis,
    in_place,
    left_empty,
    rejected,
    rejects,
    server_mean,
    untouched,
    waits_for,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from waiting import limit

import course_lib.exercises
from course_lib import Link, simulate
from course_lib.collectives import weighted_mean
from course_lib.exercises import chapter2, chapter3, chapter4, chapter5, chapter12, limits
from course_lib.exercises import report as exercises_report
from course_lib.exercises.chapter10 import check_epoch_batches, check_server_mean, check_weighted_step
from course_lib.exercises.report import checked
from course_lib.pictures import timeline
from course_lib.pictures.wording import bytes_text, number_text, seconds_text
from course_lib.widgets import ring_player

REAL = "chapter7_rates", "chapter8_ddp", "chapter8_accumulation", "chapter8_torchrun", "chapter11_real"
OF_NO_FUNCTION = "check_rank", "check_bucket_size", "check_diagnosis"


def simulated_checks():
    """The checkers of the library that ask for a function, and neither train nor start processes."""
    for module in iter_modules(course_lib.exercises.__path__):
        for name, value in vars(import_module(f"course_lib.exercises.{module.name}")).items():
            here = getattr(value, "__module__", "").endswith(f".{module.name}")
            if here and hasattr(value, "exercise") and name not in OF_NO_FUNCTION:
                if module.name not in REAL:
                    yield value


CHECKS = list(simulated_checks())
every_check = pytest.mark.parametrize("check", CHECKS)

test_an_untouched_stub_is_not_a_failure = waits_for(*CHECKS, stubs=(untouched, an_ellipsis))


@every_check
def test_a_function_that_returns_nothing_is_asked_about(check):
    report = check(left_empty)
    assert not report.passed
    assert "Not attempted yet" in repr(report) or "is a return missing?" in repr(report)


@every_check
def test_an_error_in_the_attempt_is_shown(check):
    rejected(check(lambda *_: 1 / 0), "ZeroDivisionError")


PLAIN = st.one_of(
    *(st.integers(), st.just(10**400), st.floats(), st.complex_numbers(), st.text(), st.booleans()),
    *(st.none(), st.builds(object), st.sampled_from([np.array(["a"]), np.array([None, {}]), np.full(3, 1j)])),
)
ODD = st.recursive(
    PLAIN.filter(lambda value: value is not None),
    lambda inner: (
        st.lists(inner | st.none(), max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers(1, 3) | st.text(max_size=1), inner, max_size=2)
    ),
    max_leaves=4,
)


@every_check
@settings(max_examples=settings().max_examples // 3)
@given(odd=ODD)
@example(odd=10**400)
@example(odd=[[[1, 2], [3, "4"]]])
@example(odd=(1j, 2))
@example(odd={1: 2, "a": 3})
def test_odd_values_are_no_traceback(check, odd):
    report = check(lambda *_: odd)
    assert not report.passed
    assert "could not be checked" not in repr(report) and "course_lib" not in repr(report), report


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
    (lambda comm, array: server_mean(comm, array) * comm.size, "2 times the mean, everywhere"),
    (in_place(server_mean), "own gradient was changed"),
    (two_servers, "should hear once"),
    (everyone_adds, "should hear once|messages were sent|last bits"),
    (nobody_answers, "rank 1 waits in recv from rank 0, which has returned"),
    (lambda comm, array: server_mean(comm, array).tolist(), "returned list, not an array"),
    (drops_one, "the mean is"),
    (lambda comm, array: comm.all_reduce(array, "mean"), "send and recv are enough"),
    (lambda comm, array: array, "the mean is"),
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


test_epoch_batches_accepts = accepts(
    check_epoch_batches, dealt, lambda *given: [list(step) for step in dealt(*given)]
)

test_epoch_batches_rejects = rejects(
    check_epoch_batches,
    (lambda rng, n, k, b: [rng.integers(0, n, (k, b)) for _ in range(n // (k * b))], "twice"),
    (lambda rng, n, k, b: dealt(np.random.default_rng(0), n, k, b), "another rng gave the same order"),
    (lambda rng, n, k, b: dealt(np.random.default_rng(), n, k, b), "the same rng gave another order"),
    (lambda rng, n, k, b: dealt(rng, n, k, b)[:-1], "whole ones"),
    (lambda rng, n, k, b: dealt(rng, n, k, b).reshape(-1, k * b), "return a list of steps"),
    (lambda rng, n, k, b: dealt(rng, n, k, b) + 1, "indices go from 0"),
    (lambda rng, n, k, b: dealt(rng, n // (k * b) * k * b, k, b), "left out in every epoch"),
)


# --- whatever ranks return, however long they take, the checker answers

OF_RANKS = [
    *(check_server_mean, check_weighted_step, chapter2.check_strong_step, chapter3.check_sync_step),
    *(chapter3.check_same_start, chapter3.check_agrees, chapter3.check_local_sgd, chapter4.check_chain_mean),
    *(chapter4.check_scaled_loss, chapter4.check_reduce_layers, chapter5.check_ring),
]


@pytest.mark.parametrize("check", OF_RANKS)
def test_a_return_on_one_rank_only(check):
    report = check(lambda comm, array, *_: array if comm.rank == 0 else None)
    assert report.passed is False and "could not be checked" not in repr(report), report


@pytest.mark.parametrize(
    ("check", "right"), [(check_server_mean, server_mean), (check_weighted_step, weighted_mean)]
)
def test_only_one_rank_returns_the_mean(check, right):
    report = check(lambda comm, *given: [right(comm, *given), None][comm.rank > 0])
    rejected(report, "rank 1 returned None: is a return missing on some ranks?")


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
    ("check", "endless", "most"),
    [
        (check_server_mean, loops, "10,000 lines"),
        (chapter2.check_workers_for, loops, "10,000 lines"),
        (chapter3.check_agrees, catches_all, "10,000 lines"),
        (check_epoch_batches, generates, "10,000 lines"),
        (chapter3.check_sync_step, forgets_to_count, "100 calls of comm"),
        (chapter4.check_chain_mean, waits_for_the_clock, "100 calls of comm"),
        (chapter3.check_sync_step, lambda *_: [time.sleep(0.03) for _ in itertools.count()], "0.5 seconds"),
    ],
)
def test_an_endless_loop_ends(check, endless, most, monkeypatch):
    seconds = 0.5 if "seconds" in most else limit(200)
    for name, value in {"MOST_LINES": 10_000, "MOST_CALLS": 100, "MOST_SECONDS": seconds}.items():
        monkeypatch.setattr(limits, name, value)
    before = sys.gettrace()
    rejected(check(endless), f"still running after {most}|: {most}, and the search does not end")
    assert sys.gettrace() is before


def test_a_limit_that_is_reached_again_in_the_library_ends_the_check(monkeypatch):
    def simulate(*_, **__):
        raise limits.StillRunning("7 lines")

    monkeypatch.setattr(exercises_report, "simulate", simulate)
    rejected(check_server_mean(server_mean), "still running after 7 lines")


def test_lines_of_other_packages_do_not_count(monkeypatch):
    monkeypatch.setattr(limits, "MOST_LINES", 100)
    with limits.limited():
        assert len(json.dumps([[1.5]] * 100, indent=1).splitlines()) > 100


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


def spoiled(attempt):
    """`attempt` with NaN on all ranks but the first."""
    return lambda comm, *given: attempt(comm, *given) * (np.nan if comm.rank else 1)


def local_sgd(comm, theta, gradient, lr, steps, every):
    for step in range(1, steps + 1):
        theta = theta - lr * gradient(theta)
        if step % every == 0 or step == steps:
            theta = comm.all_reduce(theta, "mean")
    return theta


@pytest.mark.parametrize(
    ("check", "attempt", "hint"),
    [
        (chapter4.check_reduce_layers, lambda comm, layers: [layer * np.nan for layer in layers], "NaN"),
        (check_server_mean, spoiled(server_mean), "rank 1 returned NaN"),
        (chapter3.check_local_sgd, spoiled(local_sgd), "rank 1 returned NaN"),
    ],
)
def test_nan_never_passes(check, attempt, hint):
    rejected(check(attempt), hint)


@pytest.mark.parametrize("given", [(0, "4444"), (0, 5), (7, [1, 2, 3, 4]), (-1, [1] * 4), (0, ["a"] * 4)])
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
