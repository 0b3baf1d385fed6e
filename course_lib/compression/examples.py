"""Three convex functions on which top-1 without error feedback goes the wrong way."""

from dataclasses import dataclass

import numpy as np

from course_lib.arguments import real_number

DIRECTIONS = ((-3.0, 2.0, 2.0), (2.0, -3.0, 2.0), (2.0, 2.0, -3.0))


@dataclass(frozen=True, eq=False)
class ThreeFunctions:
    """gradients: three functions of x; loss(x): the mean of the three f; start: (3,); lr: the step size."""

    gradients: tuple
    start: np.ndarray
    lr: float

    def loss(self, x):
        return float(np.mean((np.array(DIRECTIONS) @ x) ** 2) + x @ x / 4)

    def growth(self):
        """What each step of top-1 without feedback multiplies x by: 1 + 11 lr / 6."""
        return 1 + 11 * self.lr / 6


def three_functions(lr=0.02):
    """f_i(x) = <a_i, x>² + |x|² / 4, least at 0, from x = (1, 1, 1); a_1 = (-3, 2, 2) and its rotations.

    At x = (t, t, t) the largest entry of each gradient, -5.5 t, pulls the wrong way, so that top-1 moves x to
    (1 + 11 lr / 6) x; the two of 4.5 t that together outweigh it are never sent. Construction after
    Beznosikov et al. 2020; error feedback mends it.
    """
    lr, start = real_number("lr", lr, inclusive=False), np.ones(3)
    start.setflags(write=False)
    return ThreeFunctions(tuple(_gradient_of(np.array(a)) for a in DIRECTIONS), start, lr)


def _gradient_of(direction):
    return lambda x: 2 * (direction @ x) * direction + x / 2
