"""Every all-reduce in both worlds: values, bits, messages, and simulated time against its law."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from course_lib import Link, RankError, launch, laws, simulate
from course_lib import collectives as library


def own(comm, array, op="sum"):
    return comm.all_reduce(array, op)


def in_background(comm, array, op="sum"):
    return comm.all_reduce(array, op, wait=False).wait()


OURS = {
    name: getattr(library, f"{name}_all_reduce")
    for name in ("ring", "tree", "halving_doubling", "parameter_server", "naive")
}
ALGORITHMS = {**OURS, "own": own, "in_background": in_background}
LAWS = {"own": "ring", "in_background": "ring"}
KINDS = {
    "float64": (lambda values: np.array(values, np.float64), 1e-12),
    "float32": (lambda values: np.array(values, np.float32), 1e-4),
    "int64": (lambda values: np.array(values, np.int64), 0),
    "tensor": (lambda values: torch.tensor(values, dtype=torch.float32), 1e-4),
}


def values(rank, shape):
    return 100 * np.random.default_rng([7, rank]).normal(size=shape)


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=settings().max_examples // 2)
@given(
    ranks=st.integers(1, 12),
    shape=st.one_of(array_shapes(min_dims=0, max_dims=2, max_side=30), st.just((0,))),
    kind=st.sampled_from(list(KINDS)),
    op=st.sampled_from(["sum", "mean"]),
)
@example(ranks=1, shape=(5,), kind="float32", op="mean")
@example(ranks=8, shape=(3,), kind="int64", op="sum")  # some ranks' chunks are empty
@example(ranks=12, shape=(1000,), kind="float64", op="sum")
def test_values(name, ranks, shape, kind, op):
    new, tolerance = KINDS[kind]
    op = "sum" if kind == "int64" else op
    arrays = [new(values(rank, shape)) for rank in range(ranks)]
    kept = np.array([array.tolist() for array in arrays])
    results = simulate(lambda comm: ALGORITHMS[name](comm, arrays[comm.rank], op), ranks).values
    assert [array.tolist() for array in arrays] == kept.tolist()
    for total, mine in zip(results, arrays, strict=True):
        assert type(total) is type(mine) and total is not mine
        assert total.dtype == mine.dtype and total.shape == mine.shape
    assert len({np.asarray(total).tobytes() for total in results}) == 1
    exact = kept.sum(axis=0) / (ranks if op == "mean" else 1)
    assert np.allclose(results[0], exact, rtol=tolerance, atol=100 * tolerance)


@pytest.mark.parametrize("ranks", [3, 4])
def test_both_worlds_agree(ranks):
    """In all bits, and in what each rank sends to whom, in order."""

    def worker(comm):
        mine = values(comm.rank, 10)
        results = [reduce(comm, mine[:size]) for size in (10, 0, 1) for reduce in OURS.values()]
        part = library.reduce_scatter(comm, mine)
        results += [part, *library.all_gather(comm, part)]
        return [result.tobytes() for result in results]

    simulated, real = simulate(worker, ranks), launch(worker, ranks)
    assert simulated.values == real.values
    assert sent(simulated) == sent(real)


def sent(run):
    """What each rank sent, in order."""
    ranks = range(len(run.values))
    return [[(m.target, m.nbytes) for m in run.messages if m.source == rank] for rank in ranks]


@pytest.mark.parametrize("ranks", [1, 4, 7, 12])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_simulated_time_follows_the_law(name, ranks):
    link, size = Link(1e-3, 1e6), 840  # divides into equal chunks for every K here
    run = simulate(lambda comm: ALGORITHMS[name](comm, np.zeros(size)), ranks, link=link)
    law = laws.all_reduce_time(8 * size, ranks, link.bandwidth, link.latency, LAWS.get(name, name))
    if name == "tree" and ranks not in (1, 3, 7):
        assert 0.5 * law <= run.seconds <= law * (1 + 1e-9)  # a tree that is not full
    else:
        assert run.seconds == pytest.approx(law, rel=1e-9)


def test_a_ring_sends_to_the_right():
    run = simulate(lambda comm: library.ring_all_reduce(comm, np.zeros(10)), 5)
    assert {(message.target - message.source) % 5 for message in run.messages} == {1}


@pytest.mark.parametrize(
    ("name", "messages", "volume"),
    [
        ("ring", lambda k: 2 * k * (k - 1), lambda k: 2 * (k - 1)),
        ("tree", lambda k: 2 * (k - 1), lambda k: 2 * (k - 1)),
        ("halving_doubling", lambda k: 2 * k * np.log2(k), lambda k: 2 * (k - 1)),
        ("parameter_server", lambda k: 2 * (k - 1), lambda k: 2 * (k - 1)),
        ("naive", lambda k: k * (k - 1), lambda k: k * (k - 1)),
        ("own", lambda k: 2 * k * (k - 1), lambda k: 2 * (k - 1)),
    ],
)
@pytest.mark.parametrize("ranks", [2, 8])
def test_message_counts(name, messages, volume, ranks):
    run = simulate(lambda comm: ALGORITHMS[name](comm, np.zeros(64)), ranks)
    assert len(run.messages) == messages(ranks)
    assert sum(message.nbytes for message in run.messages) == volume(ranks) * 64 * 8


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_algorithm_sends_less_than_the_bound(name):
    run = simulate(lambda comm: ALGORITHMS[name](comm, np.zeros(64)), 4)
    assert max(sum(nbytes for _, nbytes in each) for each in sent(run)) >= laws.lower_bound_bytes(512, 4)


@pytest.mark.parametrize(
    ("ranks", "group", "op"), [(8, 4, "sum"), (6, 3, "mean"), (6, 1, "sum"), (6, 6, "sum")]
)
def test_hierarchical(ranks, group, op):
    fast, slow, size = Link(1e-5, 1e8), Link(1e-3, 1e6), 840 * 16
    pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b and a // group == b // group]
    run = simulate(
        lambda comm: library.hierarchical_all_reduce(comm, np.full(size, float(comm.rank)), op, group=group),
        ranks,
        link=slow,
        links=dict.fromkeys(pairs, fast),
    )
    expected = {"sum": ranks * (ranks - 1) / 2, "mean": (ranks - 1) / 2}[op]
    assert all((value == expected).all() for value in run.values)
    law = laws.hierarchical_time(8 * size, ranks, group, 1e6, 1e-3, 1e8, 1e-5)
    assert run.seconds == pytest.approx(law, rel=1e-9)


def test_hierarchical_needs_whole_groups():
    with pytest.raises(RuntimeError, match="group must divide the number of ranks, 4; got 3"):
        simulate(lambda comm: library.hierarchical_all_reduce(comm, np.zeros(4), group=3), 4)


def test_reduce_scatter_then_all_gather():
    def worker(comm):
        part = library.reduce_scatter(comm, np.arange(10.0) + comm.rank)
        return part.tolist(), np.concatenate(library.all_gather(comm, part)).tolist()

    whole = (3 * np.arange(10.0) + 3).tolist()
    parts = whole[:4], whole[4:7], whole[7:]
    assert simulate(worker, 3).values == [(part, whole) for part in parts]


def test_reduce_scatter_of_a_mean():
    parts = simulate(lambda comm: library.reduce_scatter(comm, np.arange(2.0) + comm.rank, "mean"), 2).values
    assert [part.tolist() for part in parts] == [[0.5], [1.5]]


def test_all_gather_of_unequal_shapes():
    gathered = simulate(lambda comm: library.all_gather(comm, np.full(comm.rank, 7)), 3).values[1]
    assert [array.tolist() for array in gathered] == [[], [7], [7, 7]]


def test_weighted_mean():
    """Right for unequal shards, and what a rank that has none passes does not matter."""
    shards = [[1.0, 2.0, 3.0], [10.0], []]

    def worker(comm):
        mine = np.array(shards[comm.rank])
        local = np.array([mine.mean() if len(mine) else np.nan])
        return library.weighted_mean(comm, local, len(mine)).tolist()

    assert simulate(worker, 3).values == [[4.0]] * 3


def test_weighted_mean_by_thousands_does_not_overflow_float16():
    def worker(comm):
        return library.weighted_mean(comm, np.full(2, 20.0 + 20 * comm.rank, np.float16), 5000)

    for mean in simulate(worker, 2).values:
        assert mean.dtype == np.float16 and mean.tolist() == [30.0, 30.0]


@pytest.mark.parametrize(
    ("array", "weight", "message"),
    [
        (np.ones(2), -1, "weight must be"),
        (np.ones(2), np.nan, "weight must be"),
        (np.ones(2), 0, "add up to 0"),
        (np.ones(2, int), 1, "floating-point"),
    ],
)
def test_weighted_mean_refuses(array, weight, message):
    with pytest.raises(RuntimeError, match=message):
        simulate(lambda comm: library.weighted_mean(comm, array, weight), 2)


@pytest.mark.parametrize(
    ("name", "array", "op", "message"),
    [
        *((name, np.ones(3, int), "mean", "op='mean' needs floating-point") for name in ALGORITHMS),
        ("own", torch.ones(3, dtype=int), "mean", "op='mean' needs floating-point"),
        ("own", np.array([True]), "mean", "op='mean' needs floating-point"),
        ("ring", np.ones(3), "max", "op must be one of 'sum', 'mean'"),
        ("ring", [1.0], "sum", "wrap it in np.array"),
    ],
)
def test_bad_arguments(name, array, op, message):
    with pytest.raises(RankError, match=message):
        simulate(lambda comm: ALGORITHMS[name](comm, array, op), 2)
