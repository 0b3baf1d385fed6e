"""Sums of every dtype: gloo knows some, the others travel in one that it knows."""

import torch
import torch.distributed as dist

# Sums wrap around as they do in the dtype itself: integers by two's complement.
CARRIERS = {torch.int16: torch.int32, torch.uint16: torch.int32}
VIEWS = {torch.uint32: torch.int32, torch.uint64: torch.int64}


def sum_in_place(tensor, group):
    """Replace `tensor` on every rank by the sum over ranks; of booleans, as in NumPy, by their "or"."""
    if tensor.dtype == torch.bool:
        dist.all_reduce(tensor.view(torch.uint8), dist.ReduceOp.MAX, group=group)
    elif tensor.dtype in CARRIERS:
        wide = tensor.to(CARRIERS[tensor.dtype])
        dist.all_reduce(wide, group=group)
        tensor.copy_(wide)
    else:
        dist.all_reduce(tensor.view(VIEWS.get(tensor.dtype, tensor.dtype)), group=group)
