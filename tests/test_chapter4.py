"""Chapter 4: its checkers, its pictures' numbers, and the cases of people who average gradients."""

import numpy as np
import pytest
from attempts import accepts, in_place, rejects, server_mean

from course_lib import Link, RankError, launch, simulate
from course_lib.collectives import (
    halving_doubling_all_reduce,
    naive_all_reduce,
    parameter_server_all_reduce,
    ring_all_reduce,
    tree_all_reduce,
    weighted_mean,
)
from course_lib.exercises.chapter4 import check_chain_mean, check_reduce_layers, check_scaled_loss
from course_lib.laws import ring_time
from course_lib.pictures.aggregation import (
    _tree_places,
    cost_of_splitting,
    loads,
    orders,
    phases,
    step_parts,
    ways,
)
from course_lib.pictures.traffic import bytes_between

LINK = Link(50e-6, 1.25e9)
ONCE_EACH = {"gather": parameter_server_all_reduce, "tree": tree_all_reduce, "ring": ring_all_reduce}
CHECKS = [check_chain_mean, check_scaled_loss, check_reduce_layers]


# --- exercises


def chain(comm, array, divide=True, back=True):
    last = comm.size - 1
    total = array if comm.rank == 0 else array + comm.recv(comm.rank - 1)
    if comm.rank == last:
        total = total / (comm.size if divide else 1)
    else:
        comm.send(total, to=comm.rank + 1)
        total = comm.recv(comm.rank + 1) if back else total
    if comm.rank > 0 and back:
        comm.send(total, to=comm.rank - 1)
    return total


def all_divide(comm, array):
    return chain(comm, array, divide=False) / comm.size


def collects(comm, array):
    """Passes on all gradients side by side instead of their sum."""
    rows = array[None] if comm.rank == 0 else np.vstack([comm.recv(comm.rank - 1), array])
    if comm.rank < comm.size - 1:
        comm.send(rows, to=comm.rank + 1)
        mean = comm.recv(comm.rank + 1)
    else:
        mean = rows.mean(axis=0)
    if comm.rank > 0:
        comm.send(mean, to=comm.rank - 1)
    return mean


def early(comm, array):
    """Sends its own gradient up before it has received."""
    last = comm.size - 1
    if comm.rank < last:
        comm.send(array, to=comm.rank + 1)
    total = array + comm.recv(comm.rank - 1) if comm.rank else array
    total = comm.recv(comm.rank + 1) if comm.rank < last else total / comm.size
    if comm.rank > 0:
        comm.send(total, to=comm.rank - 1)
    return total


def forgets_a_return(comm, array):
    mean = chain(comm, array)
    if comm.rank == 0:
        return mean


def divides_at_each_hop(comm, array):
    total = array if comm.rank == 0 else (array + comm.recv(comm.rank - 1)) / 2
    return chain_down(comm, total)


def chain_down(comm, total):
    if comm.rank < comm.size - 1:
        comm.send(total, to=comm.rank + 1)
        total = comm.recv(comm.rank + 1)
    if comm.rank > 0:
        comm.send(total, to=comm.rank - 1)
    return total


test_chain_mean_accepts = accepts(check_chain_mean, chain, all_divide)

test_chain_mean_rejects = rejects(
    check_chain_mean,
    (lambda comm, array: chain(comm, array, divide=False), "returned the sum; divide by comm.size"),
    (lambda comm, array: chain(comm, array) / comm.size, "divided twice"),
    (lambda comm, array: chain(comm, array, back=False), "once on the way back down"),
    (server_mean, "only neighbours may talk"),
    (in_place(chain), "array itself was changed"),
    (collects, "add before you pass on"),
    (early, "receive, add, then send"),
    (forgets_a_return, "rank 1 returned None: is a return missing"),
    (divides_at_each_hop, "the mean is"),
    (lambda comm, array: array, "once on the way up"),
    (lambda comm, array: chain(comm, array).tolist(), "returned list, not an array"),
    (lambda comm, array: chain(comm, array[:1]), "returned shape (1,), not (4,)"),
    (lambda comm, array: (chain(comm, array), chain(comm, array))[0], "was used 2 times"),
    (lambda comm, array: comm.all_reduce(array, "mean"), "a collective was called"),
    (lambda comm, array: comm.recv((comm.rank + 1) % comm.size), "rank 0"),
    (lambda comm, array: chain(comm, array).round(5), "right to a few digits only"),
)


