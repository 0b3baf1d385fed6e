"""Digits trained with compressed gradients: each code without error feedback and with it, in one launch."""

from dataclasses import dataclass

from course_lib.training.digits import DigitsConfig, digits_worker


def train_with(comm, config, hook, state):
    """Train digits under a DDP hook; returns (bytes sent, loss in the end, held-out accuracy)."""

    def attach(net):
        net.register_comm_hook(state, hook)

    end = digits_worker(config, attach=attach)(comm)
    return state.wire_bytes, end.training_loss, end.accuracy


@dataclass(frozen=True)
class EveryCode:
    """A worker for `launch` that trains digits with float32, with fp16, and with each of `codes`.

    codes: {name: compressor}, all by all-gather; those in `plain` run without error feedback only. Its value
    is {(name, with feedback or not): (bytes sent, loss in the end, held-out accuracy)}.
    """

    config: DigitsConfig
    codes: dict
    plain: tuple = ()

    def __call__(self, comm):
        from course_lib.compression.hooks import GatherState, HookState, fp16_hook, gather_hook

        half = HookState()
        ends = {("fp16", False): train_with(comm, self.config, fp16_hook, half)}
        for name, code in self.codes.items():
            for feedback in (False,) if name in self.plain else (False, True):
                state = GatherState(code, feedback=feedback)
                ends[name, feedback] = train_with(comm, self.config, gather_hook, state)
        end = digits_worker(self.config)(comm)
        ends["float32", False] = half.ring_bytes, end.training_loss, end.accuracy
        return ends
