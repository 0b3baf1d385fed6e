"""Clipping before or after averaging: one of them is what a single process with the large batch does."""

from course_lib.arguments import one_of, real_number


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
