"""The result of a run, the same for both worlds."""

from dataclasses import dataclass
from functools import cached_property

from course_lib.trace import Trace


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """What `simulate` and `launch` return.

    world: "simulated" or "real". values: what each rank's worker returned. seconds: when the last rank
    finished, from a common start; virtual or wall-clock. output: what each rank printed.
    """

    world: str
    values: list
    seconds: float
    output: list
    trace: Trace

    @cached_property
    def messages(self):
        """Tuple of Message in order of start, empty messages included."""
        return self.trace.messages()

    @cached_property
    def spans(self):
        """Tuple of Span in order of start: the lanes of a timeline."""
        return self.trace.spans()

    def __repr__(self):
        sizes = self.trace.nbytes
        return (
            f"Run({self.world}: {len(self.values)} ranks, {len(sizes)} messages, "
            f"{sum(sizes):,} bytes, {self.seconds:.6g} s)"
        )
