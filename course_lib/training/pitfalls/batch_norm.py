"""BatchNorm under DDP: each rank normalises by its own batch, and rank 0's statistics win."""

from course_lib.arguments import whole_number

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
    whole_number("the number of ranks", comm.size, 1, 2)
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
