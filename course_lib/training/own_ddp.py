"""DistributedDataParallel from the inside, in thirty lines. Imports torch: for ranks.

What PyTorch's adds (Li et al., VLDB 2020): a small first bucket, buckets filled anew in the order in which
gradients came, gradients that live in their bucket, no_sync, unused parameters, buffers broadcast each time.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_lib.arguments import whole_number

BUCKET_BYTES = 25 * 2**20  # PyTorch's default


class OwnDDP(nn.Module):
    """A replica of `module` on every rank: call it, then backward, then wait(), then the optimizer's step."""

    def __init__(self, module, bucket_bytes=BUCKET_BYTES):
        super().__init__()
        self.module, self.in_flight = module, []
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), 0)  # else ranks that began apart stay apart
        trainable = [each for each in module.parameters() if each.requires_grad]
        if not trainable:
            raise ValueError("module must have a parameter that requires a gradient; this one has none")
        # Backward begins at the last layer, so its gradients are ready first.
        self.buckets = fill_buckets(trainable[::-1], bucket_bytes)
        self.missing = [0] * len(self.buckets)
        for number, bucket in enumerate(self.buckets):
            for parameter in bucket:
                parameter.register_post_accumulate_grad_hook(lambda _, number=number: self._ready(number))

    def forward(self, *inputs):
        if self.in_flight:
            raise RuntimeError("call wait() between backward and the next forward: gradients are in flight")
        self.missing = [len(bucket) for bucket in self.buckets]
        return self.module(*inputs)

    def _ready(self, number):
        """One gradient more of bucket `number`; a full one leaves while backward goes on."""
        if not self.missing[number]:
            raise RuntimeError("a gradient came too many: call the replica before each backward, then wait()")
        self.missing[number] -= 1
        # In the order of the buckets, the same on all ranks, or sums of different things would meet.
        while len(self.in_flight) < len(self.buckets) and not self.missing[len(self.in_flight)]:
            bucket = self.buckets[len(self.in_flight)]
            flat = torch.cat([parameter.grad.flatten() for parameter in bucket]) / dist.get_world_size()
            self.in_flight.append((dist.all_reduce(flat, async_op=True), flat))

    def wait(self):
        """Wait for all means and put them in the place of this rank's gradients."""
        if len(self.in_flight) < len(self.buckets):
            raise RuntimeError(f"no gradient for {', '.join(self._without_gradient())}: is it unused?")
        for (work, flat), bucket in zip(self.in_flight, self.buckets, strict=True):
            work.wait()
            for parameter, mean in zip(bucket, flat.split([each.numel() for each in bucket]), strict=True):
                parameter.grad.copy_(mean.view_as(parameter))
        self.in_flight = []

    def _without_gradient(self):
        named = self.module.named_parameters()
        return [name for name, parameter in named if parameter.requires_grad and parameter.grad is None]


def fill_buckets(parameters, nbytes):
    """Lists of parameters, in order: one is full once it has `nbytes` or more."""
    nbytes = whole_number("nbytes", nbytes, 1)
    buckets, size = [[]], 0
    for parameter in parameters:
        if size >= nbytes:
            buckets.append([])
            size = 0
        buckets[-1].append(parameter)
        size += parameter.nbytes
    return buckets


def unequal_layers():
    """A model for comparisons: layers of 13 x 40, 40 x 7, 7 x 90, 90 x 3, and a norm's scales in between."""
    layers = nn.Linear(13, 40), nn.Tanh(), nn.Linear(40, 7), nn.LayerNorm(7), nn.Linear(7, 90), nn.Tanh()
    return nn.Sequential(*layers, nn.Linear(90, 3))


def train_with(wrap, rank, steps=50, dtype=torch.float64):
    """All parameters, flat, after `steps` of SGD with momentum on random data, other data on each rank.

    wrap: wrap(module) → an OwnDDP, a DistributedDataParallel, or the like. Ranks begin with different
    parameters; where there is a wait(), it is called after backward.
    """
    torch.manual_seed(rank)
    model = unequal_layers().to(dtype)
    net, noise = wrap(model), torch.Generator().manual_seed(1000 + rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        inputs = torch.randn(8, 13, generator=noise, dtype=dtype)
        (net(inputs) - inputs[:, :3].sin()).square().mean().backward()
        getattr(net, "wait", lambda: None)()
        optimizer.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def compare(wrap, rank, steps=50, dtype=torch.float64):
    """Largest difference of a parameter, after `steps`, between `wrap` and DistributedDataParallel."""
    ours, theirs = (train_with(each, rank, steps, dtype) for each in (wrap, DistributedDataParallel))
    return (ours - theirs).abs().max().item()
