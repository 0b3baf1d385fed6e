"""A message on the wire: a header of fixed size (kind, dtype, shape), then the payload as raw bytes.

The payload's tag is derived from the header. So a receiver that knows what to expect posts both receives at
once, and one that expects something else finds out from the header before a byte lands in its buffer (gloo
aborts the process when a message is larger than its receive buffer).
"""

import zlib
from functools import lru_cache

import numpy as np
import torch

from course_lib.arrays import copy_of, describe, is_tensor

HEADER_BYTES = 128
HEADER_TAG = 1
FIRST_PAYLOAD_TAG = 2


class Envelope:
    """What a header says. kind: "array", "tensor", or "cuda" for a tensor on a GPU.

    tag: that of payloads of this description, wherever they come from and go to, and of no others.
    """

    def __init__(self, raw):
        self.raw = raw
        self.kind, self.dtype, *sizes = raw.decode().split()
        self.shape = tuple(map(int, sizes[0].split(","))) if sizes else ()
        self.tag = FIRST_PAYLOAD_TAG + zlib.crc32(str(self).encode()) % (2**31 - 1 - FIRST_PAYLOAD_TAG)

    def header(self):
        """The header to send."""
        return torch.frombuffer(bytearray(self.raw), dtype=torch.uint8)

    def empty(self):
        """An uninitialised array to receive into, in the host's memory."""
        if self.kind == "array":
            return np.empty(self.shape, self.dtype)
        return torch.empty(self.shape, dtype=getattr(torch, self.dtype))

    def __str__(self):
        """In the words of arrays.describe."""
        if self.kind == "array":
            return f"array {np.dtype(self.dtype)} {self.shape}"
        return f"tensor torch.{self.dtype} {self.shape}"


def envelope_of(array):
    """The Envelope of an array or tensor."""
    if is_tensor(array):
        return _envelope("cuda" if array.is_cuda else "tensor", array.dtype, array.shape)
    if array.dtype.names:
        raise TypeError(f"an array with named fields cannot be sent; its dtype is {array.dtype}")
    return _envelope("array", array.dtype, array.shape)


@lru_cache(1024)
def _envelope(kind, dtype, shape):
    name = dtype.str if kind == "array" else str(dtype).removeprefix("torch.")
    raw = f"{kind} {name} {','.join(map(str, shape))}".encode().ljust(HEADER_BYTES)
    if len(raw) > HEADER_BYTES:
        raise ValueError(f"{kind} {dtype} {tuple(shape)} cannot be sent: its description is too long")
    return Envelope(raw)


@lru_cache(1024)
def _opened(raw):
    return Envelope(raw)


def open_header(header):
    """The Envelope that a received header is."""
    return _opened(header.numpy().tobytes())


def host_copy(array):
    """A contiguous copy in the host's memory, not attached to autograd."""
    return array.detach().to("cpu").contiguous() if is_tensor(array) and array.is_cuda else copy_of(array)


def as_bytes(array):
    """The memory of a contiguous array as a flat uint8 tensor."""
    if is_tensor(array):
        return array.detach().reshape(-1).view(torch.uint8)
    return torch.from_numpy(array.reshape(-1).view(np.uint8))


def check_writable(out):
    """Raise unless `out` can be received into."""
    if not is_tensor(out) and not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array or a torch tensor; got a {type(out).__name__}")
    if not is_tensor(out) and not out.flags.writeable:
        raise ValueError(f"out must be writable; this {describe(out)} is read-only")


def lands_directly(out):
    """True if bytes can be received straight into `out`."""
    if is_tensor(out):
        return out.is_contiguous() and not out.is_cuda
    return out.flags.c_contiguous
