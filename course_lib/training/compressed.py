"""Digits trained under DDP with communication hooks: what each way of compressing does to loss, bytes, seconds.

A worker here imports torch in its rank; the kernel gets plain records.
"""

import time
from typing import NamedTuple

from course_lib import laws
from course_lib.arguments import real_number, whole_number
from course_lib.digits import load_digits

HIDDEN = 64


class Trained(NamedTuple):
    """What came of one way. loss: over all training samples, in nats; accuracy: share of the held-out ones.

    payload_bytes, wire_bytes: of one rank, in all steps, the latter by the law of its collective. seconds: of
    all steps on this machine.
    """

    loss: float
    accuracy: float
    payload_bytes: float
    wire_bytes: float
    seconds: float


def compressed_digits(ways, *, passes=4, rate=0.5, batch=16, seed=0):
    """A worker that trains the same network once for each of `ways`; returns {name: Trained}.

    ways: {name: make}; make() is called in the rank and gives (state, hook) for DDP's register_comm_hook, or
    None for DDP as it is. passes: over the data; batch: of one rank.
    """
    passes, batch = whole_number("passes", passes, 1), whole_number("batch", batch, 1)
    rate, seed = real_number("rate", rate, inclusive=False), whole_number("seed", seed, 0)

    def worker(comm):
        return {name: _train(comm, make(), passes, rate, batch, seed) for name, make in ways.items()}

    return worker


def _train(comm, hook, passes, rate, batch, seed):
    import numpy as np
    import torch
    from torch.nn.functional import cross_entropy
    from torch.nn.parallel import DistributedDataParallel

    (images, labels), (unseen, their_labels) = map(_tensors, load_digits())
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))
    net = DistributedDataParallel(model)
    if hook is not None:
        net.register_comm_hook(*hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    rng, each = np.random.default_rng(seed), comm.size * batch
    steps = passes * (len(images) // each)
    begin = time.perf_counter()
    for _ in range(passes):
        order = rng.permutation(len(images))[: len(images) // each * each]
        for rows in order.reshape(-1, comm.size, batch)[:, comm.rank]:
            optimizer.zero_grad()
            cross_entropy(net(images[rows]), labels[rows]).backward()
            optimizer.step()
    seconds = time.perf_counter() - begin
    plain = steps * sum(parameter.nbytes for parameter in model.parameters())
    if hook is None:
        payload, wire = plain, laws.compressed_wire_bytes(plain, comm.size)
    else:
        payload, wire = hook[0].payload_bytes, hook[0].wire_bytes
    with torch.no_grad():
        loss = cross_entropy(model(images), labels).item()
        accuracy = (model(unseen).argmax(1) == their_labels).float().mean().item()
    return Trained(loss, accuracy, payload, wire, seconds)


def _tensors(digits):
    import torch

    return torch.tensor(digits.images, dtype=torch.float32), torch.tensor(digits.labels)
