"""All-reduces that send less, against `comm`: they run in both worlds.

Each returns the sum or mean over ranks as the compressor leaves it, in kind, dtype and shape like `array`,
equal on all ranks to the last bit. course_lib.laws has their bytes: compressed_wire_bytes.
"""

import numpy as np

from course_lib.arguments import one_of
from course_lib.collectives import all_gather, ring_all_reduce
from course_lib.comm import OPS
from course_lib.compression.base import expect_compressor, flat_float32, gradient, like
from course_lib.compression.formats import BF16, FP16, Int8


def fp16_ring_all_reduce(comm, array, op="sum"):
    """The ring on float16: half the payload, half on the wire, for every K.

    For a mean each rank divides first, as PyTorch's hook does, lest a sum go beyond 65504; where it does all
    the same, ValueError.
    """
    one_of("op", op, OPS)
    half = FP16().encode(array).reshape(np.shape(array))
    if op == "mean":
        half = half / np.float16(comm.size)
    with np.errstate(over="ignore"):
        total = ring_all_reduce(comm, half)
    if not np.isfinite(total).all():
        raise ValueError("the sum over ranks is too large for float16, which ends at 65504: use op='mean'")
    return like(array, total)


def gather_all_reduce(comm, array, compressor, op="sum"):
    """All get all payloads and add up: right for any compressor, but each payload travels K-1 times."""
    one_of("op", op, OPS)
    expect_compressor(compressor)
    shape = gradient(array).shape
    payloads = all_gather(comm, compressor.encode(array))
    total = sum(compressor.decode(payload, shape) for payload in payloads)
    return like(array, total / comm.size if op == "mean" else total)


def requantised_ring_all_reduce(comm, array, compressor, op="sum"):
    """The ring with a payload a hop: decode, add one's own, encode again; so it is rounded up to K times.

    For a compressor of number formats (Int8, BF16, FP16) without feedback. The array is filled up with zeros
    to K equal chunks.
    """
    one_of("op", op, OPS)
    if not isinstance(compressor, Int8 | BF16 | FP16):
        raise TypeError(f"compressor must be a number format, Int8, BF16 or FP16; got {compressor!r}")
    flat, size = flat_float32(array), comm.size
    chunks = np.zeros((size, -(-flat.size // size)), np.float32)
    chunks.reshape(-1)[: flat.size] = flat / size if op == "mean" else flat
    for step in range(size - 1):
        outgoing, incoming = (comm.rank - 1 - step) % size, (comm.rank - 2 - step) % size
        right, left = (comm.rank + 1) % size, (comm.rank - 1) % size
        payload = comm.sendrecv(compressor.encode(chunks[outgoing]), right, left)
        chunks[incoming] += compressor.decode(payload, chunks[incoming].shape)
    payloads = all_gather(comm, compressor.encode(chunks[comm.rank]))  # encoded once, so all decode the same
    total = np.concatenate([compressor.decode(payload, chunks[0].shape) for payload in payloads])
    return like(array, total[: flat.size].reshape(np.shape(array)))