def scaled(comm, losses):
    return losses.sum() * comm.size / comm.all_reduce(np.array(float(len(losses))))


def scaled_by_whole_numbers(comm, losses):
    samples = comm.all_reduce(np.array([len(losses)]))
    return comm.size * np.sum(losses) / samples[0]


test_scaled_loss_accepts = accepts(
    check_scaled_loss, scaled, scaled_by_whole_numbers, lambda comm, losses: np.array([scaled(comm, losses)])
)


def global_mean(comm, losses):
    total = comm.all_reduce(np.array([losses.sum(), len(losses)]))
    return total[0] / total[1]


def two_rounds(comm, losses):
    comm.all_reduce(np.array(losses.sum()))
    return scaled(comm, losses)


def from_the_mean(comm, losses):
    mean = losses.mean() if len(losses) else np.nan  # what torch says of an empty tensor
    return mean * len(losses) * comm.size / comm.all_reduce(np.array(float(len(losses))))


def returns_on_rank_0_only(comm, losses):
    if comm.rank == 0 and comm.size == 1:
        return losses.mean()
    loss = scaled(comm, losses)
    if comm.rank == 0:
        return loss


def wide(comm, losses):
    samples = comm.all_reduce(np.array([float(len(losses)), losses.sum()] * 4))[0]
    return losses.sum() * comm.size / samples


test_scaled_loss_rejects = rejects(
    check_scaled_loss,
    (lambda comm, losses: losses.sum() / max(1, len(losses)), "returned its own mean"),
    (from_the_mean, "NaN"),
    (lambda comm, losses: losses.sum(), "plain sum"),
    (lambda comm, losses: scaled(comm, losses) / comm.size, "divides by 2 again"),
    (global_mean, "return your own share"),
    (two_rounds, "one, for the count, is enough"),
    (wide, "only the count of losses needs to travel"),
    (lambda comm, losses: losses * comm.size, "not one number"),
    (returns_on_rank_0_only, "rank 1 returned None"),
    (lambda comm, losses: np.float32(scaled(comm, losses)), "keep float64"),
)


def packed(comm, layers):
    flat = np.concatenate([layer.ravel() for layer in layers])
    mean = comm.all_reduce(flat, op="mean")
    ends = np.cumsum([layer.size for layer in layers])
    return [part.reshape(layer.shape) for part, layer in zip(np.split(mean, ends[:-1]), layers, strict=True)]


def packed_by_hand(comm, layers):
    total = comm.all_reduce(np.hstack([layer.reshape(-1) for layer in layers])) / comm.size
    means, start = [], 0
    for layer in layers:
        means.append(total[start : start + layer.size].reshape(layer.shape))
        start += layer.size
    return tuple(means)


def into_the_layers(comm, layers):
    for layer, mean in zip(layers, packed(comm, layers), strict=True):
        layer[...] = mean
    return layers


test_reduce_layers_accepts = accepts(check_reduce_layers, packed, packed_by_hand)

test_reduce_layers_rejects = rejects(
    check_reduce_layers,
    (lambda comm, layers: [comm.all_reduce(layer, "mean") for layer in layers], "join the layers"),
    (
        lambda comm, layers: [layer * comm.size for layer in packed(comm, layers)],
        "is the sum, not the mean",
    ),
    (lambda comm, layers: [mean.ravel() for mean in packed(comm, layers)], "reshape each part"),
    (lambda comm, layers: packed(comm, layers)[:-1], "arrays for 2 layers"),
    (
        lambda comm, layers: np.concatenate([mean.ravel() for mean in packed(comm, layers)]),
        "return a list",
    ),
    (lambda comm, layers: [layer.copy() for layer in layers], "no all-reduce was used"),
    (lambda comm, layers: packed(comm, layers) and [layer.copy() for layer in layers], "rank 0's own"),
    (
        lambda comm, layers: [np.roll(mean, 1) for mean in packed(comm, layers)],
        "start where the last one ended",
    ),
    (into_the_layers, "own layers were changed"),
    (lambda comm, layers: [packed(comm, layers), None][comm.rank > 0], "rank 1 returned None"),
    (
        lambda comm, layers: packed(comm, [layer.astype(np.float32) for layer in layers]),
        "1 worker, layers of shapes (3,), (2, 2): layer 0 is right to a few digits only",
    ),
)


# --- the chapter's figures and numbers


