"""How long computing takes: each rank's speed, and chance."""

from collections.abc import Mapping

import numpy as np

from course_lib import arguments


class Clockwork:
    """How long compute(seconds) takes on a rank."""

    def __init__(self, ranks, speeds, jitter, seed):
        speeds = [1.0] * ranks if speeds is None else _checked_list("speeds", speeds)
        if len(speeds) != ranks:
            raise ValueError(f"speeds must have one number a rank, {ranks}; got {len(speeds)}")
        self.speeds = [arguments.real_number("speeds", speed, inclusive=False) for speed in speeds]
        if jitter is not None and not callable(jitter):
            raise TypeError(f"jitter must be a function of a numpy Generator; got {jitter!r}")
        seed = arguments.whole_number("seed", seed, 0)
        self.jitter = jitter
        self.streams = np.random.default_rng(seed).spawn(ranks) if jitter else []

    def seconds(self, rank, seconds):
        seconds = arguments.real_number("seconds", seconds)
        if self.jitter:
            seconds *= arguments.real_number("jitter's result", self.jitter(self.streams[rank]))
        return seconds / self.speeds[rank]


def _checked_list(name, values):
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must be a list of numbers; got {values!r}")
    return list(values)
