"""What each student of the puzzle class does, in both worlds; beside the Run it keeps a diary."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from course_lib.collectives import ring_all_reduce
from course_lib.simulation.comm import SimulatedComm
from course_lib.step_story.model import LAYERS, Network


class Phase(NamedTuple):
    """kind: load, forward, backward, wait or update. part: piece that is loaded, or layer; else 0."""

    kind: str
    step: int
    part: int
    start: float
    stop: float


class Diary(NamedTuple):
    """What a rank tells of its steps. times: seconds since the common start.

    phases: in order. samples[step]: numbers of its pieces. ready[step][bucket]: when the bucket's gradient
    was there; bucket 0 is of the last layer. fingerprints: of the replica at the start and after each step.
    losses: of its own batch, a step. parameters: copies at the start and after each step, of rank 0 only.
    """

    phases: tuple
    samples: tuple
    ready: tuple
    fingerprints: tuple
    losses: tuple
    parameters: tuple


class Ring:
    """Ring all-reduces beside the computing, one after another; each chunk is a message of the Run.

    The simulator's own all-reduce is that ring. A real one would be the backend's, without a message to be
    seen; so there ours runs in a thread.
    """

    def __init__(self, comm):
        self._comm = comm
        self._pool = None if isinstance(comm, SimulatedComm) else ThreadPoolExecutor(1)

    def mean(self, array):
        """A function that waits for the mean of all ranks' `array`, and returns it."""
        if self._pool is None:
            return self._comm.all_reduce(array, "mean", wait=False).wait
        return self._pool.submit(ring_all_reduce, self._comm, array, "mean").result


def student(setting, images, labels, samples):
    """The worker function: setting.steps synchronous steps of SGD on this rank's pieces.

    images (n, 64), labels (n,), samples (n,): the pieces of all ranks and steps, and their numbers in the
    data set, in order of rank, then step.
    """
    slowness = [setting.factor if rank == setting.slow else 1.0 for rank in range(setting.ranks)]
    per_rank = setting.steps * setting.pieces

    def worker(comm):
        network, ring, notes = Network(setting.width), Ring(comm), _Notes(comm, slowness[comm.rank])
        fingerprints, kept, losses = [network.fingerprint()], [_copy(comm, network)], []
        mine = slice(comm.rank * per_rank, (comm.rank + 1) * per_rank)
        batches = np.arange(len(labels))[mine].reshape(setting.steps, setting.pieces)
        for step, batch in enumerate(batches):
            for piece in range(setting.pieces):
                notes.work("load", step, piece, setting.load)
            losses.append(network.forward(images[batch], labels[batch]))
            notes.work("forward", step, 0, setting.forward)
            waits = []
            for layer in reversed(range(LAYERS)):
                gradient = network.backward(layer)
                notes.work("backward", step, layer, setting.backward)
                notes.ready[step].append(comm.time())
                waits.append(ring.mean(gradient))
            start = comm.time()
            means = [wait() for wait in waits]
            notes.add("wait", step, 0, start)
            network.update(means[::-1], setting.rate)
            notes.work("update", step, 0, setting.update)
            fingerprints.append(network.fingerprint())
            kept.append(_copy(comm, network))
        taken = tuple(tuple(samples[batch].tolist()) for batch in batches)
        ready = tuple(tuple(notes.ready[step]) for step in range(setting.steps))
        return Diary(tuple(notes.phases), taken, ready, tuple(fingerprints), tuple(losses), tuple(kept))

    return worker


def _copy(comm, network):
    return [each.copy() for each in network.parameters] if comm.rank == 0 else None


class _Notes:
    """Works on `comm` and writes down when."""

    def __init__(self, comm, slowness):
        self._comm, self._slowness, self.phases = comm, slowness, []
        self.ready = {}

    def work(self, kind, step, part, seconds):
        self.ready.setdefault(step, [])
        start = self._comm.time()
        self._comm.compute(seconds * self._slowness)
        self.add(kind, step, part, start)

    def add(self, kind, step, part, start):
        self.phases.append(Phase(kind, step, part, start, self._comm.time()))
