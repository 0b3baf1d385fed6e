"""Samples: windows of the text, some characters masked. Each is a function of its key, whoever asks.

So all ranks together see what one process sees: a sample's random numbers come from the run's seed, the step
and the sample's number in the global batch, and never from the rank.
"""

from typing import NamedTuple

import numpy as np

_TRAINING, _HELD_OUT = range(2)  # streams of random numbers


class Samples(NamedTuple):
    """inputs: (samples, context) int64, masked. targets: the same, unmasked. chosen: bool, True if masked."""

    inputs: np.ndarray
    targets: np.ndarray
    chosen: np.ndarray

    @property
    def tokens(self):
        """How many characters are masked: what is to be guessed."""
        return int(self.chosen.sum())


def training_samples(text, config, step, numbers):
    """Samples `numbers` (int, from 0 to below global_batch) of update `step`: windows from anywhere."""
    windows, chosen, last = [], [], len(text.training) - config.context
    for number in numbers:
        rng = np.random.default_rng((config.seed, _TRAINING, step, number))
        start = rng.integers(last + 1)
        windows.append(text.training[start : start + config.context])
        chosen.append(_chosen(rng, config))
    return _masked(text, np.stack(windows), np.stack(chosen))


def held_out_samples(text, config, rank=0, size=1):
    """Samples rank, rank + K, rank + 2K ... of the held-out part, cut in windows; as many as there are.

    A sampler that pads, so that all ranks get as many, would count some twice. What is left of the text, less
    than a window, is left out. The same at any time of a run; none at all on a rank too many.
    """
    count = len(text.held_out) // config.context
    windows = text.held_out[: count * config.context].reshape(count, config.context)[rank::size]
    keys = [(config.seed, _HELD_OUT, number) for number in range(rank, count, size)]
    chosen = [_chosen(np.random.default_rng(key), config) for key in keys]
    return _masked(text, windows, np.array(chosen, bool).reshape(windows.shape))


def _chosen(rng, config):
    """(context,) bool: each place by itself with probability mask_share, but one at least."""
    draws = rng.random(config.context)
    chosen = draws < config.mask_share
    chosen[draws.argmin()] = True
    return chosen


def _masked(text, windows, chosen):
    # BERT leaves a tenth of the chosen as they are and swaps a tenth, for later tasks know no [MASK]. Here
    # there is no later task.
    return Samples(np.where(chosen, text.mask, windows), windows, chosen)
