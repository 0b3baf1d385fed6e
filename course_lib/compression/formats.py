"""Fewer bits a number: half precision, eight bits, and the sign alone."""

from dataclasses import dataclass

import numpy as np

from course_lib.compression.base import Compressor, expect_range, flat_float32

LEVELS = 127  # of int8 on each side of zero; -128 is not used, so that the code is symmetric
SCALE_BYTES = 4


@dataclass(frozen=True)
class FP16(Compressor):
    """IEEE half precision: 10 bits of fraction, up to 65504. ValueError beyond."""

    def encode(self, array):
        flat = flat_float32(array)
        with np.errstate(over="ignore"):
            half = flat.astype(np.float16)
        expect_range("float16, which ends at 65504", flat, half)
        return half

    def decode(self, payload, shape):
        return payload.astype(np.float32).reshape(shape)


@dataclass(frozen=True)
class BF16(Compressor):
    """The upper half of a float32: its range, 7 bits of fraction. NumPy has no such type: bits as uint16."""

    def encode(self, array):
        flat = flat_float32(array)
        bits = flat.view(np.uint32)
        half = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)  # to nearest, ties to even
        expect_range("bfloat16", flat, self.decode(half, flat.shape))
        return half

    def decode(self, payload, shape):
        return (payload.astype(np.uint32) << 16).view(np.float32).reshape(shape)


@dataclass(frozen=True)
class Int8(Compressor):
    """Multiples of max |x| / 127 from -127 to 127: a byte a number, after 4 bytes of scale."""

    def encode(self, array):
        flat = flat_float32(array)
        scale = np.abs(flat).max() / np.float32(LEVELS)
        steps = np.rint(flat / scale) if scale > 0 else np.zeros_like(flat)
        return with_scale(scale, np.clip(steps, -LEVELS, LEVELS).astype(np.int8).view(np.uint8))

    def decode(self, payload, shape):
        scale, steps = split_scale(payload)
        return (steps.view(np.int8) * scale).reshape(shape)


@dataclass(frozen=True)
class Sign(Compressor):
    """One bit a number, packed, after 4 bytes of scale: what arrives is ± mean |x| (zero counts as +).

    Far from what was sent, so to be used with ErrorFeedback (Karimireddy et al. 2019).
    """

    def encode(self, array):
        flat = flat_float32(array)
        scale = np.abs(flat).mean(dtype=np.float64).astype(np.float32)
        return with_scale(scale, np.packbits(flat >= 0))

    def decode(self, payload, shape):
        scale, packed = split_scale(payload)
        positive = np.unpackbits(packed, count=int(np.prod(shape)))
        return np.where(positive, scale, -scale).reshape(shape)


def with_scale(scale, numbers):
    """One array of bytes: the scale as float32, then the numbers."""
    return np.concatenate([np.array([scale], np.float32).view(np.uint8), numbers])


def split_scale(payload):
    """Scale and numbers of what `with_scale` has joined."""
    return payload[:SCALE_BYTES].view(np.float32)[0], payload[SCALE_BYTES:]
