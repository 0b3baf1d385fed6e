"""The contract of `comm`: all that a worker knows of the others, in both worlds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.arguments import one_of, whole_number
from course_lib.arrays import as_array, describe, is_inexact, is_tensor

if TYPE_CHECKING:
    from course_lib.arrays import Array

OPS = ("sum", "mean")
# What can be added up in both worlds, of native byte order.
_REDUCED = frozenset(map(np.dtype, ("?", *"bhilq", *"BHILQ", *"efd", *"FD")))


class Comm(ABC):
    """One worker's end of the communication; `rank` in 0 ... `size` - 1.

    Arrays are NumPy arrays or torch tensors; what comes back is of the kind that was sent.
    Both worlds implement the same calls, so one worker function runs in either.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size

    @abstractmethod
    def send(self, array: Array, to: int) -> None:
        """Send a copy of `array` to rank `to`; returns at once, never waits for the receiver."""

    @abstractmethod
    def recv(self, source: int, out: Array | None = None) -> Array:
        """Wait for the next message of rank `source` and return it (in `out`, if given)."""

    @abstractmethod
    def recv_any(self) -> tuple[int, Array]:
        """Wait for whichever message arrives first; returns (source, array). A parameter server's call."""

    @abstractmethod
    def sendrecv(self, array: Array, to: int, source: int, out: Array | None = None) -> Array:
        """Send and receive at the same time, one step of a ring; returns what was received."""

    @abstractmethod
    def all_reduce(self, array: Array, op: str = "sum", wait: bool = True) -> Any:
        """The sum or mean of every rank's `array`, the same on all; `array` itself is left unchanged.

        With wait=False, returns at once a handle whose .wait() gives the result. Collectives in flight are
        carried out one after another, in the order of the calls.
        Raises RankError (mismatch) where op, shape or dtype differ between ranks.
        """

    @abstractmethod
    def broadcast(self, array: Array, source: int) -> Array:
        """Rank `source`'s array, on every rank; the others pass one of the same shape and dtype."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait until every rank is here."""

    @abstractmethod
    def compute(self, seconds: float) -> None:
        """Be busy for `seconds`: advances the virtual clock, or really takes that long."""

    @abstractmethod
    def time(self) -> float:
        """Seconds since the common start of the run: the virtual clock, or the wall clock.

        It is the clock of run.seconds and run.spans. The virtual one stands still while a rank only asks.
        """

    def _peer(self, name: str, rank: Any) -> int:
        """Another rank's number, checked."""
        peer = whole_number(name, rank, 0, self.size - 1)
        if peer == self.rank:
            raise ValueError(f"{name}={peer} is this rank itself; a message goes to another rank")
        return peer


def reducible(array: Any, op: str) -> Array:
    """`array` as something that `op` can reduce, or an error that says why not."""
    array = as_array(array)
    if not is_tensor(array) and array.dtype not in _REDUCED:
        raise TypeError(
            "a reduction takes bool, integers, float16 to float64, complex64 and complex128, in native byte "
            f"order; got {describe(array)}"
        )
    if one_of("op", op, OPS) == "mean" and not is_inexact(array):
        raise TypeError(
            "op='mean' needs floating-point numbers, for a mean of integers is seldom an integer; "
            f"got {describe(array)}"
        )
    return array


def check_out(out: Array | None, got: str) -> None:
    """Raise ValueError unless the message described by `got` fits the buffer `out` exactly."""
    if out is not None and describe(out) != got:
        raise ValueError(f"out is {describe(out)}, but the message is {got}")
