"""A backward pass whose gradients are reduced in buckets while it still runs, as by DDP; for both worlds."""

from typing import NamedTuple

import numpy as np

from course_lib.arguments import real_number, whole_number
from course_lib.overlap import Backward, Bucket, SweepRow, same_start, share_hidden
from course_lib.simulation import simulate


class Filled(NamedTuple):
    """A bucket by its content: how many layers, how many bytes."""

    layers: int
    nbytes: int


def make_buckets(layer_bytes, bucket_bytes):
    """The layers of each bucket, from the last layer to the first, as DDP fills them.

    A bucket is closed by the layer with which it reaches `bucket_bytes`: a limit, yet it may be exceeded.
    """
    sizes = [whole_number("layer_bytes", nbytes, 1) for nbytes in layer_bytes]
    limit = real_number("bucket_bytes", bucket_bytes, inclusive=False, finite=False)
    if not sizes:
        raise ValueError("layer_bytes must hold at least one layer; got none")
    buckets, filled = [[]], 0
    for layer in reversed(range(len(sizes))):
        if filled >= limit:
            buckets.append([])
            filled = 0
        buckets[-1].append(layer)
        filled += sizes[layer]
    return tuple(map(tuple, buckets))


def backward_with_buckets(layer_bytes, layer_seconds, bucket_bytes):
    """A worker for one backward pass over layers of so many bytes of gradient and seconds of computing.

    From the last layer to the first; a full bucket's all-reduce starts without waiting, after the one before
    it, and all are waited for at the end. The worker returns the buckets' bytes, in that order.
    """
    buckets = make_buckets(layer_bytes, bucket_bytes)
    seconds = [real_number("layer_seconds", each) for each in layer_seconds]
    if len(seconds) != len(layer_bytes):
        raise ValueError(
            f"layer_bytes and layer_seconds must match; got {len(layer_bytes)} and {len(seconds)} layers"
        )

    def worker(comm):
        handles, sizes = [], []
        for layers in buckets:
            for layer in layers:
                comm.compute(seconds[layer])
            gradient = np.zeros(sum(layer_bytes[layer] for layer in layers), np.uint8)
            handles.append(comm.all_reduce(gradient, wait=False))
            sizes.append(Filled(len(layers), gradient.nbytes))
        for handle in handles:
            handle.wait()
        return sizes

    return worker


def backwards(run):
    """One Backward a rank of a Run of `backward_with_buckets`, simulated or real; TypeError for another."""
    if not all(
        isinstance(sizes, list) and all(isinstance(each, Filled) for each in sizes) for sizes in run.values
    ):
        raise TypeError("the run must be one of backward_with_buckets, whose ranks return their buckets")
    return same_start([_backward(run, rank, sizes) for rank, sizes in enumerate(run.values)])


def _backward(run, rank, sizes):
    """The Backward of one rank; a bucket's start is when this rank could begin its all-reduce."""
    mine = [span for span in run.spans if span.rank == rank]
    computed = _layer_stops(mine, sum(layers for layers, _ in sizes))
    stops = sorted(span.stop for span in mine if span.kind == "collective")
    buckets, done, before = [], 0, 0.0
    for (layers, nbytes), stop in zip(sizes, stops, strict=True):
        done += layers
        ready = computed[done - 1]
        buckets.append(Bucket(nbytes, ready, max(ready, before), stop))
        before = stop
    return Backward(run.world, rank, 0.0, computed[-1], max(computed[-1], stops[-1]), tuple(buckets))


def _layer_stops(spans, layers):
    """When each layer was computed: the longest spans of computing, for a real rank needs moments between."""
    computing = [span for span in spans if span.kind == "compute"]
    longest = sorted(computing, key=lambda span: span.start - span.stop)[:layers]
    return sorted(span.stop for span in longest)


def sweep(layer_bytes, layer_seconds, bucket_bytes, ranks, link):
    """Simulate a backward pass with each of the sizes in `bucket_bytes`; a tuple of SweepRows."""
    rows = []
    for size in bucket_bytes:
        run = simulate(backward_with_buckets(layer_bytes, layer_seconds, size), ranks, link=link)
        rows.append(SweepRow(size, len(run.values[0]), run.seconds, share_hidden(backwards(run))))
    return tuple(rows)
