"""What it is trained on."""

from dataclasses import dataclass

from course_lib.arguments import real_number


@dataclass(frozen=True)
class GPU:
    """memory: bytes. peak16, peak32: operations a second in dense 16-bit and in float32 arithmetic."""

    memory: float
    peak16: float
    peak32: float

    def __post_init__(self):
        for name in ("memory", "peak16", "peak32"):
            real_number(name, getattr(self, name), inclusive=False)

    def peak(self, precision):
        """Operations a second in that precision of a Job."""
        return self.peak32 if precision == "fp32" else self.peak16


# A100, H100, H200 (SXM) and L40S: Bekman, Machine Learning Engineering, accelerators. T4 and RTX 4090:
# NVIDIA's data sheets. 16 bits on tensor cores, without sparsity; float32 proper, as PyTorch multiplies by
# default, rather than TF32.
GPUS = {
    "T4 16 GB": GPU(16e9, 65e12, 8.1e12),
    "RTX 4090 24 GB": GPU(24e9, 165e12, 82.6e12),
    "A100 40 GB": GPU(40e9, 312e12, 19.5e12),
    "L40S 48 GB": GPU(48e9, 362e12, 91.6e12),
    "A100 80 GB": GPU(80e9, 312e12, 19.5e12),
    "H100 80 GB": GPU(80e9, 989e12, 67e12),
    "H200 141 GB": GPU(141e9, 989e12, 67e12),
}
