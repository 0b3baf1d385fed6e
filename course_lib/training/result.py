"""What a training run ended with, and how far it is while it runs."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrainingResult:
    """The same on every rank but for `seconds` and `watched`.

    losses: of each update, the mean over the samples of all ranks, before it. training_loss, held_out_loss,
    accuracy (held out, 0 to 1): in the end, over all samples, each counted once. rates: learning rate of each
    update. seconds: of each update on this rank. digest: SHA-256 of the parameters. watched: what `watch`
    returned on this rank, before the first epoch and after each. Losses and rates reach back to the start of
    a run that went on from a checkpoint, seconds and watched to where it went on.
    """

    losses: tuple
    training_loss: float
    held_out_loss: float
    accuracy: float
    rates: tuple
    seconds: tuple
    digest: str
    watched: tuple = ()


@dataclass(frozen=True, eq=False)
class Progress:
    """What `watch` is shown. epoch: how many are done. loss: mean of the last one, over all ranks."""

    epoch: int
    loss: float
    rank: int
    size: int
    model: Any  # the torch module itself, without DistributedDataParallel around it
    task: Any
