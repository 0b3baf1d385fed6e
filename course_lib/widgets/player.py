"""What both players share: a row of frames, and where in it one is."""

from bisect import bisect_right

import traitlets

from course_lib.widgets import traits
from course_lib.widgets.base import CourseWidget

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)
SAME = 1e-9  # moments closer than this share of the run differ by rounding only


class Player(CourseWidget):
    """Play, pause, step, scrub. frame, playing, speed can be set; `last` is the last frame's number.

    times: seconds of the run, one a frame. pace: seconds of the show, likewise, at speed 1.
    """

    stateful: tuple[str, ...] = ("frame", "speed", "playing")

    frame = traits.count(0, 0, 10**6)
    playing = traits.choice(False, (False, True))
    speed = traits.choice(1.0, SPEEDS)
    times = traitlets.List().tag(sync=True)
    pace = traitlets.List().tag(sync=True)
    texts = traitlets.List().tag(sync=True)  # each frame in words

    @property
    def last(self):
        return len(self.times) - 1

    @property
    def time(self):
        """Seconds of the run at the frame shown."""
        return self.times[self.frame]

    @traitlets.validate("frame")
    def _within(self, proposal):
        if proposal.value > self.last:
            raise traits.refusal("frame", f"a whole number from 0 to {self.last}", proposal.value)
        return proposal.value

    def __repr__(self):
        return self.texts[self.frame]


def distinct(times, seconds):
    """`times` in order, those that differ by rounding only as one: the latest of them."""
    ordered = sorted(times)
    return tuple(
        time
        for time, after in zip(ordered, [*ordered[1:], None], strict=True)
        if after is None or after - time > SAME * seconds
    )


def happening(starts, time):
    """The index of the last of sorted `starts` that is not after `time`; -1 if all are."""
    return bisect_right(starts, time) - 1
