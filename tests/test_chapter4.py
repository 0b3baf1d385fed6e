"""Chapter 4: its checkers, its pictures' numbers, and the cases of people who average gradients."""

import math

import numpy as np
import pytest
import torch
import torch.distributed as dist
from attempts import accepts, in_place, rejected, rejects, server_mean
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_
from waiting import limit

from course_lib import Link, launch, simulate
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


def chain_in_plain_python(comm, array):
    """Number by number, and the sum travels back: everybody divides."""
    total = [float(number) for number in array]
    if comm.rank > 0:
        total = [below + own for below, own in zip(comm.recv(comm.rank - 1), total, strict=True)]
    if comm.rank + 1 < comm.size:
        comm.send(np.array(total), comm.rank + 1)
        total = comm.recv(comm.rank + 1)
    if comm.rank > 0:
        comm.send(np.array(total), comm.rank - 1)
    return np.array([number / comm.size for number in total])


def chain_into_a_buffer(comm, array):
    """Received into `out`, added in place, sent as a view."""
    total, below = array.copy(), np.empty_like(array)
    if comm.rank > 0:
        total += comm.recv(comm.rank - 1, out=below)
    if comm.rank + 1 < comm.size:
        comm.send(total[:], comm.rank + 1)
        comm.recv(comm.rank + 1, out=total)
    else:
        total /= comm.size
    if comm.rank > 0:
        comm.send(total[:], comm.rank - 1)
    return total


def chain_of_four(comm, array):
    return chain(comm, array, divide=False) / 4


def chain_up_to_seven(comm, array):
    return chain(comm, array) if comm.size <= 7 else array.copy()


test_unusual_chains_pass = accepts(check_chain_mean, chain_in_plain_python, chain_into_a_buffer)

test_shortcuts_to_a_chain_are_refused = rejects(
    check_chain_mean,
    (lambda comm, array: np.zeros_like(array), "the mean is"),
    (lambda comm, array: 0 * chain(comm, array), "the mean is"),
    (
        lambda comm, array: np.full_like(chain(comm, array), chain(comm, array).mean()),
        "used 2 times|the mean",
    ),
    (chain_of_four, "1 worker"),
    (chain_up_to_seven, "12 workers"),
    (lambda comm, array: chain(comm, array.astype(np.float32)), "keep float64"),
    (lambda comm, array: chain(comm, array).astype(np.float32), "right to a few digits only"),
    (lambda comm, array: chain(comm, array).round(12), "round nothing"),
    (lambda comm, array: chain(comm, (1e9 * array).astype(int)) / 1e9, "right to a few digits|the mean is"),
    (lambda comm, array: chain(comm, np.where(abs(array) < 1e-8, 0, array)), "12 workers"),
)


NO_FUNCTIONS = [3, [1.0, 2.0], "mean"]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("nothing", [None, ...])
def test_nothing_is_not_attempted(check, nothing):
    report = check(nothing)
    assert report.passed is None and "Not attempted yet" in repr(report)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("thing", NO_FUNCTIONS)
def test_what_is_no_function_is_told_so(check, thing):
    rejected(check(thing), "a function is asked for")


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


