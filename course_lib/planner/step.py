"""How long one step takes."""

from dataclasses import dataclass

from course_lib import laws
from course_lib.planner.memory import weight_bytes

# How often the weights' bytes go round the ring while forward computes, while backward does, and after the
# update: 2, 2, 2, 3 times in all (Rajbhandari et al. 2020, section 7). An all-reduce counts twice; stages 1
# and 2 reduce-scatter the gradients and gather the new weights, stage 3 gathers them for each direction.
_ROUNDS = {"ddp": (0, 2, 0), "zero1": (0, 1, 1), "zero2": (0, 1, 1), "zero3": (1, 2, 0)}


@dataclass(frozen=True)
class Step:
    """Seconds. hidden: of the communication, what goes on while the GPU computes."""

    forward: float
    backward: float
    communication: float
    hidden: float

    @property
    def compute(self):
        return self.forward + self.backward

    @property
    def exposed(self):
        """The communication that the GPU waits for."""
        return self.communication - self.hidden

    @property
    def seconds(self):
        return self.compute + self.exposed

    @property
    def efficiency(self):
        """Share of the step in which the GPU computes."""
        return self.compute / self.seconds


def step(job):
    """The Step of `job`: an estimate; loading data, the update itself and stragglers are left out.

    Compute: 2 operations a parameter and token forward, 4 backward (Kaplan et al. 2020, section 2.1), 2 more
    where recompute="all" repeats forward. Communication: half a ring all-reduce (laws.ring_time) each time
    that weights or gradients go round, as one message. It is hidden as far as `overlap` lets it.
    """
    speed = job.gpu.peak(job.precision) * job.utilisation
    unit = job.model.parameters * job.batch * job.sequence / speed
    forward, backward = 2 * unit, (6 if job.recompute == "all" else 4) * unit
    in_forward, in_backward, after = (_round_time(job) * count for count in _ROUNDS[job.strategy])
    hidden = min(in_forward, job.overlap * forward) + min(in_backward, job.overlap * backward)
    return Step(forward, backward, in_forward + in_backward + after, hidden)


def sent_bytes(job):
    """Bytes that each GPU sends in a step: 2(K-1)/K of the weights' bytes, for stage 3 3(K-1)/K."""
    return sum(_ROUNDS[job.strategy]) * (job.ranks - 1) / job.ranks * weight_bytes(job)


def _round_time(job):
    """Seconds of one reduce-scatter or all-gather of all weights."""
    return laws.ring_time(weight_bytes(job), job.ranks, job.link.bandwidth, job.link.latency) / 2
