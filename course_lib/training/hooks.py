"""DistributedDataParallel's communication hooks by name. Imports torch: for ranks."""

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

# name -> a new (state, hook). What loses much keeps what it did not send: error feedback.
_HOOKS = {
    "fp16": lambda: (HookState(), fp16_hook),
    "bf16": lambda: (HookState(), bf16_hook),
    "int8": lambda: (GatherState(Int8()), gather_hook),
    "sign": lambda: (GatherState(Sign(), feedback=True), gather_hook),
    "top_k": lambda: (GatherState(TopK(0.2), feedback=True), gather_hook),
    "power_sgd": lambda: (PowerSGDState(rank=2), power_sgd_hook),
}


def attach(net, name):
    """Register the hook `name`, one of config.COMM_HOOKS, on a DistributedDataParallel object."""
    net.register_comm_hook(*_HOOKS[name]())
