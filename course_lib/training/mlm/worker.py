"""The run as a worker function, and what it returns; torch is loaded only where it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course_lib.training.mlm.config import MlmConfig


@dataclass(frozen=True)
class MlmResult:
    """The same on every rank but for `seconds` and `watched`. Losses: nats a masked character.

    first_step: 0, or where a checkpoint let the run go on. losses: of each update from there, over the masked
    characters of all ranks, before it. held_out: (updates done, loss) at each look. unigram: loss on the
    held-out part of who knows only how frequent each character is. seconds: of the loop on this rank.
    fingerprint: SHA-256 of the parameters. examples: (masked, guessed, original) strings, held out, "_" where
    masked. watched: what `watch` returned on this rank.
    """

    first_step: int
    losses: tuple
    held_out: tuple
    unigram: float
    seconds: float
    fingerprint: str
    examples: tuple
    watched: tuple = ()

    @property
    def held_out_loss(self):
        """In the end."""
        return self.held_out[-1][1]


@dataclass(frozen=True, eq=False)
class Progress:
    """What `watch` is shown on every rank at each look. step: updates done. loss: of the last, all ranks."""

    step: int
    loss: float
    held_out_loss: float
    rank: int
    size: int
    model: Any  # the torch module itself, without DistributedDataParallel around it


@dataclass(frozen=True)
class MlmWorker:
    """worker(comm) for `launch`; see mlm_worker."""

    config: MlmConfig
    watch: Callable | None = None

    def __call__(self, comm):
        from course_lib.training.mlm import loop

        return loop.train(self.config, comm.rank, comm.size, comm.device, self.watch)


def mlm_worker(config=None, *, watch=None):
    """A worker for `launch`: trains the model on all ranks together and returns an MlmResult.

    config: an MlmConfig, its defaults if None; the number of ranks must divide its global batch. watch:
    watch(progress), called on every rank at each look at the held-out part, to show how far a run is.
    """
    config = MlmConfig() if config is None else config
    if not isinstance(config, MlmConfig):
        raise TypeError(f"config must be an MlmConfig; got {config!r}")
    if watch is not None and not callable(watch):
        raise TypeError(f"watch must be a function or None; got {watch!r}")
    return MlmWorker(config, watch)
