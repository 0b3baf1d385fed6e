"""Half precision: the backend adds it up, so the all-reduce stays as it is."""

import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

from course_lib.compression.hooks.state import gradients_of


def fp16_hook(state, bucket):
    """PyTorch's own fp16 hook, counted; with a HookState."""
    gradients_of(bucket)
    state.count(bucket, 2 * bucket.buffer().numel(), "ring")
    return fp16_compress_hook(state.group, bucket)


def bf16_hook(state, bucket):
    """An all-reduce of bfloat16; with a HookState.

    PyTorch's own bf16 hook does the same, but DDP refuses it where there is no NCCL or XCCL.
    """
    gradients_of(bucket)
    buffer = bucket.buffer()
    half = buffer.bfloat16().div_(state.ranks)
    state.count(bucket, half.nbytes, "ring")
    work = dist.all_reduce(half, group=state.group, async_op=True)
    return work.get_future().then(lambda done: buffer.copy_(done.value()[0]))
