"""What one GPU must hold."""

from dataclasses import dataclass

PARTS = ("weights", "gradients", "optimiser", "activations")

# Bytes of weight and of gradient, of a master weight, and of each number that the optimiser keeps, for each
# parameter. With Adam mixed has 2 + 2 + 4 + 2 * 4 = 16 (Rajbhandari et al. 2020, section 3.1), autocast has
# 4 + 4 + 2 * 4.
_WIDTHS = {"fp32": (4, 0, 4), "autocast": (4, 0, 4), "mixed": (2, 4, 4), "bf16": (2, 0, 2)}
_KEPT = {"sgd": 0, "momentum": 1, "adam": 2}
# What each strategy cuts into one part a rank (Rajbhandari et al. 2020, section 5).
_SHARDED = {
    "ddp": (),
    "zero1": ("optimiser",),
    "zero2": ("optimiser", "gradients"),
    "zero3": ("optimiser", "gradients", "weights"),
}


@dataclass(frozen=True)
class Memory:
    """Bytes on each GPU, part by part."""

    weights: float
    gradients: float
    optimiser: float
    activations: float

    @property
    def states(self):
        """All but the activations: what does not depend on the batch."""
        return self.weights + self.gradients + self.optimiser

    @property
    def total(self):
        return self.states + self.activations

    @property
    def largest(self):
        """The name of the largest part."""
        return max(PARTS, key=lambda name: getattr(self, name))


def memory(job):
    """The Memory of `job`: what training must keep. An estimate, from below.

    Left out: buffers of the communication, a layer's weights that ZeRO-3 gathers while it computes,
    autocast's 16-bit copies, the logits, what the CUDA context takes (about 1 GB) and what the allocator
    loses to fragmentation.
    """
    width, master, kept = _WIDTHS[job.precision]
    each = {"weights": width, "gradients": width, "optimiser": master + kept * _KEPT[job.optimiser]}
    parts = {name: job.model.parameters * nbytes for name, nbytes in each.items()}
    for name in _SHARDED[job.strategy]:
        parts[name] /= job.ranks
    return Memory(activations=activation_bytes(job), **parts)


def weight_bytes(job):
    """Bytes of the model's weights, and as many of its gradients: what is sent."""
    return job.model.parameters * _WIDTHS[job.precision][0]


def activation_bytes(job):
    """Bytes that the layers keep for backward, an estimate: L s b h (34 + 5 a s / h) in 16 bits.

    Korthikanti et al. 2022, section 4.1 and table 2; s tokens, b sequences, width h, a heads, L layers of the
    original kind, dropout included. recompute="attention" leaves L s b h 34, "all" L s b h 2. Of the 34 bytes
    32, and of the 5 four, are of activations; the others are of dropout masks, a byte a number, which float32
    does not widen.
    """
    model, wide = job.model, 2 if job.precision == "fp32" else 1
    each, scores = 32 * wide + 2, (4 * wide + 1) * job.sequence / model.head_width
    kept = {"none": each + scores, "attention": each, "all": 2 * wide}[job.recompute]
    return model.layers * job.sequence * job.batch * model.width * kept
