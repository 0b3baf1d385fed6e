"""A training whose data are slow to read, under torch.profiler: with and without a process that reads ahead.

Whether it waits for its all-reduces no profile shows where both share the cores. Overlap says so: the same
backward within no_sync, and the all-reduces with nothing beside them.

A worker here imports torch in its rank; the kernel gets plain records.
"""

import math
import os
import time
import warnings
from dataclasses import dataclass, replace

from course_lib.arguments import real_number, whole_number
from course_lib.overlap import Overlap
from course_lib.training.overlap import timed

WARM_UP = 2  # steps before the profiler begins
TURNS = 15  # backward passes of each kind
SETTLING = 8  # steps after that, until readers have given out what they had ready by then
QUIET = "99"  # the severity from which PyTorch 2.13's profiler speaks
PHASES = ("load", "forward", "backward", "update")
REDUCE = "gloo:all_reduce"


@dataclass(frozen=True)
class Phase:
    """What one rank did from start to stop, in seconds of the steps shown. kind: a phase, or REDUCE."""

    kind: str
    start: float
    stop: float

    @property
    def seconds(self):
        return self.stop - self.start


@dataclass(frozen=True)
class Profile:
    """Some steps of one rank. readers: processes that read ahead; phases: in order of start.

    overlap: in milliseconds, each the quickest of TURNS.
    """

    readers: int
    steps: int
    phases: tuple
    overlap: Overlap = Overlap(math.nan, math.nan, math.nan)

    @property
    def seconds(self):
        return max(phase.stop for phase in self.phases)

    def share(self, kind):
        """Of the time from the first to the last moment, in phases of this kind; they may overlap."""
        return sum(phase.seconds for phase in self.phases if phase.kind == kind) / self.seconds

    def milliseconds(self, kind):
        """In phases of this kind, of one step, on average."""
        return 1e3 * self.share(kind) * self.seconds / self.steps

    def beside_reduce(self, kind):
        """Of the time in phases of this kind, the share during which an all-reduce runs."""
        phases = [phase for phase in self.phases if phase.kind == kind]
        reduces = [phase for phase in self.phases if phase.kind == REDUCE]
        beside = 0.0
        for phase in phases:
            reached = phase.start  # reduces come in order of start, so none is counted twice
            for reduce in reduces:
                beside += max(0.0, min(phase.stop, reduce.stop) - max(reached, reduce.start))
                reached = max(reached, min(phase.stop, reduce.stop))
        return beside / sum(phase.seconds for phase in phases)


def loading_worker(readers, steps=3, sample_seconds=1e-3, batch=16, width=384, layers=12):
    """A worker that trains an MLP under DDP and profiles `steps` steps; returns its rank's Profile.

    Each sample takes `sample_seconds` to read. readers: processes of the DataLoader that read ahead; 0: the
    training process reads, and meanwhile nothing else happens.
    """
    readers, steps = whole_number("readers", readers, 0, 8), whole_number("steps", steps, 1)
    sample_seconds = real_number("sample_seconds", sample_seconds)
    batch, width, layers = (
        whole_number(name, value, 1)
        for name, value in {"batch": batch, "width": width, "layers": layers}.items()
    )

    def worker(comm):
        import torch
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel
        from torch.profiler import ProfilerActivity, profile, record_function
        from torch.utils.data import DataLoader

        torch.manual_seed(0)
        modules = [module for _ in range(layers) for module in (nn.Linear(width, width), nn.ReLU())]
        net = DistributedDataParallel(nn.Sequential(*modules), bucket_cap_mb=1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        samples = _SlowSamples((WARM_UP + SETTLING + steps) * batch, width, sample_seconds)
        ahead = {"num_workers": readers, "multiprocessing_context": "fork", "prefetch_factor": 2}
        # These readers sleep and need no core; PyTorch warns of more readers than cores.
        warnings.filterwarnings("ignore", "This DataLoader will create")
        batches = iter(DataLoader(samples, batch, **(ahead if readers else {})))

        def step():
            with record_function("load"):
                inputs = next(batches)
            with record_function("forward"):
                loss = net(inputs).square().mean()
            with record_function("backward"):
                loss.backward()
            with record_function("update"):
                optimizer.step()
                optimizer.zero_grad()

        for _ in range(WARM_UP):
            step()
        os.environ.setdefault("KINETO_LOG_LEVEL", QUIET)
        with profile(activities=[ProfilerActivity.CPU], acc_events=True) as trace:
            for _ in range(SETTLING + steps):
                step()
        shown = profile_of_events(trace.events(), readers, steps)
        return replace(shown, overlap=_overlap(net, torch.randn(batch, width)))

    return worker


def _overlap(net, inputs):
    """The Overlap of `net`, a DDP object, on `inputs`."""

    def alone():
        with net.no_sync():
            return _backward(net, inputs)

    both = [(alone(), _backward(net, inputs)) for _ in range(TURNS)]  # in turn: what else runs hits both
    buckets = _buckets(net, inputs)  # from here on each all-reduce of DDP's costs a call of Python
    reducing = min(timed(lambda: _reduce(buckets)) for _ in range(TURNS))
    computing, together = map(min, zip(*both, strict=True))
    return Overlap(1e3 * computing, 1e3 * reducing, 1e3 * together)


def _buckets(net, inputs):
    """Tensors as long as the buckets that leave in a backward pass."""
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    buckets = []

    def noting(group, bucket):
        buckets.append(torch.ones_like(bucket.buffer()))
        return allreduce_hook(group, bucket)

    net.register_comm_hook(None, noting)
    _backward(net, inputs)
    return buckets


def _reduce(buckets):
    import torch.distributed as dist

    for work in [dist.all_reduce(bucket, async_op=True) for bucket in buckets]:
        work.wait()


def _backward(net, inputs):
    """Seconds of one backward pass, into gradients that are None."""
    net.zero_grad()
    loss = net(inputs).square().mean()
    return timed(loss.backward)


class _SlowSamples:
    """`count` random samples, each of which takes a while to come."""

    def __init__(self, count, width, seconds):
        self._count, self._width, self._seconds = count, width, seconds

    def __len__(self):
        return self._count

    def __getitem__(self, item):
        import torch

        time.sleep(self._seconds)
        return torch.randn(self._width, generator=torch.Generator().manual_seed(item))


def profile_of_events(events, readers, steps):
    """A Profile of the last `steps` from the profiler's events, timed in microseconds."""
    known = [event for event in events if event.name in (*PHASES, REDUCE)]
    begin = sorted(event.time_range.start for event in known if event.name == PHASES[0])[-steps]
    times = [(event.name, event.time_range.start - begin, event.time_range.end - begin) for event in known]
    phases = [Phase(name, 1e-6 * start, 1e-6 * stop) for name, start, stop in times if start >= 0]
    return Profile(readers, steps, tuple(sorted(phases, key=lambda phase: phase.start)))
