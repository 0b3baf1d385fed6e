"""Overlap in real training: DDP's backward under torch.profiler, and the sweep of its bucket size.

A worker here imports torch in its rank; the kernel gets plain records.
"""

import os
import statistics
import time

from course_lib.arguments import real_number, whole_number
from course_lib.overlap import Backward, Bucket, Overlap, SweepRow, same_start, share_hidden

WARM_UP = 3  # steps; DDP makes its final buckets after the first, until then all gradients are in one
TRACED = 2  # rounds; reading a trace takes longer than the step
FLOAT, MB = 4, 2**20  # bytes; DDP counts in these MB
WHOLE = "backward"  # the name of the whole pass among the profiler's events
_QUIET = "99"  # severity; PyTorch 2.13's profiler announces its start and stop on stderr otherwise


def traced_backward(width=512, layers=12, batch=256, bucket_mb=1.0):
    """A worker that traces one backward pass of an MLP of `layers` square layers; returns a Backward a rank.

    batch: samples a rank. bucket_mb: DDP's bucket_cap_mb, in 2^20 bytes; a layer has 4 width^2 bytes of
    gradient. On the CPU always, by gloo, which carries out up to two all-reduces at a time.
    """
    shape, bucket_mb = _checked(width, layers, batch), _bucket_mb(bucket_mb)

    def worker(comm):
        step = _Step(*shape, bucket_mb)
        for _ in range(WARM_UP):
            step.run()
        return step.traced(comm.rank)

    return worker


def bucket_sweep(bucket_mbs=(0.5, 1, 5, 25, 100), width=384, layers=64, batch=32, rounds=5):
    """A worker that runs the same MLP with each bucket_cap_mb in turn, `rounds` times; returns SweepRows.

    Each round takes one step of each, so that what else the machine does hits all alike; the first TRACED
    rounds take a traced one as well.
    """
    shape = _checked(width, layers, batch)
    bucket_mbs = [_bucket_mb(each) for each in bucket_mbs]
    rounds = whole_number("rounds", rounds, 1)

    def worker(comm):
        steps = [_Step(*shape, bucket_mb) for bucket_mb in bucket_mbs]
        for step in steps * WARM_UP:
            step.run()
        times, traces = ([[] for _ in steps] for _ in range(2))
        for turn in range(rounds):
            for number, step in enumerate(steps):
                times[number].append(step.timed())
                if turn < TRACED:
                    traces[number].append(step.traced(comm.rank))
        return tuple(map(_row, bucket_mbs, times, traces))

    return worker


def timed_overlap(width=512, layers=12, batch=256, bucket_mb=1.0, rounds=7):
    """A worker that times the backward pass of `traced_backward` in parts, and whole; returns an Overlap.

    Each round takes the pass under no_sync, which communicates nothing, the all-reduces of its buckets with
    nothing beside them, and the pass with both. Of each the quickest round counts, on its slowest rank.
    """
    shape, bucket_mb = _checked(width, layers, batch), _bucket_mb(bucket_mb)
    rounds = whole_number("rounds", rounds, 1)

    def worker(comm):
        alone, whole = (_Step(*shape, bucket_mb) for _ in range(2))
        ways = [lambda: alone.run(alone.unsynchronised), whole.run]
        for way in ways * WARM_UP:
            way()
        sizes = [bucket.nbytes for bucket in whole.traced(comm.rank)[0].buckets]
        times = [
            [alone.backward(alone.unsynchronised), _reduced(sizes), whole.backward()] for _ in range(rounds)
        ]
        slowest = [
            max(column)
            for column in zip(*_of_all([min(each) for each in zip(*times, strict=True)]), strict=True)
        ]
        return Overlap(*slowest)

    return worker


