"""Pitfalls of DistributedDataParallel: what goes wrong, by its value, and what cures it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from waiting import limit

from course_lib import RankError, launch, simulate
from course_lib.training import pitfalls

WORKERS = {
    "accumulation": pitfalls.accumulation,
    "inner_module": pitfalls.inner_module,
    "unused_layer": pitfalls.unused_layer(find=True),
    "join": pitfalls.unequal_batches(join=True),
    "join_by_those_left": pitfalls.unequal_batches(join=True, divide_by_all=False),
    "sampler_epochs": pitfalls.sampler_epochs,
    "padding": pitfalls.padding,
    "same_noise": pitfalls.same_noise,
    "half_weights": pitfalls.half_weights,
    "loss_scaling": pitfalls.loss_scaling,
}


@pytest.fixture(scope="module")
def shown():
    """name → both ranks' values."""
    run = launch(lambda comm: {name: worker(comm) for name, worker in WORKERS.items()}, 2, timeout=limit(300))
    return {name: [values[name] for values in run.values] for name in WORKERS}


# Gradients


def test_accumulation_waits_for_the_last_pass(shown):
    """Mean of 1 and 2, and of 10 and 20: 1.5 + 15."""
    for rank, own in enumerate((11.0, 22.0)):
        assert shown["accumulation"][rank] == {
            "each": (16.5, 2),
            "no_sync": (16.5, 1),
            "only backward": (16.5, 2),
            "all": (own, 0),
        }


def test_past_ddps_forward_nothing_is_averaged(shown):
    assert shown["inner_module"] == [{"net.module": 1.0, "net": 1.5}, {"net.module": 2.0, "net": 1.5}]


def test_c15_a_layer_without_gradient(shown):
    assert shown["unused_layer"] == [1.5, 1.5]
    assert launch(pitfalls.unused_layer(find=False, steps=1), 2).values == [1.0, 2.0]
    with pytest.raises(RankError, match="find_unused_parameters=True") as caught:
        launch(pitfalls.unused_layer(find=False), 2)
    assert "did not receive grad for rank" in str(caught.value) and ": spare.weight" in str(caught.value)


def test_c08_unequal_numbers_of_batches(shown):
    """Alone in its last step, rank 1 has gradient 1: through 2, or through 1."""
    assert shown["join"] == [[1.0], [1.0, 0.5]]
    assert shown["join_by_those_left"] == [[1.0], [1.0, 1.0]]
    with pytest.raises(RankError, match=r"no end within .* s\nrank 0 has returned") as caught:
        launch(pitfalls.unequal_batches(join=False), 2, timeout=limit(10))
    assert (caught.value.rank, caught.value.reason) == (1, "timeout")


# Data


def test_c09_the_sampler_must_be_told_the_epoch(shown):
    one, other = shown["sampler_epochs"]
    assert one["without"] == [[4, 7, 2, 1], [4, 7, 2, 1]]
    assert one["set_epoch"] == [[4, 7, 2, 1], [5, 2, 7, 1]]
    for name in ("without", "set_epoch"):
        for mine, theirs in zip(one[name], other[name], strict=True):
            assert sorted(mine + theirs) == list(range(8))


def test_accuracy_without_padding(shown):
    assert shown["padding"] == [{"padded": 0.2, "dropped": 0.2}] * 2  # 2 divides 10
    assert launch(pitfalls.padding, 4).values == [{"padded": 4 / 12, "dropped": 0.2}] * 4


@given(items=st.integers(1, 30), ranks=st.integers(1, 9), shuffle=st.booleans())
@example(items=8, ranks=4, shuffle=True)
@example(items=1, ranks=7, shuffle=False)
def test_without_padding_every_item_counts_once(items, ranks, shuffle):
    from torch.utils.data import DistributedSampler

    samplers = [DistributedSampler(range(items), ranks, rank, shuffle) for rank in range(ranks)]
    mine = [pitfalls.without_padding(sampler) for sampler in samplers]
    assert sorted(sum(mine, [])) == list(range(items))
    assert all(list(sampler)[: len(own)] == own for sampler, own in zip(samplers, mine, strict=True))