def three_steps(comm):
    pace = 1.6 if comm.rank == 2 else 1.0
    comm.barrier()
    for _ in range(3):
        comm.compute(0.010 * pace)
        comm.compute(0.020 * pace)
        comm.all_reduce(np.zeros(1000), op="mean")
        comm.compute(0.004)


@pytest.mark.parametrize(
    "world", [lambda: simulate(three_steps, 4, link=LINK), lambda: launch(three_steps, 4)]
)
def test_a_step_has_four_phases_and_nobody_updates_early(world):
    run = world()
    parts = step_parts(run)
    for rank in range(4):
        names = [name for place, name, _, _ in parts if place == rank and name != "wait"]
        assert names == ["forward", "backward", "aggregate", "update"] * 3
    for step in range(3):
        of_step = [
            [part for part in parts if part[0] == rank and part[1] == name][step]
            for rank in range(4)
            for name in ("backward", "update")
        ]
        ready = max(stop for _, name, _, stop in of_step if name == "backward")
        assert min(start for _, name, start, _ in of_step if name == "update") >= ready
    slow = [stop - start for rank, name, start, stop in parts if rank == 2 and name == "wait"]
    assert run.world == "real" or sum(slow) == 0


def test_a_single_worker_has_phases_too_and_other_workers_are_refused():
    names = [name for _, name, _, _ in step_parts(simulate(three_steps, 1))]
    assert names == ["forward", "backward", "aggregate", "update"] * 3
    with pytest.raises(ValueError, match="forward, backward need a span of computing each; got 1"):
        phases(simulate(lambda comm: (comm.compute(1), comm.all_reduce(np.zeros(1))), 2))
    with pytest.raises(ValueError, match="no steps"):
        phases(simulate(lambda comm: (comm.compute(1), comm.barrier()), 2))


def test_phases_show_their_times():
    picture = phases(simulate(three_steps, 4, link=LINK))
    assert "forward 34.5 ms, backward 69 ms, wait 40.5 ms" in picture.alt
    assert picture.numbers[0].startswith("Waiting takes 26%")


def test_phases_count_from_the_end_of_the_barrier():
    def late(comm):
        comm.compute(0.5 * comm.rank)
        three_steps(comm)

    run = simulate(late, 4, link=LINK)
    assert min(start for _, _, start, _ in step_parts(run)) == 1.5
    assert run.seconds > 1.65 and "157 ms long" in phases(run).alt


def test_other_collectives_at_the_beginning_are_part_of_a_step():
    def step(comm):
        comm.compute(1)
        comm.compute(2)
        comm.all_reduce(np.zeros(4))
        comm.compute(1)

    assert [start for _, _, start, _ in step_parts(simulate(step, 1))][0] == 0


def runs_of(ranks, numbers=500_000):
    return {
        name: simulate(lambda comm, way=way: way(comm, np.zeros(numbers)), ranks, link=LINK)
        for name, way in ONCE_EACH.items()
    }


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 8])
def test_three_ways_move_the_same_bytes(ranks):
    for run in runs_of(ranks, 840).values():
        assert sum(message.nbytes for message in run.messages) == 2 * (ranks - 1) * 840 * 8


def test_ways_and_loads_show_who_carries_what():
    runs = runs_of(4)
    assert "ring: 24 messages, 24 MB; 0 to 1 6 MB, 1 to 2 6 MB, 2 to 3 6 MB, 3 to 0 6 MB." in ways(runs).alt
    assert (
        "gather: 12 MB, 4 MB, 4 MB, 4 MB; tree: 8 MB, 8 MB, 4 MB, 4 MB; ring: 6 MB, 6 MB" in loads(runs).alt
    )
    assert len(ways({"ring": runs["ring"]}).png) > 1000


def test_a_tree_is_drawn_as_one_and_a_ring_as_a_circle():
    runs = runs_of(4)
    places = {name: _tree_places(bytes_between(run)) for name, run in runs.items()}
    assert places["gather"] == [(1, 0), (0, -1), (1, -1), (2, -1)]
    assert places["tree"] == [(0.5, 0), (0, -1), (1, -1), (0, -2)]
    assert places["ring"] is None
    apart = np.zeros((4, 4))
    apart[1, 2] = apart[2, 3] = apart[3, 1] = 1  # three edges, but a circle and one who talks to nobody
    assert _tree_places(apart) is None


