"""A story: the Run of a puzzle class and its diaries, put into tables that a player reads at any time."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from course_lib import arguments
from course_lib.digits import load_digits
from course_lib.link import Link
from course_lib.regression import shards
from course_lib.run import Run
from course_lib.simulation import simulate
from course_lib.step_story.model import LAYERS, Network, layer_bytes
from course_lib.step_story.worker import Diary, student

WIDTHS = (16, 32, 48, 64, 96)
MOST_RANKS = 8
LATENCY = 0.2e-3


@dataclass(frozen=True)
class Setting:
    """What a class does. ranks: K, 2 to 8. width: of the network, so of the gradient; one of WIDTHS.

    bandwidth: bytes/s of a link, whose latency is LATENCY; a real run has its own.
    slow: the rank whose work takes `factor` times as long, or -1. steps; pieces: samples of a worker a step.
    load (of a piece), forward, backward (of a layer), update: seconds of work. rate: learning rate.
    """

    ranks: int = 4
    width: int = 32
    bandwidth: float = 2.5e6
    slow: int = -1
    factor: float = 2.0
    steps: int = 3
    pieces: int = 4
    load: float = 3e-3
    forward: float = 12e-3
    backward: float = 11e-3
    update: float = 6e-3
    rate: float = 0.2

    def __post_init__(self):
        for name, low, high in (("ranks", 2, MOST_RANKS), ("steps", 1, 5), ("pieces", 1, 4)):
            arguments.whole_number(name, getattr(self, name), low, high)
        arguments.one_of("width", self.width, WIDTHS)
        for name in ("bandwidth", "load", "forward", "backward", "update", "rate"):
            arguments.real_number(name, getattr(self, name), inclusive=False)
        arguments.real_number("factor", self.factor, 1)
        arguments.whole_number("slow", self.slow, -1, self.ranks - 1)

    @property
    def link(self):
        return Link(LATENCY, self.bandwidth)


PRESETS = {
    "balanced": Setting(),
    "straggler": Setting(slow=2, factor=2.0),
    "slow_link": Setting(bandwidth=0.4e6),
    "eight": Setting(ranks=8),
}


class Chunk(NamedTuple):
    """A message of the Run, and which bucket of which step it is of; turn: 0 to 2(K-1) - 1, of the ring."""

    source: int
    target: int
    nbytes: int
    start: float
    stop: float
    step: int
    bucket: int
    turn: int


@dataclass(frozen=True, eq=False)
class Story:
    """setting, the Run, and what follows from both."""

    setting: Setting
    run: Run = field(repr=False)

    def __post_init__(self):
        values = self.run.values
        if len(values) != self.setting.ranks or not all(isinstance(value, Diary) for value in values):
            raise TypeError(f"run must be one of worker_of({self.setting}); got {self.run!r}")

    @property
    def diaries(self):
        return self.run.values

    @cached_property
    def bucket_bytes(self):
        """Bytes of each bucket; the first is of the last layer, for its gradient is there first."""
        return layer_bytes(self.setting.width)[::-1]

    @cached_property
    def chunks(self):
        """A Chunk for each message, by its start. A rank's leave in the order of steps, buckets, turns."""
        turns, sent, chunks = 2 * (self.setting.ranks - 1), [0] * self.setting.ranks, []
        for message in self.run.messages:
            if message.nbytes:
                whole, turn = divmod(sent[message.source], turns)
                sent[message.source] += 1
                chunks.append(Chunk(*message, *divmod(whole, LAYERS), turn))
        return tuple(chunks)

    @cached_property
    def reduced(self):
        """reduced[rank][step][bucket]: when the rank had the mean, which is when its last chunk came."""
        last = np.zeros((self.setting.ranks, self.setting.steps, LAYERS))
        for chunk in self.chunks:
            place = chunk.target, chunk.step, chunk.bucket
            last[place] = max(last[place], chunk.stop)
        return last.tolist()

    @cached_property
    def losses(self):
        """Loss in nats on the digits held out, at the start and after each step, of rank 0's replica."""
        network, held_out = Network(self.setting.width), load_digits()[1]
        losses = []
        for parameters in self.diaries[0].parameters:
            network.parameters = parameters
            losses.append(network.forward(held_out.images, held_out.labels))
        return tuple(losses)

    @cached_property
    def gates(self):
        """For each step: when the last rank's last bucket was ready, and which rank that was.

        No rank can have the mean before, so none updates before.
        """
        last = [
            [(diary.ready[step][-1], rank) for rank, diary in enumerate(self.diaries)] for step in self.steps
        ]
        return tuple(max(each) for each in last)

    @property
    def steps(self):
        return range(self.setting.steps)

    @cached_property
    def shards(self):
        """One slice of the data set a rank."""
        return shards(len(load_digits()[0]), self.setting.ranks)


def worker_of(setting=None, **changes):
    """The worker function of a Setting, for `simulate` and `launch`; changes: fields of the Setting."""
    setting = replace(setting or Setting(), **changes)
    training = load_digits()[0]
    parts = shards(len(training), setting.ranks)
    count = setting.steps * setting.pieces
    samples = np.concatenate([np.arange(part.start, part.start + count) for part in parts])
    return student(setting, training.images[samples], training.labels[samples], samples)


def tell(setting=None, run=None, **changes):
    """The Story of a Setting: of `run`, a Run of its worker_of in either world, or simulated now."""
    setting = replace(setting or Setting(), **changes)
    if run is None:
        run = simulate(worker_of(setting), setting.ranks, link=setting.link)
    return Story(setting, run)
