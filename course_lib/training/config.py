"""What a training run can be told, checked at once."""

import os
from dataclasses import asdict, dataclass

from course_lib.arguments import one_of, real_number, whole_number

OPTIMIZERS = ("sgd", "momentum", "adam")
DTYPES = ("float32", "float64")
COMM_HOOKS = ("fp16", "bf16", "int8", "sign", "top_k", "power_sgd")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """One training run by synchronous SGD. Raises TypeError or ValueError for a setting that cannot be.

    batch: samples of one rank in one backward pass. accumulation: backward passes before an update, whose
    gradient is their mean. lr: learning rate, reached after `warmup_epochs`; over the last `decay_epochs` it
    goes down to 0 (fractions are fine). steps: stop after so many updates. bucket_cap_mb: size of
    DistributedDataParallel's buckets, its own default if None. comm_hook: one of COMM_HOOKS, for compressed
    gradients. checkpoint: a folder; the run goes on from what is saved there, and saves after each epoch (but
    not what a hook keeps from step to step).
    """

    batch: int = 32
    lr: float = 0.1
    epochs: int = 10
    steps: int | None = None
    warmup_epochs: float = 0.0
    decay_epochs: float = 0.0
    optimizer: str = "sgd"
    seed: int = 0
    dtype: str = "float32"
    accumulation: int = 1
    bucket_cap_mb: float | None = None
    comm_hook: str | None = None
    checkpoint: str | None = None

    def __post_init__(self):
        for name in ("batch", "epochs", "accumulation"):
            self._set(name, whole_number(name, getattr(self, name), 1))
        self._set("seed", whole_number("seed", self.seed, 0, 2**63 - 1))
        self._set("lr", real_number("lr", self.lr, inclusive=False))
        for name in ("warmup_epochs", "decay_epochs"):
            self._set(name, real_number(name, getattr(self, name)))
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        one_of("dtype", self.dtype, DTYPES)
        if self.steps is not None:
            self._set("steps", whole_number("steps", self.steps, 1))
        if self.bucket_cap_mb is not None:
            self._set("bucket_cap_mb", real_number("bucket_cap_mb", self.bucket_cap_mb, inclusive=False))
        if self.comm_hook is not None:
            one_of("comm_hook", self.comm_hook, COMM_HOOKS)
        if self.checkpoint is not None:
            if not isinstance(self.checkpoint, str | os.PathLike) or not os.fspath(self.checkpoint):
                raise TypeError(f"checkpoint must be the path of a folder; got {self.checkpoint!r}")
            self._set("checkpoint", os.fspath(self.checkpoint))

    def effective_batch(self, ranks=1):
        """Samples behind one update: ranks * batch * accumulation."""
        return whole_number("ranks", ranks, 1) * self.batch * self.accumulation

    def steps_per_epoch(self, samples, ranks=1):
        """Updates in one pass over `samples`; what does not fill a batch waits for another epoch's order.

        ValueError if one batch of all ranks needs more samples than there are.
        """
        steps = samples // ranks // (self.batch * self.accumulation)
        if not steps:
            raise ValueError(
                f"one update of {ranks} ranks with batch={self.batch} and accumulation={self.accumulation} "
                f"needs {self.effective_batch(ranks):,} samples, but there are {samples:,}"
            )
        return steps

    def lasting(self):
        """The settings that a run keeps when it goes on from a checkpoint: all but where it is, and how long.

        How long counts where the learning rate goes down towards the end.
        """
        free = {"checkpoint", "steps"} if self.decay_epochs else {"checkpoint", "steps", "epochs"}
        return {name: value for name, value in asdict(self).items() if name not in free}

    def _set(self, name, value):
        object.__setattr__(self, name, value)  # the dataclass is frozen once this is done
