"""Handwritten digits: 1,797 images of 8 x 8 pixels, the smallest real data on which training counts."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from course_lib import data

CLASSES, PIXELS = 10, 64
HELD_OUT = 261  # so that 1,536 = 3 * 512 are left to train on, which any usual batch divides


@dataclass(frozen=True, eq=False)
class Digits:
    """images (samples, 64) of float64 in 0 ... 1, labels (samples,) of int64 in 0 ... 9; both read-only."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self):
        return len(self.labels)


@cache
def load_digits():
    """(training, held_out): two Digits of 1,536 and 261 samples, each in a fixed, shuffled order.

    Shuffled since the file is sorted by writer. FileNotFoundError where data/ is missing.
    """
    table = np.loadtxt(data.path("digits.csv.gz"), delimiter=",")
    table = np.random.default_rng(0).permutation(table)
    table.setflags(write=False)
    images, labels = table[:, :PIXELS] / 16, table[:, PIXELS].astype(np.int64)
    for array in (images, labels):
        array.setflags(write=False)
    return (
        Digits(images[HELD_OUT:], labels[HELD_OUT:]),
        Digits(images[:HELD_OUT], labels[:HELD_OUT]),
    )
