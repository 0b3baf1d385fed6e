"""DDP communication hooks that compress: net.register_comm_hook(state, hook). Import inside ranks: torch.

What must outlive a step is kept by parameter, never by bucket: after its first step DDP fills its buckets
anew. All that ranks exchange is started inside the hook, in the order of the buckets, the same on all ranks;
a future's callback only computes. (PyTorch's powerSGD_hook starts and awaits all-reduces in its callbacks:
with several buckets their order differs between ranks, or they block all threads of gloo, for ever.)
"""

from course_lib.compression.hooks.gather import GatherState, gather_hook
from course_lib.compression.hooks.half import bf16_hook, fp16_hook
from course_lib.compression.hooks.power_sgd import PowerSGDState, power_sgd_hook
from course_lib.compression.hooks.state import HookState

__all__ = [
    "GatherState",
    "HookState",
    "PowerSGDState",
    "bf16_hook",
    "fp16_hook",
    "gather_hook",
    "power_sgd_hook",
]
