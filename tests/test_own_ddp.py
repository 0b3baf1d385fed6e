"""Own DDP against PyTorch's: the same parameters, on all ranks, whatever the buckets."""

import pytest
import torch
from torch import nn
from waiting import limit

from course_lib import RankError, launch
from course_lib.training.own_ddp import OwnDDP, compare, fill_buckets, train_with, unequal_layers

BUCKETS = (1, 2000, 25 * 2**20)  # bytes: a bucket a parameter, two, one


def wrapped(nbytes):
    return lambda module: OwnDDP(module, nbytes)


def test_equal_to_pytorchs_after_50_steps():
    """To rounding: three numbers may be added in one order or another."""

    def worker(comm):
        precise = [compare(wrapped(nbytes), comm.rank, dtype=torch.float64) for nbytes in BUCKETS]
        gaps = max(precise), compare(wrapped(2000), comm.rank, dtype=torch.float32)
        return gaps, train_with(wrapped(2000), comm.rank), train_with(wrapped(2000), comm.rank, steps=0)

    values = launch(worker, 3, threads=1, timeout=limit(400)).values
    for gaps, trained, start in values:
        assert gaps[0] < 1e-12 and gaps[1] < 1e-6
        assert torch.equal(trained, values[0][1]) and torch.equal(start, values[0][2])
        assert (trained - start).abs().max() > 0.1
    torch.manual_seed(0)  # rank 0's
    assert torch.equal(values[0][2], nn.utils.parameters_to_vector(unequal_layers().double().parameters()))


def test_without_averaging_the_comparison_would_tell():
    gaps = launch(lambda comm: compare(lambda module: module, comm.rank, steps=2), 2).values
    assert min(gaps) > 1e-3


def test_buckets(subtests):
    parameters = [nn.Parameter(torch.zeros(size)) for size in (10, 20, 5, 100, 1)]
    for nbytes, sizes in [(1, [[10], [20], [5], [100], [1]]), (100, [[10, 20], [5, 100], [1]])]:
        with subtests.test(nbytes=nbytes):
            assert [[each.numel() for each in bucket] for bucket in fill_buckets(parameters, nbytes)] == sizes
    assert fill_buckets(parameters, 10**9) == [parameters]


def test_full_buckets_leave_while_backward_goes_on():
    def worker(comm):
        seen = []
        for nbytes in BUCKETS:
            net = OwnDDP(unequal_layers(), nbytes)
            first = net.module[0].weight  # its gradient is the last
            first.register_hook(lambda gradient, net=net: seen.append((len(net.in_flight), len(net.buckets))))
            net(torch.ones(4, 13)).sum().backward()
            net.wait()
        return seen

    assert launch(worker, 2).values == [[(9, 10), (1, 2), (0, 1)]] * 2


def test_buffers_and_frozen_parameters():
    def worker(comm):
        buffers = nn.BatchNorm1d(1)
        buffers.running_mean += comm.rank + 5
        frozen = nn.Linear(1, 1)
        frozen.bias.requires_grad_(False)
        net = OwnDDP(nn.Sequential(frozen, buffers), 1)
        net(torch.tensor([[1.0], [2.0]])).square().sum().backward()
        net.wait()
        return frozen.bias.grad is None, net.module[1].running_mean.item(), len(net.buckets)

    (one, mean, buckets), other = launch(worker, 2).values
    assert (one, buckets) == (True, 3) and mean == other[1] and 4 < mean < 5


def test_an_unused_layer_is_named():
    class Spare(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.spare = nn.Linear(1, 1), nn.Linear(1, 1)

        def forward(self, inputs):
            return self.used(inputs)

    def worker(comm):
        net = OwnDDP(Spare(), 1)
        net(torch.ones(1, 1)).sum().backward()
        net.wait()

    with pytest.raises(RankError, match="no gradient for spare.weight, spare.bias: is it unused"):
        launch(worker, 2)


def test_a_forgotten_wait_is_told():
    def worker(comm):
        net = OwnDDP(nn.Linear(1, 1))
        for _ in range(2):
            net(torch.ones(1, 1)).sum().backward()

    with pytest.raises(RankError, match=r"call wait\(\) between backward and the next forward"):
        launch(worker, 2)


def test_what_it_cannot_do_is_told():
    def told(case):
        try:
            case()
        except (RuntimeError, ValueError) as error:
            return str(error)

    def twice():
        net = OwnDDP(nn.Linear(1, 1))
        loss = net(torch.ones(1, 1)).sum()
        loss.backward(retain_graph=True)
        loss.backward()  # its gradients would be left out without a word

    def past_the_replica():
        layer = nn.Linear(1, 1)
        OwnDDP(layer)
        layer(torch.ones(1, 1)).sum().backward()

    cases = (
        twice,
        past_the_replica,
        lambda: OwnDDP(nn.ReLU()),
        lambda: OwnDDP(nn.Linear(1, 1).requires_grad_(False)),
        lambda: OwnDDP(nn.Linear(1, 1), 0),
    )
    for messages in launch(lambda comm: [told(case) for case in cases], 2).values:
        assert all("a gradient came too many" in message for message in messages[:2])
        assert all("must have a parameter that requires a gradient" in message for message in messages[2:4])
        assert "nbytes must be a whole number of at least 1; got 0" in messages[4]
