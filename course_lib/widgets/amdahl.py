"""Explorer of Amdahl's and Gustafson's laws."""

import math

from course_lib import laws
from course_lib.labels import label
from course_lib.pictures.explorers import speedup_curves
from course_lib.pictures.wording import exact_text, number_text
from course_lib.widgets import traits
from course_lib.widgets.base import CourseWidget
from course_lib.widgets.page import script

SCALINGS = ("strong", "weak")


class Amdahl(CourseWidget):
    """See `amdahl`. p, n, scaling, pins can be set; speedup, limit, gain, workers follow."""

    _esm = script("amdahl")
    about = ("amdahl_",)
    stateful = ("p", "n", "scaling", "pins")

    p = traits.share(0.8)
    n = traits.count(8, 1, 10**6)
    scaling = traits.choice("strong", SCALINGS)
    pins = traits.Pins(("p", "scaling"))

    @property
    def speedup(self):
        return self._speedup(self.n)

    @property
    def gain(self):
        """What one more GPU adds to the speed-up."""
        return self._speedup(self.n + 1) - self.speedup

    @property
    def limit(self):
        return laws.amdahl_limit(self.p) if self.scaling == "strong" else math.inf

    @property
    def workers(self):
        """The least n that reaches 90 % of the limit; NaN if there is no limit."""
        return laws.amdahl_workers(self.p) if math.isfinite(self.limit) else math.nan

    def pin(self):
        """Keep the curve of p and scaling to compare with."""
        self.pins = [*self.pins, {"p": self.p, "scaling": self.scaling}]

    def picture(self):
        curves = [{"p": self.p, "scaling": self.scaling}, *self.pins]
        return speedup_curves(curves, self.n, repr(self))

    def __repr__(self):
        key = "amdahl_result" if math.isfinite(self.limit) else "amdahl_unlimited"
        workers = "–" if math.isnan(self.workers) else number_text(self.workers)
        return label(
            key,
            p=exact_text(self.p),
            n=number_text(self.n),
            speedup=number_text(self.speedup),
            limit=number_text(self.limit),
            gain=number_text(self.gain),
            workers=workers,
        )

    def _speedup(self, n):
        law = laws.amdahl_speedup if self.scaling == "strong" else laws.gustafson_speedup
        return law(self.p, n)


def amdahl(p=0.8, n=8, scaling="strong", pins=()):
    """Explorer: the speed-up on n GPUs if a share p of the work is parallel.

    scaling: "strong" (the same work on more GPUs, Amdahl) or "weak" (work grows with n, Gustafson).
    pins: at most five dicts {"p": ..., "scaling": ...} to compare with.
    """
    return Amdahl(p=p, n=n, scaling=scaling, pins=pins)
