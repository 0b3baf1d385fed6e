"""Collectives in the simulated world: the library's ring on `comm`, and comm's own."""

import numpy as np
import pytest
import torch

from course_lib import Link, RankError, simulate
from course_lib.collectives import ring_all_reduce, weighted_mean

RANKS = (1, 2, 3, 4, 7)
SHAPES = (0, 1, 5, 1000, (3, 5))
NEW = {
    "float64": lambda values: np.array(values, np.float64),
    "float32": lambda values: np.array(values, np.float32),
    "int64": lambda values: np.array(values, np.int64),
    "torch float32": lambda values: torch.tensor(values, dtype=torch.float32),
}
SLOW = Link(1.0, 100.0)


def own(comm, array, op="sum"):
    return comm.all_reduce(array, op)


def in_background(comm, array, op="sum"):
    return comm.all_reduce(array, op, wait=False).wait()


def values(rank, shape):
    """Whole numbers, so that sums are exact in every dtype and order."""
    return np.random.default_rng(rank).integers(-99, 99, shape)


@pytest.mark.parametrize("reduce", [ring_all_reduce, own, in_background])
@pytest.mark.parametrize("kind", NEW)
@pytest.mark.parametrize("ranks", RANKS)
def test_all_reduce_sums(ranks, kind, reduce):
    def worker(comm):
        results = []
        for shape in SHAPES:
            mine = NEW[kind](values(comm.rank, shape))
            total = reduce(comm, mine)
            assert (mine == NEW[kind](values(comm.rank, shape))).all()  # left unchanged
            assert type(total) is type(mine) and total.dtype == mine.dtype and total.shape == mine.shape
            results.append(np.asarray(total))
        return results

    results = simulate(worker, ranks).values
    for place, shape in enumerate(SHAPES):
        expected = sum(values(rank, shape) for rank in range(ranks))
        for result in results:
            assert np.array_equal(result[place], expected)


@pytest.mark.parametrize("reduce", [ring_all_reduce, own])
@pytest.mark.parametrize("op", ["sum", "mean"])
@pytest.mark.parametrize("ranks", RANKS)
def test_all_ranks_get_the_same_bits(ranks, op, reduce):
    def worker(comm):
        return reduce(comm, np.random.default_rng(comm.rank).normal(size=1001), op)

    results = simulate(worker, ranks).values
    assert len({result.tobytes() for result in results}) == 1
    exact = sum(np.random.default_rng(rank).normal(size=1001) for rank in range(ranks))
    assert np.allclose(results[0], exact / (ranks if op == "mean" else 1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("reduce", [ring_all_reduce, own])
def test_the_rings_time(ranks, reduce):
    link, nbytes = Link(3e-6, 7e9), 8 * 84 * 100
    run = simulate(lambda comm: reduce(comm, np.ones(nbytes // 8)), ranks, link=link)
    law = 2 * (ranks - 1) * (link.latency + nbytes / (ranks * link.bandwidth))
    assert run.seconds == pytest.approx(law, rel=1e-9)
    assert len(run.messages) == 2 * ranks * (ranks - 1)
    assert all((message.target - message.source) % ranks == 1 for message in run.messages)


def test_mean_of_integers_is_refused():
    for array in (np.array([1, 2]), torch.tensor([1, 2]), np.array([True])):
        with pytest.raises(RankError, match="floating-point") as caught:
            simulate(lambda comm, array=array: comm.all_reduce(array, "mean"), 2)
        assert isinstance(caught.value.__cause__, TypeError)


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


def test_mean_of_floats():
    run = simulate(lambda comm: comm.all_reduce(np.array([1.0 + comm.rank]), "mean").tolist(), 2)
    assert run.values == [[1.5], [1.5]]


@pytest.mark.parametrize("new", [np.array, torch.tensor])
def test_all_reduce_of_an_expression_leaves_its_parts_unchanged(new):
    def worker(comm):
        t = new([1.0 + comm.rank])
        total = comm.all_reduce(t * 1)
        return t.tolist(), total.tolist()

    assert simulate(worker, 2).values == [([1.0], [3.0]), ([2.0], [3.0])]


def test_overlap_takes_the_longer_of_the_two():
    """200 bytes in a ring of 2: two steps of 1 + 1 seconds, while computing goes on."""

    def worker(comm, seconds):
        handle = comm.all_reduce(np.full(200, comm.rank + 1, np.uint8), wait=False)
        comm.compute(seconds)
        total = handle.wait()
        assert handle.wait() is total
        return int(total[0])

    for seconds, expected in ((1.0, 4.0), (4.0, 4.0), (9.0, 9.0)):
        run = simulate(lambda comm, seconds=seconds: worker(comm, seconds), 2, link=SLOW)
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
    assert [message.start for message in run.messages if message.source == 0 and message.nbytes] == [
        0.0,
        2.0,
        4.0,
        6.0,
        8.0,
        10.0,
    ]


@pytest.mark.parametrize("call", ["all_reduce", "broadcast", "barrier"])
def test_a_collective_does_not_overtake_those_in_flight(call):
    def worker(comm):
        comm.all_reduce(np.zeros(200, np.uint8), wait=False)
        arguments = {"all_reduce": [np.zeros(2)], "broadcast": [np.zeros(2), 0], "barrier": []}[call]
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


@pytest.mark.parametrize("new", [np.array, torch.tensor])
@pytest.mark.parametrize("ranks", RANKS)
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


@pytest.mark.parametrize("ranks", RANKS)
def test_nobody_passes_a_barrier_before_all_are_there(ranks):
    passed = []

    def worker(comm):
        comm.compute(1.0 + comm.rank)
        comm.barrier()
        passed.append(comm.rank)

    run = simulate(worker, ranks, link=Link(0.0, 1.0))
    assert run.trace.finish == [float(ranks)] * ranks and sorted(passed) == list(range(ranks))


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_sendrecv_around_the_ring(ranks):
    def worker(comm):
        array, right, left = np.array([comm.rank]), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        for _ in range(comm.size):
            array = comm.sendrecv(array, right, left)
        return int(array[0])

    assert simulate(worker, ranks).values == list(range(ranks))


def test_weighted_mean_is_right_for_unequal_shards():
    parts = [np.array([1.0, 2.0, 3.0]), np.array([10.0])]
    run = simulate(lambda comm: weighted_mean(comm, parts[comm.rank].mean(), len(parts[comm.rank])), 2)
    assert [float(value) for value in run.values] == [4.0, 4.0]


def test_weighted_mean_by_thousands_does_not_overflow_float16():
    def worker(comm):
        return weighted_mean(comm, np.full(2, 20.0 + 20 * comm.rank, np.float16), 5000)

    for mean in simulate(worker, 2).values:
        assert mean.dtype == np.float16 and mean.tolist() == [30.0, 30.0]
