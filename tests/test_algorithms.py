"""Every all-reduce in both worlds: values, bits, messages, and simulated time against its law."""

import numpy as np
import pytest

from course_lib import Link, launch, laws, simulate
from course_lib import collectives as library

ALGORITHMS = {
    name: getattr(library, f"{name}_all_reduce")
    for name in ("ring", "tree", "halving_doubling", "parameter_server", "naive")
}
RANKS = (1, 2, 3, 4, 5, 7, 8, 12)
SIZES = (0, 1, 5, 1000)


def inputs(ranks, size):
    return [np.random.default_rng([ranks, size, rank]).normal(size=size) for rank in range(ranks)]


def all_sizes(algorithm, ranks):
    """A worker that reduces one array of each size, and says whether its input stayed as it was."""

    def worker(comm):
        results = []
        for size in SIZES:
            mine = inputs(ranks, size)[comm.rank]
            kept = mine.copy()
            results.append(algorithm(comm, mine))
            assert np.array_equal(mine, kept)
        return results

    return worker


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_values_in_the_simulator(name, ranks):
    run = simulate(all_sizes(ALGORITHMS[name], ranks), ranks)
    for size, *results in zip(SIZES, *run.values, strict=True):
        assert len({result.tobytes() for result in results}) == 1
        assert np.allclose(results[0], np.sum(inputs(ranks, size), axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_both_worlds_agree(name, ranks):
    """Equal bits, and for each rank the same messages in the same order."""
    worker = all_sizes(ALGORITHMS[name], ranks)
    simulated, real = simulate(worker, ranks), launch(worker, ranks)
    for here, there in zip(simulated.values, real.values, strict=True):
        assert [array.tobytes() for array in here] == [array.tobytes() for array in there]
    for rank in range(ranks):
        sent = [[(m.target, m.nbytes) for m in run.messages if m.source == rank] for run in (simulated, real)]
        assert sent[0] == sent[1]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_simulated_time_follows_the_law(name, ranks):
    link, size = Link(1e-3, 1e6), 840 * 16  # divides into equal chunks for every K here
    run = simulate(lambda comm: ALGORITHMS[name](comm, np.zeros(size)), ranks, link=link)
    law = laws.all_reduce_time(8 * size, ranks, link.bandwidth, link.latency, name)
    if name == "tree" and ranks not in (1, 3, 7):
        assert 0.5 * law <= run.seconds <= law * (1 + 1e-9)  # a tree that is not full
    else:
        assert run.seconds == pytest.approx(law, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "messages", "volume"),
    [
        ("ring", lambda k: 2 * k * (k - 1), lambda k: 2 * (k - 1)),
        ("tree", lambda k: 2 * (k - 1), lambda k: 2 * (k - 1)),
        ("halving_doubling", lambda k: 2 * k * np.log2(k), lambda k: 2 * (k - 1)),
        ("parameter_server", lambda k: 2 * (k - 1), lambda k: 2 * (k - 1)),
        ("naive", lambda k: k * (k - 1), lambda k: k * (k - 1)),
    ],
)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_message_counts(name, messages, volume, ranks):
    run = simulate(lambda comm: ALGORITHMS[name](comm, np.zeros(64)), ranks)
    assert len(run.messages) == messages(ranks)
    assert sum(message.nbytes for message in run.messages) == volume(ranks) * 64 * 8


def test_no_algorithm_sends_less_than_the_bound():
    for name, algorithm in ALGORITHMS.items():
        run = simulate(lambda comm, f=algorithm: f(comm, np.zeros(64)), 4)
        sent = [sum(m.nbytes for m in run.messages if m.source == rank) for rank in range(4)]
        assert max(sent) >= laws.lower_bound_bytes(512, 4), name


@pytest.mark.parametrize(("ranks", "group"), [(4, 2), (8, 4), (6, 3), (6, 1), (6, 6)])
def test_hierarchical(ranks, group):
    fast, slow, size = Link(1e-5, 1e8), Link(1e-3, 1e6), 840 * 16
    pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b and a // group == b // group]
    run = simulate(
        lambda comm: library.hierarchical_all_reduce(comm, np.full(size, float(comm.rank)), group=group),
        ranks,
        link=slow,
        links=dict.fromkeys(pairs, fast),
    )
    assert all((value == ranks * (ranks - 1) / 2).all() for value in run.values)
    law = laws.hierarchical_time(8 * size, ranks, group, 1e6, 1e-3, 1e8, 1e-5)
    assert run.seconds == pytest.approx(law, rel=1e-9)


def test_hierarchical_needs_whole_groups():
    with pytest.raises(RuntimeError, match="group must divide the number of ranks, 4; got 3"):
        simulate(lambda comm: library.hierarchical_all_reduce(comm, np.zeros(4), group=3), 4)


@pytest.mark.parametrize("world", [simulate, launch])
def test_reduce_scatter_then_all_gather(world):
    def worker(comm):
        part = library.reduce_scatter(comm, np.arange(10.0) + comm.rank)
        return part, np.concatenate(library.all_gather(comm, part))

    whole = 3 * np.arange(10.0) + 3
    for rank, (part, gathered) in enumerate(world(worker, 3).values):
        assert part.tolist() == [whole[:4], whole[4:7], whole[7:]][rank].tolist()
        assert gathered.tolist() == whole.tolist()


def test_all_gather_of_unequal_shapes():
    gathered = simulate(lambda comm: library.all_gather(comm, np.full(comm.rank, 7)), 3).values[1]
    assert [array.tolist() for array in gathered] == [[], [7], [7, 7]]


@pytest.mark.parametrize("world", [simulate, launch])
def test_weighted_mean(world):
    shards = [[1.0, 2.0, 3.0], [4.0, 5.0], []]

    def worker(comm):
        mine = np.array(shards[comm.rank])
        local = np.array([mine.mean() if len(mine) else np.nan])
        return library.weighted_mean(comm, local, len(mine))

    assert [value[0] for value in world(worker, 3).values] == [3.0] * 3


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


@pytest.mark.parametrize("name", ALGORITHMS)
def test_mean_and_tensors(name):
    torch = pytest.importorskip("torch")
    run = simulate(lambda comm: ALGORITHMS[name](comm, torch.full((2, 3), float(comm.rank)), "mean"), 4)
    assert all(torch.equal(value, torch.full((2, 3), 1.5)) for value in run.values)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(
    ("array", "op", "message"),
    [
        (np.ones(3, int), "mean", "op='mean' needs floating-point"),
        (np.ones(3), "max", "op must be one of 'sum', 'mean'"),
        ([1.0], "sum", "wrap it in np.array"),
    ],
)
def test_bad_arguments(name, array, op, message):
    with pytest.raises(RuntimeError, match=message):
        simulate(lambda comm: ALGORITHMS[name](comm, array, op), 2)
