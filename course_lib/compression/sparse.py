"""Fewer numbers: only the largest entries are sent, each with its index."""

from dataclasses import dataclass

import numpy as np

from course_lib.arguments import real_number, whole_number
from course_lib.compression.base import Compressor, flat_float32, gradient, like

ENTRY_BYTES = 8  # an int32 index and a float32 value


def top_k(array, k):
    """`array` with its k entries of largest magnitude kept and zeros elsewhere; the first ones on ties.

    Raises ValueError unless 1 <= k <= size, or if a number is not finite; TypeError for integers.
    """
    values = gradient(array)
    kept = largest(values.reshape(-1), k)
    dense = np.zeros_like(values)
    dense.flat[kept] = values.flat[kept]
    return like(array, dense)


def largest(flat, k):
    """Indices, ascending, of the k entries of largest magnitude."""
    k = whole_number("k", k, 1, flat.size)
    return np.sort(np.argsort(-np.abs(flat), kind="stable")[:k])


@dataclass(frozen=True)
class TopK(Compressor):
    """The share `density` of the entries (at least one), those of largest magnitude: 8 bytes an entry.

    The payload is int32, indices first, then the bits of the float32 values. Raises ValueError unless
    0 < density <= 1.
    """

    density: float

    def __post_init__(self):
        if real_number("density", self.density, inclusive=False) > 1:
            raise ValueError(f"density must be above 0 and at most 1; got {self.density!r}")

    def entries(self, size):
        """How many of `size` entries are sent."""
        return max(1, round(self.density * size))

    def encode(self, array):
        flat = flat_float32(array)
        kept = largest(flat, self.entries(flat.size))
        return np.concatenate([kept.astype(np.int32), flat[kept].view(np.int32)])

    def decode(self, payload, shape):
        indices, bits = np.split(payload, 2)
        dense = np.zeros(shape, np.float32)
        dense.flat[indices] = bits.view(np.float32)
        return dense
