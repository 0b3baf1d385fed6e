"""How much is saved, measured: what a rank has to say, and what then goes over the wire."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from course_lib.arguments import whole_number
from course_lib.collectives import ring_all_reduce
from course_lib.compression.base import flat_float32, gradient
from course_lib.compression.formats import FP16, Int8, Sign
from course_lib.compression.reduce import (
    fp16_ring_all_reduce,
    gather_all_reduce,
    requantised_ring_all_reduce,
)
from course_lib.compression.sparse import TopK
from course_lib.labels import label
from course_lib.simulation import simulate


class Method(NamedTuple):
    """encode(array) → the payload; all_reduce(comm, array, op=…) → the sum or mean over ranks.

    In the simulator all ranks call the same function: what keeps something (ErrorFeedback, PowerSGD) is to be
    made inside it.
    """

    encode: Callable
    all_reduce: Callable


def _gathered(compressor):
    return Method(compressor.encode, partial(gather_all_reduce, compressor=compressor))


METHODS = {
    label("compression_fp16_ring"): Method(FP16().encode, fp16_ring_all_reduce),
    label("compression_int8_gather"): _gathered(Int8()),
    label("compression_int8_ring"): Method(
        Int8().encode, partial(requantised_ring_all_reduce, compressor=Int8())
    ),
    label("compression_sign_gather"): _gathered(Sign()),
    label("compression_top_k_gather", density=0.2): _gathered(TopK(0.2)),
}
_FLOAT32_RING = Method(flat_float32, lambda comm, array, op: ring_all_reduce(comm, flat_float32(array), op))


@dataclass(frozen=True)
class Saving:
    """One method. payload, wire: shares saved against the float32 ring; below 0, more is sent.

    payload_bytes: what a rank has to say, once. wire_bytes: what the busiest rank sent. wire and wire_bytes
    hold a number for each K.
    """

    method: str
    payload_bytes: int
    wire_bytes: tuple
    payload: float
    wire: tuple


@dataclass(frozen=True, repr=False)
class Savings:
    """ranks: the numbers K of ranks; rows: a Saving for each method. Its repr is a table."""

    ranks: tuple
    rows: tuple

    def __repr__(self):
        head = [label("compression_method"), label("compression_payload")]
        head += [label("compression_wire", ranks=count) for count in self.ranks]
        lines = [head, *([row.method, *map(_percent, (row.payload, *row.wire))] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines
        )


def _percent(share):
    return f"{round(share, 2) + 0:.0%}"  # + 0: lest -0.1 % be "-0%"


def sent_bytes(run):
    """Bytes that the busiest rank sent, counted from run.messages."""
    sent = [0] * len(run.values)
    for message in run.messages:
        sent[message.source] += message.nbytes
    return max(sent)


def measure_savings(array, methods=METHODS, ranks=(2, 4, 8), world=simulate):
    """Average `array` by each of `methods` (name → Method) on each number of ranks; returns Savings.

    world: simulate or launch. Whatever is in the table was counted in the runs.
    """
    gradient(array)
    if np.ndim(ranks) != 1 or not len(ranks):
        raise ValueError(f"ranks must hold a number of ranks or more, such as (2, 4); got {ranks!r}")
    ranks = tuple(whole_number("ranks", count, 2) for count in ranks)
    plain_payload, plain_wire = _run(_FLOAT32_RING, array, ranks, world)
    rows = []
    for name, method in methods.items():
        payload, wire = _run(method, array, ranks, world)
        saved = tuple(1 - sent / plain for sent, plain in zip(wire, plain_wire, strict=True))
        rows.append(Saving(name, payload, wire, 1 - payload / plain_payload, saved))
    return Savings(ranks, tuple(rows))


def _run(method, array, ranks, world):
    """Bytes of a rank's payload, and for each K those that the busiest rank sent."""

    def worker(comm):
        method.all_reduce(comm, array, op="mean")
        return method.encode(array).nbytes

    runs = [world(worker, count) for count in ranks]
    return max(runs[0].values), tuple(map(sent_bytes, runs))
