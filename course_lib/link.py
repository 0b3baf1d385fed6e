"""The link between two workers: what a message costs."""

from dataclasses import dataclass

from course_lib.arguments import real_number


@dataclass(frozen=True)
class Link:
    """A link that takes latency + nbytes / bandwidth for one message: the alpha-beta model (Hockney 1994).

    latency: seconds, finite, >= 0. bandwidth: bytes per second, > 0; infinity is allowed.
    """

    latency: float
    bandwidth: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "latency", real_number("latency", self.latency))
        object.__setattr__(
            self, "bandwidth", real_number("bandwidth", self.bandwidth, inclusive=False, finite=False)
        )
