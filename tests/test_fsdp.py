"""FSDP2 in real processes: the losses of DDP, with a share of what DDP holds."""

from dataclasses import replace

import pytest
from waiting import limit

from course_lib import launch
from course_lib.training.fsdp import SMALL, sharding_worker


@pytest.fixture(scope="module")
def shardings():
    """On 3 ranks, of which no width of the model is a multiple."""
    config = replace(SMALL, global_batch=12, steps=10)
    return launch(sharding_worker(config), 3, threads=1, timeout=limit(400)).values


def test_the_losses_are_ddps(shardings):
    for each in shardings:
        assert each.fsdp.losses == pytest.approx(each.ddp.losses, rel=1e-5)
        assert len(each.ddp.losses) == 10 and each.ddp.losses[-1] < each.ddp.losses[0] - 0.5


def test_a_rank_holds_its_share(shardings):
    total, ranks = shardings[0].total, len(shardings)
    for each in shardings:
        assert (each.ddp.parameters, each.ddp.gradients, each.ddp.optimizer) == (total, total, 2 * total)
        for numbers in (each.fsdp.parameters, each.fsdp.gradients, each.fsdp.optimizer / 2):
            assert numbers == pytest.approx(total / ranks, rel=0.1)
    assert sum(each.fsdp.parameters for each in shardings) == total
    assert sum(each.fsdp.gradients for each in shardings) == total


def test_the_losses_are_one_process_s():
    """One process, neither replicated nor sharded: the same global batch, 3 steps."""
    from course_lib.training.mlm import mlm_worker

    config = replace(SMALL, steps=3, dtype="float64")
    (alone,) = launch(mlm_worker(config), 1).values
    for each in launch(sharding_worker(config), 2).values:
        assert each.fsdp.losses == pytest.approx(alone.losses, rel=1e-9)
        assert each.fsdp.parameters == each.total / 2


def test_bad_configuration():
    with pytest.raises(TypeError, match="config must be an MlmConfig; got 2"):
        sharding_worker(2)
