"""PowerSGD: a matrix as the product of two thin ones, which can be added up, so the ring carries them."""

import numpy as np

from course_lib.arguments import one_of, whole_number
from course_lib.collectives import ring_all_reduce
from course_lib.comm import OPS
from course_lib.compression.base import Compressor, flat_float32, gradient, like


class PowerSGD(Compressor):
    """Rank-r approximation P Qᵀ by one step of power iteration (Vogels, Karimireddy, Jaggi 2019).

    Of a matrix (n, m), r (n + m) float32 numbers are sent. Warm start: each call goes on from the Q of the
    last one, so one object for each matrix; `seed` draws the first Q and must be the same on all ranks. With
    `feedback`, all_reduce keeps in `residual` what it did not send of this rank's matrices. encode and decode
    are what one worker alone would do; they keep no residual (ErrorFeedback does).
    """

    def __init__(self, rank, *, seed=0, feedback=True):
        self.rank, self.feedback = whole_number("rank", rank, 1), feedback
        self.residual = None
        self._seed, self._q = whole_number("seed", seed, 0), None

    def all_reduce(self, comm, array, op="sum"):
        """The sum or mean over ranks, approximately: P Qᵀ of it, equal on all ranks to the last bit."""
        one_of("op", op, OPS)
        matrix = self._matrix(array)
        if self.feedback and self.residual is not None:
            matrix = matrix + self.residual
        p, own, q = self._factors(matrix, lambda part: ring_all_reduce(comm, part, "mean"))
        if self.feedback:
            self.residual = matrix - p @ own.T  # own part, not the mean: stays small where ranks differ
        product = p @ q.T
        return like(array, product * comm.size if op == "sum" else product)

    def encode(self, array):
        p, _, q = self._factors(self._matrix(array), lambda part: part)
        return np.concatenate([p.reshape(-1), q.reshape(-1)])

    def decode(self, payload, shape):
        rows, columns = shape
        p, q = np.split(payload, [rows * self.rank])
        return p.reshape(rows, self.rank) @ q.reshape(columns, self.rank).T

    def _factors(self, matrix, mean):
        """P, this rank's own Q, and the mean of all ranks' Q, which is kept for the next call."""
        p = np.linalg.qr(mean(matrix @ self._q))[0]  # orthonormal columns
        own = matrix.T @ p
        q = mean(own)
        if q.any():  # from zero there is no way back
            self._q = q
        return p, own, q

    def _matrix(self, array):
        matrix = gradient(array)
        matrix = flat_float32(matrix).reshape(matrix.shape)
        if matrix.ndim != 2:
            raise ValueError(f"PowerSGD takes a matrix, of two dimensions; got shape {matrix.shape}")
        if self._q is None:
            whole_number("rank", self.rank, 1, min(matrix.shape))
            self._q, self._shape = first_q(matrix.shape[1], self.rank, self._seed), matrix.shape
        if matrix.shape != self._shape:
            raise ValueError(f"this PowerSGD is of matrices of shape {self._shape}; got {matrix.shape}")
        return matrix


def first_q(columns, rank, seed):
    """The Q to start from, (columns, rank), random but the same on all ranks."""
    return np.random.default_rng(seed).normal(size=(columns, rank)).astype(np.float32)
