"""Replicas of the digits' network that train on their own and average their parameters now and then."""

from dataclasses import dataclass

import numpy as np

from course_lib.arguments import real_number, whole_number
from course_lib.collectives import all_gather
from course_lib.digits import load_digits
from course_lib.training.digits import DigitsConfig


@dataclass(frozen=True, eq=False)
class Averaged:
    """What came of it, on one rank.

    own: share of the held-out digits that this rank's network reads right just before the last averaging,
    mean: that of the mean network. different: how many different networks there were at the end of each
    step, one number a step. weights: this rank's arrays just before the last averaging, weights and
    biases in turn; moved: how far they are from the start.
    """

    own: float
    mean: float
    different: tuple
    weights: tuple = ()
    moved: float = 0.0


def averaging_worker(every, steps, *, own_start=False, batch=16, rate=0.2, seed=0):
    """A worker for `launch`: `steps` of SGD on this rank's shard, averaged after each `every` of them.

    every=1 is synchronous SGD, every=steps averages at the end only. own_start: each rank begins with a
    network of its own. Returns an Averaged.
    """
    every, steps = whole_number("every", every, 1), whole_number("steps", steps, 1)
    batch, rate = whole_number("batch", batch, 1), real_number("rate", rate, inclusive=False)
    seed = whole_number("seed", seed, 0, 2**32)
    if steps % every:
        raise ValueError(f"steps must be a multiple of every; got {steps} and {every}")

    def worker(comm):
        import hashlib

        import torch
        from torch.nn.utils import parameters_to_vector, vector_to_parameters

        from course_lib.training.digits_task import DigitsTask

        task = DigitsTask(DigitsConfig(), torch.device("cpu"))
        torch.manual_seed(1000 * seed + (comm.rank if own_start else 0))
        model = task.model()
        parameters = list(model.parameters())
        start = [parameter.detach().numpy().copy() for parameter in parameters]
        images, labels = (part[comm.rank :: comm.size] for part in task.training)
        if batch > len(labels):
            raise ValueError(f"batch must be at most {len(labels)}, this rank's samples; got {batch}")
        order, hashes = np.random.default_rng((seed, comm.rank)), []
        for step in range(1, steps + 1):
            mine = torch.from_numpy(order.choice(len(labels), batch, replace=False))
            model.zero_grad()
            task.loss(model, images[mine], labels[mine]).backward()
            with torch.no_grad():
                for parameter in parameters:
                    parameter -= rate * parameter.grad
                if step == steps:
                    own = _accuracy(task, model)
                    weights = tuple(parameter.numpy().copy() for parameter in parameters)
                flat = parameters_to_vector(parameters)
                if step % every == 0:
                    flat = comm.all_reduce(flat, op="mean")
                    vector_to_parameters(flat, parameters)
                hashes.append(int.from_bytes(hashlib.sha256(flat.numpy().tobytes()).digest()[:7]))
        everyone = all_gather(comm, np.array(hashes))
        different = tuple(len(set(step)) for step in zip(*np.array(everyone).tolist(), strict=True))
        return Averaged(own, _accuracy(task, model), different, weights, distance(start, weights))

    return worker


def distance(one, other):
    """From one network to another: the length of the difference of all parameters, as one vector."""
    return float(np.sqrt(sum(((a - b) ** 2).sum() for a, b in zip(one, other, strict=True))))


def digits_read(weights):
    """Share of the held-out digits that a network with these `weights` reads right."""
    _, held_out = load_digits()
    values, last = held_out.images, len(weights) - 2
    for place in range(0, len(weights), 2):
        values = values @ weights[place].T + weights[place + 1]
        values = values if place == last else np.tanh(values)
    return float((values.argmax(axis=1) == held_out.labels).mean())


def _accuracy(task, model):
    _, right = task.scores(model, *task.held_out)
    return right.item() / len(task.held_out[1])
