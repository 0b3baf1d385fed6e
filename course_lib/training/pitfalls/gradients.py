"""Gradients that are not averaged, or averaged too often."""

from contextlib import nullcontext

from course_lib.arguments import whole_number


def accumulation(comm):
    """Two micro-batches before an update; rank r has x = r + 1 and then 10 (r + 1).

    → name: (gradient, all-reduces). "each": no no_sync, right but every pass communicates. "no_sync": around
    the first forward and backward. "only backward": around backward alone, too late, for forward decides.
    "all": around both passes; nothing is averaged.
    """
    results = {}
    for name, without in {"each": 0, "no_sync": 1, "only backward": 1, "all": 2}.items():
        net, calls = _watched()
        for number in range(2):
            scope = net.no_sync if number < without else nullcontext
            with nullcontext() if name == "only backward" else scope():
                loss = _loss(net, 10.0**number * (comm.rank + 1))
            with scope():
                loss.backward()
        results[name] = _gradient(net), len(calls)
    return results


def inner_module(comm):
    """Forward through net or past it, by net.module; rank r has x = r + 1. → name: gradient.

    Only DDP's own forward prepares the averaging; past it each rank keeps its own gradient, without a word.
    """
    results = {}
    for name, chosen in {"net.module": lambda net: net.module, "net": lambda net: net}.items():
        net, _ = _watched()
        _loss(chosen(net), comm.rank + 1.0).backward()
        results[name] = _gradient(net)
    return results


def unused_layer(find, steps=2):
    """A worker: steps of a model whose layer `spare` gets no gradient; find: find_unused_parameters.

    → gradient of the layer that is used, x = r + 1 on rank r; with False it is not averaged either, and in
    the second forward DDP raises, and at debug level INFO names the layer. (Not DETAIL, nor so
    launch(..., debug=True): with it PyTorch 2.13 crashes as it makes a DDP object on gloo.)
    """
    steps = whole_number("steps", steps, 1)

    def worker(comm):
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel

        dist.set_debug_level(dist.DebugLevel.INFO)  # or TORCH_DISTRIBUTED_DEBUG=INFO around the job

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.spare = _one_weight(), _one_weight()

            def forward(self, inputs):
                return self.used(inputs)

        net = DistributedDataParallel(Model(), find_unused_parameters=find)
        for _ in range(steps):
            net.zero_grad()
            _loss(net, comm.rank + 1.0).backward()
        return net.module.used.weight.grad.item()

    return worker


def unequal_batches(join, divide_by_all=True):
    """A worker: rank r has r + 1 batches of x = 1; join: with Join. → this rank's gradients, one a step.

    Without Join a rank with more batches waits in vain. With it, who has finished goes on with zeros, and the
    mean is still over all ranks; divide_by_all=False: over those that have a batch left.
    """

    def worker(comm):
        from torch.nn.parallel import DistributedDataParallel

        # Without a hook: one would divide by K whatever Join is told.
        net, gradients = DistributedDataParallel(_one_weight()), []
        with net.join(divide_by_initial_world_size=divide_by_all) if join else nullcontext():
            for _ in range(comm.rank + 1):
                net.zero_grad()
                _loss(net, 1.0).backward()
                gradients.append(_gradient(net))
        return gradients

    return worker


def _one_weight():
    """w = 1, from which w * x is the prediction."""
    import torch

    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    return layer


def _watched():
    """(DDP of one weight, a list that grows with each all-reduce of its gradient)."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    from torch.nn.parallel import DistributedDataParallel

    net, calls = DistributedDataParallel(_one_weight()), []

    def hook(group, bucket):
        calls.append(bucket.index())
        return allreduce_hook(group, bucket)

    net.register_comm_hook(None, hook)
    return net, calls


def _loss(net, x):
    import torch

    return net(torch.tensor([[x]])).sum()


def _gradient(net):
    return net.module.weight.grad.item()
