"""Checker of chapter 8: micro-batches under DDP with a single all-reduce, in real processes."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

from course_lib.errors import RankError
from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import NotYet, checked, expect, not_attempted, workers
from course_lib.labels import label
from course_lib.processes import launch

COUNTS, BATCHES, TIMEOUT = (2, 1, 3), (4, 1, 3, 23), 40  # workers, micro-batches, seconds


@dataclass(frozen=True)
class Observed:
    """One case on one rank. inputs: of the micro-batches, each the gradient of its loss.

    passes: forward passes; scopes: how often no_sync was entered; calls: all-reduces. held: the most losses
    whose backward pass was still to come when a forward pass began.
    """

    inputs: tuple
    gradient: float | None
    passes: int
    scopes: int
    calls: int
    held: int


@exercise("8.2")
def check_accumulate(accumulate):
    """Exercise 8.2: accumulate(net, batches, loss_of) leaves the mean gradient, with a single all-reduce.

    net: a DistributedDataParallel; loss_of(net, batch) → the mean loss of a micro-batch. The mean is over
    all micro-batches of all ranks.
    """
    return checked(lambda: _accumulate(accumulate), label("ch8_accumulate_passed"))


def _accumulate(accumulate):
    for number in COUNTS:
        expect_function(workers(number), accumulate)
        try:
            seen = launch(_Watch(accumulate), number, timeout=TIMEOUT, threads=1).values
        except RankError as error:
            raise NotYet(workers(number), str(error)) from None
        for batches, of_ranks in zip(BATCHES, zip(*seen, strict=True), strict=True):
            case = label("ch8_accumulate_case", workers=workers(number), batches=batches)
            if any(each is None for each in of_ranks):
                not_attempted()
            mean = sum(sum(each.inputs) for each in of_ranks) / number / batches
            for rank, each in enumerate(of_ranks):
                _judge(case, rank, number, mean, each)


def _judge(case, rank, number, mean, seen):
    batches = len(seen.inputs)
    if not seen.passes:
        not_attempted()
    words = {"rank": rank, "batches": batches, "calls": seen.calls, "passes": seen.passes}
    expect(seen.passes == batches, case, label("ch8_accumulate_passes", **words))
    expect(seen.calls > 0 or number == 1, case, label("ch8_accumulate_none", **words))
    if seen.calls > 1:
        expect(False, case, label(f"ch8_accumulate_{'late' if seen.scopes else 'each'}", **words))
    if seen.gradient is None or abs(seen.gradient - mean) > 1e-9 * mean:
        slip = _slip(seen, mean, number)
        expect(False, case, label(f"ch8_accumulate_{slip}", **words, gradient=seen.gradient, mean=mean))
    expect(not seen.held, case, label("ch8_accumulate_held", **words, held=seen.held + 1))


def _slip(seen, mean, number):
    batches = len(seen.inputs)
    slips = {
        "gone": 0.0,
        "sum": batches * mean,
        "own": sum(seen.inputs) / batches,
        "own_sum": sum(seen.inputs),
        "twice": mean / number,
    }
    gradient = seen.gradient or 0.0
    return next((name for name, slip in slips.items() if abs(gradient - slip) <= 1e-9 * mean), "unknown")


@dataclass(frozen=True)
class _Watch:
    """A worker: an Observed for each number of micro-batches; None in place of it for an untouched stub."""

    accumulate: Callable

    def __call__(self, comm):
        try:
            return [self._one(comm, batches) for batches in BATCHES]
        except NotImplementedError:
            return [None] * len(BATCHES)

    def _one(self, comm, batches):
        import torch
        from torch.nn.parallel import DistributedDataParallel

        layer = torch.nn.Linear(1, 1, bias=False).double()
        net, counts = DistributedDataParallel(layer), {"passes": 0, "scopes": 0, "calls": 0, "held": 0}
        inputs = [float(10 ** (number % 4) * (comm.rank + 1) + number) for number in range(batches)]
        tensors = [torch.tensor([[each]], dtype=torch.float64) for each in inputs]
        open_graphs = set()

        def loss_of(net, batch):
            counts["held"] = max(counts["held"], len(open_graphs))
            loss, number = net(batch).mean(), counts["passes"]
            open_graphs.add(number)
            loss.register_hook(lambda _: open_graphs.discard(number))
            return loss

        with _counted(net, counts):
            self.accumulate(net, tensors, loss_of)
        gradient = None if layer.weight.grad is None else layer.weight.grad.item()
        return Observed(tuple(inputs), gradient, **counts)


@contextmanager
def _counted(net, counts):
    """Count passes through the module, entries to net.no_sync, and all-reduces: DDP's and any other."""
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    no_sync, all_reduce = net.no_sync, dist.all_reduce

    @contextmanager
    def entered():
        counts["scopes"] += 1
        with no_sync():
            yield

    def called(*arguments, **options):
        counts["calls"] += 1
        return all_reduce(*arguments, **options)

    def passed(*_):
        counts["passes"] += 1

    net.no_sync, dist.all_reduce = entered, called
    net.module.register_forward_hook(passed)
    net.register_comm_hook(None, allreduce_hook)  # it calls dist.all_reduce, once a bucket
    try:
        yield
    finally:
        dist.all_reduce = all_reduce