@pytest.mark.parametrize("inner", [False, True])
def test_evaluating_the_inner_module_waits_for_nobody(inner):
    """Rank 1 has no sample: in DDP's forward, rank 0 broadcasts buffers, and rank 1 does something else."""

    def worker(comm):
        import torch.distributed as dist

        net = torch.nn.parallel.DistributedDataParallel(torch.nn.BatchNorm1d(1))
        net.eval()
        with torch.no_grad():
            for samples in (torch.ones(2, 1),) * (comm.rank == 0):
                (net.module if inner else net)(samples)
        counts = torch.tensor([1.0, 2.0])
        dist.all_reduce(counts)
        return counts.tolist()

    if inner:
        assert launch(worker, 2).values == [[2.0, 4.0]] * 2
    else:
        with pytest.raises(RankError) as caught:
            launch(worker, 2, timeout=limit(10))
        assert caught.value.reason == "timeout"


# Random numbers, files, number formats


def test_more_ranks_than_samples_are_refused():
    with pytest.raises(ValueError, match="the number of ranks must be a whole number from 1 to 2; got 3"):
        pitfalls.batch_norm_means(SimpleNamespace(rank=2, size=3))
    with pytest.raises(ValueError, match="items must be a whole number of at least 2; got 0"):
        pitfalls.padding(SimpleNamespace(rank=0, size=1), 0)


def test_noise_of_ones_own(shown):
    one, other = shown["same_noise"]
    assert one["one seed"] == other["one seed"]
    assert one["by rank"] != other["by rank"]
    assert {*one["by rank"]} == {*other["by rank"]} == {0, 1}


def test_c17_saved_on_rank_0_and_loaded_on_all(tmp_path):
    one, other = launch(pitfalls.saving(tmp_path), 2).values
    torch.manual_seed(0)
    expected = sum(parameter.sum().item() for parameter in torch.nn.Linear(3, 2).parameters())
    assert one["sum"] == other["sum"] == pytest.approx(expected, abs=1e-6)
    assert one == other
    assert one["net.module"] == ["weight", "bias"]
    assert one["net"] == ["module.weight", "module.bias"]
    assert 'Unexpected key(s) in state_dict: "module.weight", "module.bias"' in one["error"]


def test_c17_nobody_loads_before_rank_0_has_saved(tmp_path):
    """With a rank 0 that is slow to write: the barrier is what the others wait for."""

    def worker(comm):
        import time

        save = torch.save
        torch.save = lambda *arguments: (time.sleep(0.3), save(*arguments))
        try:
            return pitfalls.saving(tmp_path)(comm)["sum"]
        finally:
            torch.save = save

    one, other = launch(worker, 2).values
    assert one == other


def test_an_update_smaller_than_bfloat16_can_hold(shown):
    for rank in shown["half_weights"]:
        assert rank["weights in bfloat16"] == (1.0, "torch.bfloat16")
        weight, dtype = rank["autocast"]
        assert (weight, dtype) == (pytest.approx(0.9, abs=1e-5), "torch.bfloat16")


def test_a_gradient_smaller_than_float16_can_hold(shown):
    for rank in shown["loss_scaling"]:
        assert rank == {"plain": 0.0, "scaled": pytest.approx(1e-8, rel=1e-3)}


# C14 and C20


def test_batch_norm_keeps_rank_0s_statistics():
    assert launch(pitfalls.batch_norm_means, 1).values == [pytest.approx([0.5, 0.95])]
    assert launch(pitfalls.batch_norm_means, 2).values == [[0, 0], pytest.approx([1, 1])]
    if not torch.cuda.is_available():
        with pytest.raises(RankError, match="SyncBatchNorm layers only work with GPU modules"):
            launch(lambda comm: pitfalls.batch_norm_means(comm, sync=True), 2)


@pytest.mark.parametrize("world", [simulate, launch])
def test_clipping_before_or_after_averaging(world):
    gradients = np.array([[4.0, 0.0], [0.0, 2.0]])

    def worker(comm):
        mine = gradients[comm.rank]
        ways = [pitfalls.clipped_mean(comm, mine, 1.0, first) for first in ("clip", "average")]
        return ways if world is simulate else [*ways, pitfalls.ddp_clipped_gradient(comm, mine, 1.0)]

    for before, after, *under_ddp in world(worker, 2).values:
        assert before == pytest.approx([0.5, 0.5])
        assert after == pytest.approx([2 / 5**0.5, 1 / 5**0.5])
        assert all(gradient == pytest.approx(after, abs=1e-5) for gradient in under_ddp)


def test_clipping_leaves_what_is_short():
    assert pitfalls.clip(np.array([0.3, 0.4]), 1.0).tolist() == [0.3, 0.4]
    assert pitfalls.clip(np.zeros(2), 1.0).tolist() == [0, 0]
    with pytest.raises(ValueError, match="limit must be a finite number above 0"):
        pitfalls.clip(np.ones(2), 0)
