"""The collectives of `comm` in the simulated world; test_algorithms.py has the values of its all-reduce."""

import numpy as np
import pytest
import torch

from course_lib import Link, RankError, simulate

SLOW = Link(1.0, 100.0)


@pytest.mark.parametrize("dtype", ["U2", "S2", "M8[s]", "m8[s]", "longdouble", "clongdouble", ">f8", ">i4"])
def test_what_cannot_be_added_up_in_both_worlds_is_refused(dtype):
    with pytest.raises(RankError, match="a reduction takes") as caught:
        simulate(lambda comm: comm.all_reduce(np.zeros(2, dtype)), 2)
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize("dtype", ["?", *"bhilqBHILQ", *"efdFD", "<f8"])
def test_every_native_dtype_is_added_up(dtype):
    run = simulate(lambda comm: comm.all_reduce(np.ones(2, dtype)), 2)
    ones = np.ones(2, dtype)
    assert run.values[0].dtype == ones.dtype and np.array_equal(run.values[0], ones + ones)


@pytest.mark.parametrize("new", [np.array, torch.tensor])
def test_all_reduce_of_an_expression_leaves_its_parts_unchanged(new):
    def worker(comm):
        t = new([1.0 + comm.rank])
        total = comm.all_reduce(t * 1)
        return t.tolist(), total.tolist()

    assert simulate(worker, 2).values == [([1.0], [3.0]), ([2.0], [3.0])]


@pytest.mark.parametrize(("seconds", "expected"), [(1.0, 4.0), (4.0, 4.0), (9.0, 9.0)])
def test_overlap_takes_the_longer_of_the_two(seconds, expected):
    """200 bytes in a ring of 2: two steps of 1 + 1 seconds, while computing goes on."""

    def worker(comm):
        handle = comm.all_reduce(np.full(200, comm.rank + 1, np.uint8), wait=False)
        comm.compute(seconds)
        total = handle.wait()
        assert handle.wait() is total
        return int(total[0])

    run = simulate(worker, 2, link=SLOW)
    assert (run.values, run.seconds) == ([3, 3], expected)


def test_the_array_may_be_reused_while_its_sum_is_on_its_way():
    def worker(comm):
        array = np.ones(5)
        handle = comm.all_reduce(array, wait=False)
        array[:] = 7
        return handle.wait().tolist()

    assert simulate(worker, 3).values == [[3.0] * 5] * 3


def test_several_in_flight_and_in_any_order():
    def worker(comm):
        handles = [comm.all_reduce(np.array([float(number)]), wait=False) for number in range(4)]
        between = comm.all_reduce(np.array([10.0]))
        return [handles[number].wait()[0] for number in (2, 0, 3, 1)] + [between[0]]

    assert simulate(worker, 3).values == [[6.0, 0.0, 9.0, 3.0, 30.0]] * 3


def test_in_flight_they_go_one_after_another():
    """200 bytes in a ring of 2: two steps of 1 + 1 seconds each, the second only after the first."""

    def worker(comm):
        handles = [comm.all_reduce(np.zeros(200, np.uint8), wait=False) for _ in range(3)]
        comm.compute(5.0)
        handles[1].wait()
        comm.send(np.zeros(0), (comm.rank + 1) % 2)
        for handle in handles:
            handle.wait()

    run = simulate(worker, 2, link=SLOW)
    assert run.seconds == 12.0
    assert [message.start for message in run.messages if message.nbytes == 0] == [8.0, 8.0]
    starts = [message.start for message in run.messages if message.source == 0 and message.nbytes]
    assert starts == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


@pytest.mark.parametrize(
    ("call", "arguments"), [("all_reduce", [np.zeros(2)]), ("broadcast", [np.zeros(2), 0]), ("barrier", [])]
)
def test_a_collective_does_not_overtake_those_in_flight(call, arguments):
    def worker(comm):
        comm.all_reduce(np.zeros(200, np.uint8), wait=False)
        getattr(comm, call)(*arguments)

    run = simulate(worker, 2, link=SLOW)
    assert all(message.start >= 4.0 for message in run.messages if message.nbytes != 100)


def test_collectives_and_messages_do_not_mix():
    """A message that nobody has taken yet is not taken by a collective, nor the other way about."""

    def worker(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        comm.send(np.array([-1.0]), right)
        handle = comm.all_reduce(np.array([1.0]), wait=False)
        source, got = comm.recv_any()
        comm.barrier()
        return source == left, got[0], handle.wait()[0]

    assert simulate(worker, 4).values == [(True, -1.0, 4.0)] * 4


@pytest.mark.parametrize(("ranks", "new"), [(1, np.array), (4, torch.tensor), (7, np.array)])
def test_broadcast(ranks, new):
    def worker(comm):
        results = []
        for source in range(comm.size):
            mine = new([comm.rank, 10 * comm.rank])
            results.append(comm.broadcast(mine, source))
            assert results[-1] is not mine and mine.tolist() == [comm.rank, 10 * comm.rank]
        return [result.tolist() for result in results]

    assert simulate(worker, ranks).values == [[[source, 10 * source] for source in range(ranks)]] * ranks


def test_broadcast_doubles_each_round():
    run = simulate(lambda comm: comm.broadcast(np.zeros(100, np.uint8), 2), 8, link=SLOW)
    assert run.seconds == 3 * 2.0
    assert len(run.messages) == 7


@pytest.mark.parametrize("ranks", [1, 2, 7])
def test_nobody_passes_a_barrier_before_all_are_there(ranks):
    passed = []

    def worker(comm):
        comm.compute(1.0 + comm.rank)
        comm.barrier()
        passed.append(comm.rank)

    run = simulate(worker, ranks, link=Link(0.0, 1.0))
    assert run.trace.finish == [float(ranks)] * ranks and sorted(passed) == list(range(ranks))


@pytest.mark.parametrize(("ranks", "rounds"), [(1, 0), (2, 1), (8, 3), (9, 4)])
def test_a_barrier_takes_a_round_for_each_doubling(ranks, rounds):
    assert simulate(lambda comm: comm.barrier(), ranks, link=SLOW).seconds == rounds
