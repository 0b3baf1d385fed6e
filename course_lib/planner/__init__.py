"""Will it fit, and how long will a step take? Closed forms for a transformer trained on K GPUs.

plan("7B", strategy="ddp").fits                      # False: 112 GB before any activation
plan("7B", strategy="zero3", recompute="all").fits   # True
"""

from dataclasses import dataclass

from course_lib.arguments import one_of
from course_lib.labels import label
from course_lib.planner.gpu import GPU, GPUS
from course_lib.planner.job import OPTIMISERS, PRECISIONS, RECOMPUTE, STRATEGIES, Job
from course_lib.planner.memory import PARTS, Memory, activation_bytes, memory
from course_lib.planner.model import MODELS, Model, transformer
from course_lib.planner.step import Step, sent_bytes, step

__all__ = [
    "GPU",
    "GPUS",
    "Job",
    "MODELS",
    "Memory",
    "Model",
    "OPTIMISERS",
    "PARTS",
    "PRECISIONS",
    "Plan",
    "RECOMPUTE",
    "STRATEGIES",
    "Step",
    "activation_bytes",
    "memory",
    "plan",
    "sent_bytes",
    "step",
    "transformer",
]


@dataclass(frozen=True, repr=False)
class Plan:
    """What a Job needs: its Memory on each GPU, and its Step."""

    job: Job
    memory: Memory
    step: Step

    @property
    def fits(self):
        return self.memory.total <= self.job.gpu.memory

    @property
    def largest(self):
        """The largest part of the memory, one of PARTS: where to begin if it does not fit."""
        return self.memory.largest

    def __repr__(self):
        parts = {name: f"{getattr(self.memory, name) / 1e9:.1f}" for name in PARTS}
        verdict = label("plan_fits" if self.fits else "plan_does_not_fit", part=label(f"plan_{self.largest}"))
        return label(
            "plan",
            total=f"{self.memory.total / 1e9:.1f}",
            capacity=f"{self.job.gpu.memory / 1e9:g}",
            verdict=verdict,
            seconds=f"{self.step.seconds:.3g}",
            exposed=f"{self.step.exposed:.3g}",
            **parts,
        )


def plan(model, gpu="A100 80 GB", **settings):
    """The Plan of Job(model, gpu=gpu, **settings); model and gpu may be names in MODELS and GPUS."""
    model = MODELS[one_of("model", model, MODELS)] if isinstance(model, str) else model
    gpu = GPUS[one_of("gpu", gpu, GPUS)] if isinstance(gpu, str) else gpu
    job = Job(model, gpu=gpu, **settings)
    return Plan(job, memory(job), step(job))