def test_everybody_receives_as_many_bytes_as_it_sends():
    for run in runs_of(4).values():
        sent = bytes_between(run)
        assert (sent.sum(axis=0) == sent.sum(axis=1)).all()


def test_a_gather_takes_as_long_in_as_out():
    run = runs_of(4)["gather"]
    stops = [message.stop for message in run.messages]
    assert stops == pytest.approx([3.25e-3, 6.45e-3, 9.65e-3, 12.9e-3, 16.1e-3, 19.3e-3])


def test_splitting_follows_the_law():
    def in_pieces(count):
        def worker(comm):
            for piece in np.array_split(np.zeros(65_536, np.float32), count):
                comm.all_reduce(piece)

        return simulate(worker, 4, link=LINK).seconds

    def law(count):
        return count * ring_time(262_144 / count, 4, LINK.bandwidth, LINK.latency)

    counts = [1, 4, 16, 64]
    seconds = [in_pieces(count) for count in counts]
    assert seconds == pytest.approx([law(count) for count in counts], rel=1e-9)
    picture = cost_of_splitting(counts, seconds, law)
    assert "64 pieces, the same bytes take 31.8 ×" in picture.numbers[0] and "1: 615 µs" in picture.alt


def test_longest_title_fits():
    for picture in (phases(simulate(three_steps, 4)), *(show(runs_of(4)) for show in (ways, loads))):
        assert len(picture.numbers[0].split(" [")[0]) <= 60


# --- departures


def tricky(comm):
    return np.full(8, [1e8, 1, -1e8, 1][comm.rank], np.float32)


@pytest.mark.parametrize(
    ("way", "comes_out"),
    [
        (parameter_server_all_reduce, [1] * 8),
        (naive_all_reduce, [1] * 8),
        (tree_all_reduce, [0] * 8),
        (ring_all_reduce, [1, 1, 0, 0, 1, 1, 0, 0]),
        (halving_doubling_all_reduce, [2] * 8),
    ],
)
def test_a_float32_sum_depends_on_algorithm_and_place(way, comes_out):
    for world in (simulate, launch):
        run = world(lambda comm: way(comm, tricky(comm)), 4)
        assert len({value.tobytes() for value in run.values}) == 1
        assert run.values[0].tolist() == comes_out
    assert "0 or 1" in orders({"a": [1, 0]}, exact=2).numbers[0]


def test_the_backends_sum_is_equal_across_ranks():
    values = launch(lambda comm: comm.all_reduce(tricky(comm)), 4).values
    assert len({value.tobytes() for value in values}) == 1
    assert set(values[0].tolist()) <= {0.0, 1.0, 2.0}


PILES = ([1.0, 2.0, 3.0], [4.0, 5.0], [])


def plain_and_weighted(comm):
    import torch

    pile = torch.tensor(PILES[comm.rank])
    plain = comm.all_reduce(pile.mean(), op="mean").item()
    return plain, weighted_mean(comm, pile.mean(), weight=len(pile)).item()


def test_unequal_shards_need_weights():
    assert launch(plain_and_weighted, 2).values == [(3.25, 3.0)] * 2


def test_a_rank_without_data_spoils_a_plain_mean_only():
    for world in (simulate, launch):
        for plain, weighted in world(plain_and_weighted, 3).values:
            assert np.isnan(plain) and weighted == 3.0


# --- cases


def ddp_gradients(comm):
    import torch
    from torch.nn.parallel import DistributedDataParallel

    x = torch.tensor([[-1.0, 2.0], [-3.0, 4.0]][comm.rank]).reshape(-1, 1)
    found = []
    for reduce in (torch.sum, torch.mean):
        model = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.ones_(model.weight)
        ddp = DistributedDataParallel(model)
        reduce(ddp(x) ** 2).backward()
        found.append(model.weight.grad.item())
    return found


def test_c10_ddp_halves_a_sum_and_keeps_a_mean():
    x = np.array([-1.0, 2.0, -3.0, 4.0])
    serial = 2 * x**2  # derivative of (wx)^2 at w = 1
    assert (serial.sum(), serial.mean()) == (60, 15)
    assert launch(ddp_gradients, 2).values == [[30.0, 15.0]] * 2


def without_its_wrapper(comm):
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = torch.nn.Linear(1, 1, bias=False)
    DistributedDataParallel(model)(torch.tensor([[comm.rank + 1.0]])).sum().backward()
    return model.weight.grad.item()