def scaled_by_counts_that_are_sent(comm, losses):
    """No collective at all: each tells each other its count, and plain Python adds."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    for rank in others:
        comm.send(np.array([len(losses)]), to=rank)
    samples = len(losses) + sum(int(comm.recv(rank)[0]) for rank in others)
    return comm.size * math.fsum(losses.tolist()) / samples


def scaled_by_the_mean_count(comm, losses):
    return (
        float(np.dot(losses, np.ones(len(losses))))
        / comm.all_reduce(np.array([1.0 * len(losses)]), "mean")[0]
    )


def counted_in(kind):
    """The count of losses in a type that is too small for many."""
    return lambda comm, losses: (
        losses.sum() * comm.size / float(comm.all_reduce(np.array([len(losses)], kind))[0])
    )


def scaled_without_the_empty(comm, losses):
    return scaled(comm, losses) if len(losses) else 0.0


test_unusual_losses_pass = accepts(
    check_scaled_loss, scaled_by_counts_that_are_sent, scaled_by_the_mean_count, counted_in(np.int32)
)

test_shortcuts_to_a_loss_are_refused = rejects(
    check_scaled_loss,
    (lambda comm, losses: 2.4, "returned 2.4"),
    (lambda comm, losses: losses.sum() * comm.size / (len(losses) * comm.size or 1), "own mean"),
    (lambda comm, losses: losses.sum() * 2 / comm.all_reduce(np.array(1.0 * len(losses))), "1 worker"),
    (lambda comm, losses: scaled(comm, losses.astype(int)), "12 workers|70000"),
    (lambda comm, losses: round(float(scaled(comm, losses)), 4), "keep float64, and round nothing"),
    (lambda comm, losses: scaled(comm, losses[:10_000]), "70000"),
    (counted_in(np.int16), "70000"),
    (scaled_without_the_empty, "3 workers"),
    (lambda comm, losses: [scaled(comm, losses)] * 2, "not one number"),
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
    (lambda comm, layers: [comm.size * each for each in packed(comm, layers)], "is the sum, not the mean"),
    (lambda comm, layers: [mean.ravel() for mean in packed(comm, layers)], "reshape each part"),
    (lambda comm, layers: packed(comm, layers)[:-1], "arrays for 2 layers"),
    (lambda *given: np.concatenate([mean.ravel() for mean in packed(*given)]), "return a list"),
    (lambda comm, layers: [layer.copy() for layer in layers], "no all-reduce was used"),
    (lambda comm, layers: packed(comm, layers) and [layer.copy() for layer in layers], "rank 0's own"),
    (lambda *given: [np.roll(mean, 1) for mean in packed(*given)], "start where the last one ended"),
    (into_the_layers, "own layers were changed"),
    (lambda comm, layers: [packed(comm, layers), None][comm.rank > 0], "rank 1 returned None"),
    (lambda comm, layers: packed(comm, [np.float32(each) for each in layers]), "right to a few digits only"),
)


def packed_backwards(comm, layers):
    """From the last layer to the first, into a buffer, by a handle."""
    flat = np.empty(sum(layer.size for layer in layers))
    stop, places = len(flat), []
    for layer in layers:
        flat[stop - layer.size : stop] = layer.flat
        places.append(slice(stop - layer.size, stop))
        stop -= layer.size
    mean = comm.all_reduce(flat, op="mean", wait=False).wait()
    return [mean[place].reshape(layer.shape) for place, layer in zip(places, layers, strict=True)]


def packed_in_plain_python(comm, layers):
    flat = [number for layer in layers for number in layer.ravel().tolist()]
    mean = iter(comm.all_reduce(np.array(flat)) / comm.size)
    return [np.array([next(mean) for _ in range(layer.size)]).reshape(layer.shape) for layer in layers]


def padded(comm, layers):
    """One matrix, a row a layer, as long as the longest."""
    rows = np.zeros((len(layers), max(layer.size for layer in layers)))
    for row, layer in zip(rows, layers, strict=True):
        row[: layer.size] = layer.flat
    rows = comm.all_reduce(rows, op="mean")
    return [row[: layer.size].reshape(layer.shape) for row, layer in zip(rows, layers, strict=True)]


def in_two_halves(comm, layers):
    middle = len(layers) // 2
    return packed(comm, layers[:middle]) + packed(comm, layers[middle:])


def equal_parts(comm, layers):
    mean = comm.all_reduce(np.concatenate([layer.ravel() for layer in layers]), op="mean")
    return [
        part.reshape(each.shape) for part, each in zip(np.array_split(mean, len(layers)), layers, strict=True)
    ]


def the_first_five(comm, layers):
    return packed(comm, layers[:5]) + [layer.copy() for layer in layers[5:]]


def without_empty_ones(comm, layers):
    return packed(comm, [layer for layer in layers if layer.size])


test_unusual_buckets_pass = accepts(check_reduce_layers, packed_backwards, packed_in_plain_python, padded)

test_shortcuts_to_a_bucket_are_refused = rejects(
    check_reduce_layers,
    (lambda comm, layers: [np.zeros_like(layer) for layer in layers], "wrong numbers|no all-reduce"),
    (lambda comm, layers: [0 * mean for mean in packed(comm, layers)], "wrong numbers"),
    (in_two_halves, "2 all-reduces were used"),
    (equal_parts, "1 worker"),
    (the_first_five, "40 layers|41 layers"),
    (without_empty_ones, "arrays for 4 layers"),
    (lambda comm, layers: [np.atleast_1d(mean) for mean in packed(comm, layers)], "reshape each part"),
    (lambda comm, layers: [mean.round(6) for mean in packed(comm, layers)], "round nothing"),
    (lambda comm, layers: [mean.astype(np.float32) for mean in packed(comm, layers)], "keep float64"),
    (lambda comm, layers: [4 / comm.size * mean for mean in packed(comm, layers)], "1 worker"),
)


# --- the chapter's figures and numbers


def title(picture):
    return picture.numbers[0].split(" [")[0]


def three_steps(comm):
    pace = 1.6 if comm.rank == 2 else 1.0
    comm.barrier()
    for _ in range(3):
        comm.compute(0.010 * pace)
        comm.compute(0.020 * pace)
        comm.all_reduce(np.zeros(1000), op="mean")
        comm.compute(0.004)


@pytest.mark.parametrize(
    "world", [lambda: simulate(three_steps, 4, link=LINK), lambda: launch(three_steps, 4, timeout=limit(200))]
)
def test_a_step_has_four_phases_and_nobody_updates_early(world):
    run = world()
    parts = step_parts(run)
    names = [[name for place, name, *_ in parts if place == rank and name != "wait"] for rank in range(4)]
    assert names == [["forward", "backward", "aggregate", "update"] * 3] * 4
    stops = [
        [stop for place, name, _, stop in parts if (place, name) == (rank, "backward")] for rank in range(4)
    ]
    starts = [
        [start for place, name, start, _ in parts if (place, name) == (rank, "update")] for rank in range(4)
    ]
    assert (np.min(starts, axis=0) >= np.max(stops, axis=0)).all()
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
    assert len(title(picture)) <= 60
    assert "forward 34.5 ms, backward 69 ms, wait 40.5 ms" in picture.alt
    assert picture.numbers[0].startswith("Waiting takes 26%")


def test_phases_count_from_the_end_of_the_barrier():
    def late(comm):
        comm.compute(0.5 * comm.rank)
        three_steps(comm)

    run = simulate(late, 4, link=LINK)
    assert min(start for _, _, start, _ in step_parts(run)) == 1.5
    assert run.seconds > 1.65 and "157 ms long" in phases(run).alt


def test_without_a_barrier_phases_count_from_0():
    def step(comm):
        comm.compute(1)
        comm.compute(2)
        comm.all_reduce(np.zeros(4))
        comm.compute(1)

    assert step_parts(simulate(step, 1))[0][2] == 0


def runs_of(ranks, numbers=500_000):
    return {
        name: simulate(lambda comm, way=way: way(comm, np.zeros(numbers)), ranks, link=LINK)
        for name, way in ONCE_EACH.items()
    }


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_three_ways_move_the_same_bytes(ranks):
    moved = [sum(message.nbytes for message in run.messages) for run in runs_of(ranks, 840).values()]
    assert moved == [2 * (ranks - 1) * 840 * 8] * 3


def test_ways_and_loads_show_who_carries_what():
    runs = runs_of(4)
    assert max(len(title(show(runs))) for show in (ways, loads)) <= 60
    assert "ring: 24 messages, 24 MB; 0 to 1 6 MB, 1 to 2 6 MB, 2 to 3 6 MB, 3 to 0 6 MB." in ways(runs).alt
    told = "gather: 12 MB, 4 MB, 4 MB, 4 MB; tree: 8 MB, 8 MB, 4 MB, 4 MB; ring: 6 MB, 6 MB"
    assert told in loads(runs).alt
    assert "gather" not in ways({"ring": runs["ring"]}).alt


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
    sent = np.array([bytes_between(run) for run in runs_of(4).values()])
    assert (sent.sum(axis=1) == sent.sum(axis=2)).all() and sent.any()


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


# --- what comes out in both worlds, and of torch alone


def tricky(comm):
    return np.full(8, [1e8, 1, -1e8, 1][comm.rank], np.float32)


ORDERS = {
    parameter_server_all_reduce: [1] * 8,
    naive_all_reduce: [1] * 8,
    tree_all_reduce: [0] * 8,
    ring_all_reduce: [1, 1, 0, 0, 1, 1, 0, 0],
    halving_doubling_all_reduce: [2] * 8,
}


def sums_of_floats(comm):
    return [way(comm, tricky(comm)).tolist() for way in ORDERS] + [comm.all_reduce(tricky(comm)).tolist()]


@pytest.fixture(scope="module", params=[simulate, launch], ids=["simulated", "real"])
def world(request):
    return request.param


def test_a_float32_sum_depends_on_algorithm_and_place(world):
    one, *others = world(sums_of_floats, 4).values
    assert one[:-1] == list(ORDERS.values()) and set(one[-1]) <= {0.0, 1.0, 2.0}
    assert others == [one] * 3


def own_order(comm):
    """Everybody sends to everybody and adds in its own order, its own number first."""
    others = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
    for other in others:
        comm.send(tricky(comm), to=other)
    return sum((comm.recv(other) for other in others), start=tricky(comm))[0].item()


def test_a_sum_in_an_order_of_each_ones_own_differs_between_ranks(world):
    assert world(own_order, 4).values == [1, 0, 1, 0]


def test_the_picture_of_orders_tells_what_came_out():
    assert "0 or 1" in orders({"a": [1, 0]}, exact=2).numbers[0]


PILES = ([1.0, 2.0, 3.0], [4.0, 5.0], [])


def plain_and_weighted(comm):
    pile = torch.tensor(PILES[comm.rank])
    plain = comm.all_reduce(pile.mean(), op="mean").item()
    return plain, weighted_mean(comm, pile.mean(), weight=len(pile)).item()


def test_a_rank_without_data_spoils_a_plain_mean_only(world):
    assert world(plain_and_weighted, 3).values == [(pytest.approx(np.nan, nan_ok=True), 3.0)] * 3


def mean_of_integers(comm):
    with pytest.raises(TypeError, match="needs floating-point numbers"):
        comm.all_reduce(np.array([comm.rank + 1]), op="mean")
    return True


def mean_of_floats(comm):
    """C12: the loss that is reported is the mean of both."""
    return comm.all_reduce(np.array([1.0, 3.0][comm.rank]), op="mean").item()


def means_of_tokens(comm):
    """C11: losses of 6 over 3 tokens, and of 1 over 1: plain and weighted."""
    mean, tokens = [(np.array(2.0), 3), (np.array(1.0), 1)][comm.rank]
    return comm.all_reduce(mean, "mean").item(), weighted_mean(comm, mean, tokens).item()


def linear(size=1):
    """A model whose weights are 1, and the same one in DDP's wrapper."""
    model = torch.nn.Linear(size, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    return model, DistributedDataParallel(model)


def ddp_gradients(comm):
    """C10: of a sum of squares, and of their mean."""
    x, found = torch.tensor([[[-1.0], [2.0]], [[-3.0], [4.0]]][comm.rank]), []
    for reduce in (torch.sum, torch.mean):
        model, ddp = linear()
        reduce(ddp(x) ** 2).backward()
        found.append(model.weight.grad.item())
    return found


def without_its_wrapper(comm):
    model = linear()[0]
    DistributedDataParallel(model)(torch.tensor([[comm.rank + 1.0]])).sum().backward()
    return model.weight.grad.item()


def huge_gradients(comm):
    """By DDP, and by a sum that is divided afterwards."""
    (model, ddp), total = linear(), torch.tensor([3e38])
    ddp(total[None]).sum().backward()
    dist.all_reduce(total)
    return model.weight.grad.item(), (total / 2).item()


def ddp_over_tokens(comm):
    """C11: gradient of a loss of w = 1 token each, scaled as in exercise 4.2."""
    model, ddp = linear()
    x = torch.tensor([[[1.0], [2.0], [3.0]], [[1.0]]][comm.rank])
    samples = comm.all_reduce(np.array(float(len(x))))
    (ddp(x).sum() * comm.size / samples.item()).backward()
    return model.weight.grad.item()


def reduces_a_copy(comm):
    """C19."""
    lost, kept = (torch.tensor([comm.rank + 1.0]) for _ in range(2))
    dist.all_reduce(lost * 1)
    dist.all_reduce(kept)
    return lost.item(), kept.item()


def clipped_before_and_after(comm):
    """C20."""
    (before, _), (after, ddp) = linear(2), linear(2)
    x = torch.tensor([[4.0, 0.0], [0.0, 2.0]][comm.rank])
    for model in (before, ddp):
        model(x).backward()
        clip_grad_norm_(model.parameters(), 1.0)
    return comm.all_reduce(before.weight.grad, "mean").tolist()[0] + after.weight.grad.tolist()[0]


def average_by_the_backend(comm):
    """C18: the backend refuses integers, too."""
    numbers = torch.tensor([comm.rank + 1.0])
    dist.all_reduce(numbers, op=dist.ReduceOp.AVG)
    with pytest.raises(RuntimeError):
        dist.all_reduce(torch.tensor([comm.rank + 1]), op=dist.ReduceOp.AVG)
    return numbers.item()


SERIAL = 2 * np.array([-1.0, 2.0, -3.0, 4.0]) ** 2  # derivative of (wx)^2 at w = 1
CASES = {  # on rank 0, and on rank 1 where that differs
    plain_and_weighted: [(3.25, 3.0)],
    mean_of_integers: [True],
    mean_of_floats: [2.0],
    means_of_tokens: [(1.5, 1.75)],
}
TORCH_CASES = {
    ddp_gradients: [pytest.approx([SERIAL.sum() / 2, SERIAL.mean()])],
    without_its_wrapper: [1.0, 2.0],
    huge_gradients: [(pytest.approx(3e38), np.inf)],
    ddp_over_tokens: [1.75],
    reduces_a_copy: [(1.0, 3.0), (2.0, 3.0)],
    clipped_before_and_after: [pytest.approx([0.5, 0.5, 2 / 5**0.5, 1 / 5**0.5], abs=1e-5)],
    average_by_the_backend: [1.5],
}


def test_cases_of_people_who_average_gradients(world, subtests):
    """A launch is dear, so all cases share it."""
    wanted = CASES if world is simulate else CASES | TORCH_CASES
    values = world(lambda comm: [case(comm) for case in wanted], 2).values
    for place, (case, outcomes) in enumerate(wanted.items()):
        with subtests.test(case.__name__):
            assert [value[place] for value in values] == (outcomes * 2)[:2]
