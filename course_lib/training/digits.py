"""Digits: a small network learns to read them, on one rank or many."""

from dataclasses import dataclass

from course_lib.arguments import whole_number
from course_lib.training.config import TrainingConfig
from course_lib.training.worker import TrainingWorker


@dataclass(frozen=True, kw_only=True)
class DigitsConfig(TrainingConfig):
    """A TrainingConfig for a network of tanh layers, `hidden` units in each."""

    hidden: tuple = (32, 32)

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.hidden, tuple | list):
            raise TypeError(f"hidden must be a tuple of layer widths, such as (32, 32); got {self.hidden!r}")
        self._set("hidden", tuple(whole_number("hidden", width, 1) for width in self.hidden))


def digits_worker(config=None, *, rate=None, watch=None, attach=None):
    """A worker for `launch` that trains on 1,536 digits and is tested on 261; see TrainingWorker."""
    config = DigitsConfig() if config is None else config
    if not isinstance(config, DigitsConfig):
        raise TypeError(f"config must be a DigitsConfig; got {config!r}")
    for name, function in (("rate", rate), ("watch", watch), ("attach", attach)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function or None; got {function!r}")
    return TrainingWorker("course_lib.training.digits_task:DigitsTask", config, rate, watch, attach)