def test_ddp_averages_nothing_once_its_wrapper_is_gone():
    assert launch(without_its_wrapper, 2).values == [1.0, 2.0]


def huge_gradients(comm):
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    model, total = torch.nn.Linear(1, 1, bias=False), torch.tensor([3e38])
    ddp = DistributedDataParallel(model)
    ddp(total[None]).sum().backward()
    dist.all_reduce(total)
    return model.weight.grad.item(), (total / 2).item()


def test_ddp_scales_before_it_sums():
    assert launch(huge_gradients, 2).values == [(pytest.approx(3e38), np.inf)] * 2


def test_c11_tokens_count_not_ranks():
    sums, tokens = [6.0, 1.0], [3, 1]

    def losses(comm):
        mean = np.array(sums[comm.rank] / tokens[comm.rank])
        return comm.all_reduce(mean, "mean").item(), weighted_mean(comm, mean, tokens[comm.rank]).item()

    for world in (simulate, launch):
        assert world(losses, 2).values == [(1.5, 1.75)] * 2


def ddp_over_tokens(comm):
    """Gradient of a loss of w = 1 token each, scaled as in exercise 4.2."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = torch.nn.Linear(1, 1, bias=False)
    ddp = DistributedDataParallel(model)
    x = torch.tensor([[1.0, 2.0, 3.0], [1.0]][comm.rank]).reshape(-1, 1)
    samples = comm.all_reduce(np.array(float(len(x))))
    (ddp(x).sum() * comm.size / samples.item()).backward()
    return model.weight.grad.item()


def test_c11_a_scaled_loss_makes_ddp_right():
    assert launch(ddp_over_tokens, 2).values == [1.75] * 2


def test_c12_the_reported_loss_is_the_classes():
    def report(comm):
        return comm.all_reduce(np.array([1.0, 3.0][comm.rank]), op="mean").item()

    for world in (simulate, launch):
        assert world(report, 2).values == [2.0, 2.0]


def mean_of(kind):
    return lambda comm: comm.all_reduce(np.array([comm.rank + 1], kind), op="mean").tolist()


@pytest.mark.parametrize("world", [simulate, launch])
def test_c18_a_mean_of_integers_is_refused_with_the_reason(world):
    assert world(mean_of(np.float64), 2).values == [[1.5]] * 2
    with pytest.raises(RankError, match="needs floating-point numbers"):
        world(mean_of(np.int64), 2)


def average_of_integers(comm):
    import torch
    import torch.distributed as dist

    numbers = torch.tensor([comm.rank + 1.0])
    dist.all_reduce(numbers, op=dist.ReduceOp.AVG)
    try:
        dist.all_reduce(torch.tensor([comm.rank + 1]), op=dist.ReduceOp.AVG)
    except RuntimeError:
        return numbers.item()


def test_c18_so_does_the_backend():
    assert launch(average_of_integers, 2).values == [1.5, 1.5]


def reduces_a_copy(comm):
    import torch
    import torch.distributed as dist

    lost, kept = (torch.tensor([comm.rank + 1.0]) for _ in range(2))
    dist.all_reduce(lost * 1)
    dist.all_reduce(kept)
    return lost.item(), kept.item()


def test_c19_an_all_reduce_of_a_copy_changes_nothing():
    assert launch(reduces_a_copy, 2).values == [(1.0, 3.0), (2.0, 3.0)]


def clipped_before_and_after(comm):
    import torch
    from torch.nn.parallel import DistributedDataParallel
    from torch.nn.utils import clip_grad_norm_

    before, after = (torch.nn.Linear(2, 1, bias=False) for _ in range(2))
    x = torch.tensor([[4.0, 0.0], [0.0, 2.0]][comm.rank])
    before(x).backward()
    clip_grad_norm_(before.parameters(), 1.0)
    ddp = DistributedDataParallel(after)
    ddp(x).backward()
    clip_grad_norm_(after.parameters(), 1.0)
    return comm.all_reduce(before.weight.grad, "mean").tolist()[0], after.weight.grad.tolist()[0]


def test_c20_clipping_before_and_after_averaging_are_two_things():
    for before, after in launch(clipped_before_and_after, 2).values:
        assert before == pytest.approx([0.5, 0.5], abs=1e-5)
        assert after == pytest.approx([2 / 5**0.5, 1 / 5**0.5], abs=1e-5)
