"""Checkers accept what is right and reject what is wrong, with a message that helps."""

import numpy as np
import pytest

from course_lib.collectives import weighted_mean
from course_lib.exercises.chapter10 import check_epoch_batches, check_server_mean, check_weighted_step


def untouched(*_):
    raise NotImplementedError


def left_empty(*_):
    return None


@pytest.mark.parametrize("stub", [untouched, left_empty])
@pytest.mark.parametrize("check", [check_server_mean, check_weighted_step, check_epoch_batches])
def test_an_untouched_stub_is_not_a_failure(check, stub):
    report = check(stub)
    assert report.passed is None
    assert "Not attempted yet" in repr(report)
    assert ("is a return missing?" in repr(report)) == (stub is left_empty)


def server_mean(comm, array):
    if comm.rank > 0:
        comm.send(array, to=0)
        return comm.recv(source=0)
    mean = (array + sum(comm.recv(source) for source in range(1, comm.size))) / comm.size
    for rank in range(1, comm.size):
        comm.send(mean, to=rank)
    return mean


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


def in_place(comm, array):
    array[:] = server_mean(comm, array)
    return array


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


@pytest.mark.parametrize("right", [server_mean, any_order])
def test_server_mean_accepts(right):
    report = check_server_mean(right)
    assert report.passed, report


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (sum_only, "2 times the mean, everywhere"),
        (in_place, "own gradient was changed"),
        (two_servers, "should hear once"),
        (everyone_adds, "should hear once|messages were sent|last bits"),
        (nobody_answers, "rank 1 waits in recv from rank 0, which has returned"),
        (as_a_list, "returned list, not an array"),
        (drops_one, "the mean is"),
        (lambda comm, array: comm.all_reduce(array, "mean"), "send and recv are enough"),
        (lambda comm, array: array, "the mean is"),
        (lambda comm, array: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_server_mean_rejects(wrong, hint):
    report = check_server_mean(wrong)
    assert report.passed is False
    assert np.any([part in repr(report) for part in hint.split("|")]), report
    assert "course_lib" not in repr(report)


def two_reductions(comm, local, count):
    return comm.all_reduce(local * count) / comm.all_reduce(np.array(float(count)))


@pytest.mark.parametrize("right", [weighted_mean, two_reductions])
def test_weighted_step_accepts(right):
    report = check_weighted_step(right)
    assert report.passed, report


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda comm, local, count: comm.all_reduce(local, "mean"), "plain mean of means"),
        (lambda comm, local, count: comm.all_reduce(local * count), "the mean is"),
        (lambda comm, local, count: local, "the mean is"),
        (lambda comm, local, count: comm.all_reduce(local * count) / count, "count of all ranks"),
        (lambda comm, local, count: [two_reductions(comm, local, count) for _ in "ab"][0], "two are enough"),
        (lambda comm, local, count: two_reductions(comm, np.tile(local, 9), count)[:3], "send sums"),
    ],
)
def test_weighted_step_rejects(wrong, hint):
    report = check_weighted_step(wrong)
    assert report.passed is False
    assert hint in repr(report), report


def dealt(rng, samples, workers, batch):
    steps = samples // (workers * batch)
    return rng.permutation(samples)[: steps * workers * batch].reshape(steps, workers, batch)


def test_epoch_batches_accepts():
    assert check_epoch_batches(dealt).passed
    assert check_epoch_batches(lambda *given: [list(step) for step in dealt(*given)]).passed


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
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
    ],
)
def test_epoch_batches_rejects(wrong, hint):
    report = check_epoch_batches(wrong)
    assert report.passed is False
    assert hint in repr(report), report
