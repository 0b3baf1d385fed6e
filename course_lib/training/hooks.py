"""DistributedDataParallel's communication hooks by name. Imports torch: for ranks."""

from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

from course_lib.compression import Int8, Sign, TopK
from course_lib.compression.hooks import (
    GatherState,
    HookState,
    PowerSGDState,
    bf16_hook,
    fp16_hook,
    gather_hook,
    power_sgd_hook,
)


def _all_reduce(state, bucket):
    """DDP's own all-reduce, counted."""
    state.count(bucket, bucket.buffer().nbytes, "ring")
    return allreduce_hook(state.group, bucket)


# name -> a new (state, hook). What loses much keeps what it did not send: error feedback.
_HOOKS = {
    None: lambda: (HookState(), _all_reduce),
    "fp16": lambda: (HookState(), fp16_hook),
    "bf16": lambda: (HookState(), bf16_hook),
    "int8": lambda: (GatherState(Int8()), gather_hook),
    "sign": lambda: (GatherState(Sign(), feedback=True), gather_hook),
    "top_k": lambda: (GatherState(TopK(0.2), feedback=True), gather_hook),
    "power_sgd": lambda: (PowerSGDState(rank=2), power_sgd_hook),
}


def attach(net, name):
    """Register a hook on a DistributedDataParallel object and return its state, which counts bytes.

    name: one of config.COMM_HOOKS; None for DDP's own all-reduce.
    """
    state, hook = _HOOKS[name]()
    net.register_comm_hook(state, hook)
    return state
