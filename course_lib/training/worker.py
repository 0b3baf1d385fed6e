"""A training run as a worker function; torch is loaded only where it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name

from course_lib.training.config import TrainingConfig


@dataclass(frozen=True)
class TrainingWorker:
    """worker(comm) for `launch`: trains on all ranks together and returns a TrainingResult.

    task: "module:class" of what is learned. rate: rate(epoch) → learning rate, instead of config.lr and its
    warm-up; epoch is a float, 0.5 in the middle of the first. watch: watch(progress), called on every rank
    before the first epoch and after each. attach: attach(net), called with the DistributedDataParallel
    object before training, to register a communication hook.
    """

    task: str
    config: TrainingConfig
    rate: Callable | None = None
    watch: Callable | None = None
    attach: Callable | None = None

    def __call__(self, comm):
        return self._train(comm.rank, comm.size, comm.device)

    def alone(self):
        """Train in this process only, whatever its rank."""
        config = self.config
        if config.comm_hook or config.bucket_cap_mb or config.checkpoint or self.attach:
            raise ValueError(
                "a run beside the other ranks, without them, has neither communication nor a checkpoint: "
                "comm_hook, bucket_cap_mb, checkpoint and attach must be None"
            )
        return self._train(0, 1, "cpu")

    def _train(self, rank, size, device):
        from course_lib.training import loop

        task = resolve_name(self.task)(self.config, device)
        return loop.train(task, self.config, rank, size, self.rate, self.watch, self.attach)
