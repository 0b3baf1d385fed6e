"""What cannot be added up on the way: each rank gets all ranks' payloads, and adds them up itself."""

import torch
import torch.distributed as dist

from course_lib.compression.hooks.state import HookState, gradients_of
from course_lib.compression.hooks.tensors import decode, encode


class GatherState(HookState):
    """State of gather_hook. compressor: Int8(), Sign() or TopK(density); feedback: add what was not sent."""

    def __init__(self, compressor, *, feedback=False, group=None):
        super().__init__(feedback=feedback, group=group)
        encode(compressor, torch.ones(1))  # refuses at once what has no version for tensors
        self.compressor = compressor


def gather_hook(state, bucket):
    """Each parameter's gradient is encoded by itself; one all-gather a bucket; the mean of what arrives."""
    buffer, gradients = bucket.buffer(), gradients_of(bucket)
    payloads = [_payload(state, *item) for item in gradients.items()]
    lengths, mine = list(map(len, payloads)), torch.cat(payloads)
    everyone = [torch.empty_like(mine) for _ in range(state.ranks)]
    state.count(bucket, mine.nbytes, "all_gather")
    work = dist.all_gather(everyone, mine, group=state.group, async_op=True)

    def average(done):
        done.value()  # raises what went wrong
        of_ranks = zip(*(payload.split(lengths) for payload in everyone), strict=True)
        for gradient, parts in zip(gradients.values(), of_ranks, strict=True):
            total = sum(decode(state.compressor, part, gradient.shape) for part in parts)
            gradient.copy_(total / state.ranks)
        return buffer

    return work.get_future().then(average)


def _payload(state, parameter, gradient):
    corrected = state.corrected(parameter, gradient)
    payload = encode(state.compressor, corrected)
    if state.feedback:
        state.keep(parameter, corrected - decode(state.compressor, payload, gradient.shape))
    return payload