def timed(run):
    """Seconds of run(), which all ranks begin together."""
    _barrier()
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _reduced(sizes):
    """Seconds of the all-reduces of these buckets, one after another."""
    import torch
    import torch.distributed as dist

    buckets = [torch.zeros(nbytes // FLOAT) for nbytes in sizes]
    return timed(lambda: [dist.all_reduce(bucket) for bucket in buckets])


def _checked(width, layers, batch) -> tuple[int, int, int]:
    return whole_number("width", width, 1), whole_number("layers", layers, 1), whole_number("batch", batch, 1)


def _bucket_mb(value):
    return real_number("bucket_mb", value, inclusive=False)


def _row(bucket_mb, times, traces):
    hidden = share_hidden([backward for trace in traces for backward in trace])
    return SweepRow(bucket_mb * MB, len(traces[0][0].buckets), statistics.median(times), hidden)


class _Step:
    """A training step of an MLP under DDP, on random data."""

    def __init__(self, width, layers, batch, bucket_mb):
        import torch
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel

        torch.manual_seed(0)
        modules = [
            module for _ in range(layers) for module in (nn.Linear(width, width, bias=False), nn.ReLU())
        ]
        # As a view, sums land in the gradients themselves, so that the end of backward is waiting alone.
        self._model = DistributedDataParallel(
            nn.Sequential(*modules), bucket_cap_mb=bucket_mb, gradient_as_bucket_view=True
        )
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01)
        self._images = torch.randn(batch, width)

    def run(self, backward=lambda loss: loss.backward()):
        self._optimizer.zero_grad()
        backward(self._model(self._images).square().mean())
        self._optimizer.step()

    def unsynchronised(self, loss):
        with self._model.no_sync():
            loss.backward()

    def backward(self, way=lambda loss: loss.backward()):
        """Seconds of a step's backward pass, which all ranks begin together."""
        seconds = []
        self.run(lambda loss: seconds.append(timed(lambda: way(loss))))
        return seconds[0]

    def timed(self):
        """Seconds of a step which all ranks begin together."""
        return timed(self.run)

    def traced(self, rank):
        """A Backward a rank of a step which all ranks begin together."""
        from torch.profiler import ProfilerActivity, profile, record_function

        os.environ.setdefault("KINETO_LOG_LEVEL", _QUIET)
        events, clock = [], []

        def backward(loss):
            with profile(activities=[ProfilerActivity.CPU], record_shapes=True, acc_events=True) as trace:
                _barrier()
                clock.append(time.monotonic())  # which all processes of a machine share
                with record_function(WHOLE):
                    loss.backward()
            events.extend(trace.events())

        self.run(backward)
        begin = clock[0] - min(_of_all(clock[0]))
        return same_start(_of_all(backward_of_events(events, rank, begin)))


def _barrier():
    import torch.distributed as dist

    dist.barrier()


def _of_all(mine):
    """A list of what each rank has."""
    import torch.distributed as dist

    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, mine)
    return gathered


def backward_of_events(events, rank, begin=0.0):
    """The Backward of a rank that began at `begin`, from the profiler's events, timed in microseconds.

    DDP calls all-reduce (c10d::allreduce_) on the thread of backward, at the moment a bucket is ready; one of
    gloo's threads carries it out (gloo:all_reduce). At the last call backward has computed all.
    """
    (whole,) = _times(WHOLE, events)
    calls, flights = _times("c10d::allreduce_", events), _times("gloo:all_reduce", events)
    sizes = [FLOAT * event.input_shapes[0][0] for event in _named("gloo:all_reduce", events)]

    def moment(microseconds):
        return begin + 1e-6 * (microseconds - whole.start)

    buckets = tuple(
        Bucket(nbytes, moment(call.start), moment(flight.start), moment(flight.end))
        for nbytes, call, flight in zip(sizes, calls, flights, strict=True)
    )
    stop = max(moment(whole.end), *(bucket.stop for bucket in buckets))
    return Backward("real", rank, begin, buckets[-1].ready, stop, buckets)


def _named(name, events):
    return sorted((event for event in events if event.name == name), key=lambda event: event.time_range.start)


def _times(name, events):
    return [event.time_range for event in _named(name, events)]
