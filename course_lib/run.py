"""The result of a run, the same for both worlds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from course_lib.trace import Message, Span, Trace


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """What `simulate` and `launch` return.

    world: "simulated" or "real". values: what each rank's worker returned. seconds: when the last rank
    finished, from a common start; virtual or wall-clock. output: what each rank printed.
    """

    world: str
    values: list[Any]
    seconds: float
    output: list[str]
    trace: Trace

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """Tuple of Message in order of start, empty messages included."""
        return self.trace.messages()

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Tuple of Span in order of start: the lanes of a timeline."""
        return self.trace.spans()

    def __repr__(self) -> str:
        sizes = self.trace.nbytes
        return (
            f"Run({self.world}: {len(self.values)} ranks, {len(sizes)} messages, "
            f"{sum(sizes):,} bytes, {self.seconds:.6g} s)"
        )
