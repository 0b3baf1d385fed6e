"""Two places where K replicas are not one process with the large batch, as workers short enough to watch.

torch is loaded only where they run.
"""

from course_lib.arguments import one_of, real_number, whole_number

SAMPLES = (-1.0, 1.0, 9.0, 11.0)  # on two ranks: around 0 | around 10


def batch_norm_means(comm, steps=2, sync=False):
    """This rank's running mean of a BatchNorm layer after each of `steps` steps under DDP on its SAMPLES.

    Each rank normalises by its own batch, and rank 0's running mean is broadcast before every forward pass:
    so it never contains what the others saw. sync: SyncBatchNorm, which takes the mean over all ranks, on
    GPUs only; on a CPU PyTorch raises ValueError.
    """
    import torch
    from torch.nn.parallel import DistributedDataParallel

    steps = whole_number("steps", steps, 1)
    layer = torch.nn.BatchNorm1d(1)  # moves its running mean by a tenth of the way at each step
    if sync:
        layer = torch.nn.SyncBatchNorm.convert_sync_batchnorm(layer)
    net = DistributedDataParallel(layer.to(comm.device))
    mine = torch.tensor(SAMPLES, device=comm.device).chunk(comm.size)[comm.rank].reshape(-1, 1)
    means = []
    for _ in range(steps):
        net(mine).sum().backward()
        means.append(net.module.running_mean.item())
    return means


def clip(gradient, limit):
    """`gradient`, a NumPy array, scaled down to the Euclidean norm `limit` if it is longer."""
    norm = float((gradient**2).sum()) ** 0.5
    return gradient * min(1.0, real_number("limit", limit, inclusive=False) / norm) if norm else gradient


def clipped_mean(comm, gradient, limit, first="average"):
    """The mean of all ranks' gradients, clipped to `limit`; runs in both worlds.

    first: "average", then clip, is what one process with the large batch does, and what
    torch.nn.utils.clip_grad_norm_ does after DDP's backward pass. "clip", each rank its own, then average,
    takes weight from the ranks with long gradients, and so changes the direction.
    """
    if one_of("first", first, ("average", "clip")) == "clip":
        return comm.all_reduce(clip(gradient, limit), op="mean")
    return clip(comm.all_reduce(gradient, op="mean"), limit)


def ddp_clipped_gradient(comm, gradient, limit):
    """A parameter's gradient after backward() under DDP and clip_grad_norm_; `gradient` is this rank's."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    slopes = torch.tensor(gradient, device=comm.device)
    layer = torch.nn.Linear(len(slopes), 1, bias=False).to(slopes)
    net = DistributedDataParallel(layer)
    net(slopes).sum().backward()  # the gradient of a linear map is its input
    torch.nn.utils.clip_grad_norm_(layer.parameters(), limit)
    return layer.weight.grad[0].cpu().numpy()
