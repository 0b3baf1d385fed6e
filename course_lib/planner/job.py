"""A training job: what is planned."""

from dataclasses import dataclass

from course_lib.arguments import one_of, real_number, whole_number
from course_lib.link import Link
from course_lib.planner.gpu import GPU, GPUS
from course_lib.planner.model import Model

STRATEGIES = ("ddp", "zero1", "zero2", "zero3")
PRECISIONS = ("fp32", "autocast", "mixed", "bf16")
OPTIMISERS = ("sgd", "momentum", "adam")
RECOMPUTE = ("none", "attention", "all")


@dataclass(frozen=True)
class Job:
    """Synchronous data-parallel training of `model` on `ranks` GPUs, joined in a ring by `link`.

    strategy: "ddp", or "zero1", "zero2", "zero3", ZeRO's stages, which FSDP has as well: optimiser state,
    then gradients, then weights are cut into `ranks` parts. precision: "fp32"; two recipes of mixed
    precision: "autocast", PyTorch's, float32 weights and gradients, and 16 bits in the arithmetic alone;
    "mixed", DeepSpeed's, 16-bit weights and gradients beside float32 master weights;
    "bf16", all in 16 bits. optimiser: "sgd", "momentum", "adam".
    batch: sequences a GPU and step, of `sequence` tokens. recompute: the activations that backward computes
    again: "none", "attention" (the scores only, as flash attention does), "all" but each layer's input.
    overlap: share of forward and backward during which the link can work. utilisation: share of the GPU's
    peak that is reached: 0.44 to 0.52 on A100 in the best hands (Narayanan et al. 2021, table 1).
    """

    model: Model
    ranks: int = 8
    strategy: str = "ddp"
    precision: str = "mixed"
    optimiser: str = "adam"
    gpu: GPU = GPUS["A100 80 GB"]
    link: Link = Link(5e-6, 300e9)  # NVLink 3
    batch: int = 1
    sequence: int = 2048
    recompute: str = "none"
    overlap: float = 1.0
    utilisation: float = 0.4

    def __post_init__(self):
        for name, kind in (("model", Model), ("gpu", GPU), ("link", Link)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be a {kind.__name__}; got {getattr(self, name)!r}")
        for name in ("ranks", "batch", "sequence"):
            number = whole_number(name, getattr(self, name), 1)
            object.__setattr__(self, name, number)  # a Python int: NumPy's overflow
        one_of("strategy", self.strategy, STRATEGIES)
        one_of("precision", self.precision, PRECISIONS)
        one_of("optimiser", self.optimiser, OPTIMISERS)
        one_of("recompute", self.recompute, RECOMPUTE)
        for name, above in (("overlap", False), ("utilisation", True)):
            if real_number(name, getattr(self, name), inclusive=not above) > 1:
                raise ValueError(f"{name} must be at most 1; got {getattr(self, name)!r}")
