"""Explorer of the time of an all-reduce."""

import traitlets

from course_lib import laws
from course_lib.labels import label
from course_lib.pictures.explorers import all_reduce_curves
from course_lib.pictures.wording import bandwidth_text, bytes_text, number_text, percent_text, seconds_text
from course_lib.widgets import traits
from course_lib.widgets.base import CourseWidget
from course_lib.widgets.page import script
from course_lib.widgets.presets import LINKS, PRECISIONS

PINNED = ("parameters", "precision", "ranks", "link", "bandwidth", "latency", "algorithm")


class RingTime(CourseWidget):
    """See `ring_time`. All arguments are traits; nbytes, seconds, bus, share, takeover follow."""

    _esm = script("ring_time")
    about = ("ring_time_", "algorithm_")
    stateful = (*PINNED, "compute", "against", "pins")

    parameters = traits.positive(7e9)
    precision = traits.choice("bf16", tuple(PRECISIONS))
    ranks = traits.count(8, 1, 10**6)
    link = traits.choice("NVLink 3 (A100)", (*LINKS, "custom"))
    bandwidth = traits.positive(LINKS["NVLink 3 (A100)"])
    latency = traits.not_negative(5e-6)
    algorithm = traits.choice("ring", laws.ALGORITHMS)
    compute = traits.not_negative(0.5)
    against = traits.choice("bytes", ("bytes", "ranks"))
    pins = traits.Pins(PINNED)

    links = traitlets.Dict(LINKS).tag(sync=True)
    precisions = traitlets.Dict(PRECISIONS).tag(sync=True)
    algorithms = traitlets.List(list(laws.ALGORITHMS)).tag(sync=True)

    @traitlets.observe("link")
    def _link_sets_bandwidth(self, _):
        self.bandwidth = LINKS.get(self.link, self.bandwidth)

    @traitlets.observe("bandwidth")
    def _other_bandwidth_is_custom(self, _):
        if LINKS.get(self.link) != self.bandwidth:
            self.link = "custom"

    @property
    def nbytes(self):
        """Bytes of gradient; setting it sets the number of parameters."""
        return self.parameters * PRECISIONS[self.precision]

    @nbytes.setter
    def nbytes(self, nbytes):
        width = PRECISIONS[self.precision]
        number = traits.as_number(nbytes)
        if number is None or not 0 < number < float("inf"):
            raise traits.refusal("nbytes", "a finite number above 0", nbytes)
        self.parameters = number / width

    @property
    def seconds(self):
        return laws.all_reduce_time(self.nbytes, self.ranks, self.bandwidth, self.latency, self.algorithm)

    @property
    def bus(self):
        """Bus bandwidth, bytes per second; None for one rank, which sends nothing."""
        return laws.bus_bandwidth(self.nbytes, self.seconds, self.ranks) if self.seconds else None

    @property
    def share(self):
        """The all-reduce's share of a step that computes for `compute` seconds, without overlap."""
        return self.seconds / (self.seconds + self.compute) if self.seconds else 0.0

    @property
    def takeover(self):
        """The size at which latency and transfer take equal shares; 0 without latency, or for one rank."""
        return _takeover(self.ranks, self.bandwidth, self.latency, self.algorithm)

    def pin(self):
        """Keep these settings to compare with."""
        self.pins = [*self.pins, {name: getattr(self, name) for name in PINNED}]

    def picture(self):
        curves = [{name: getattr(self, name) for name in PINNED}, *self.pins]
        curves = [
            {
                "nbytes": curve["parameters"] * PRECISIONS[curve["precision"]],
                **{name: curve[name] for name in ("ranks", "bandwidth", "latency", "algorithm")},
                "text": _curve_text(curve),
            }
            for curve in curves
        ]
        return all_reduce_curves(curves, self.against, self.takeover, self.compute, repr(self))

    def __repr__(self):
        words = {
            "algorithm": label(f"algorithm_{self.algorithm}"),
            "ranks": number_text(self.ranks),
            "nbytes": bytes_text(self.nbytes),
            "bandwidth": bandwidth_text(self.bandwidth),
            "latency": seconds_text(self.latency),
            "seconds": seconds_text(self.seconds),
            "bus": bandwidth_text(self.bus) if self.bus else "–",
            "share": percent_text(self.share),
            "compute": seconds_text(self.compute),
            "takeover": bytes_text(self.takeover),
        }
        takeover = "ring_time_takeover" if self.takeover else "ring_time_no_takeover"
        return f"{label('ring_time_result', **words)} {label(takeover, **words)}"


def _takeover(ranks, bandwidth, latency, algorithm):
    transfer = laws.all_reduce_time(1.0, ranks, bandwidth, 0.0, algorithm)
    return laws.all_reduce_time(0.0, ranks, bandwidth, latency, algorithm) / transfer if transfer else 0.0


def _curve_text(curve):
    link = bandwidth_text(curve["bandwidth"]) if curve["link"] == "custom" else curve["link"]
    return label(
        "ring_time_curve",
        algorithm=label(f"algorithm_{curve['algorithm']}"),
        ranks=number_text(curve["ranks"]),
        link=link,
    )


def ring_time(
    parameters=None,
    precision="bf16",
    ranks=8,
    link=None,
    latency=5e-6,
    algorithm="ring",
    compute=0.5,
    *,
    nbytes=None,
    bandwidth=None,
    against="bytes",
    pins=(),
):
    """Explorer: how long an all-reduce takes.

    The size is `parameters` numbers (7e9) of `precision`, or `nbytes`. link: one of presets.LINKS, or
    `bandwidth` in bytes per second. latency, compute (the rest of a step): seconds. algorithm: one of
    laws.ALGORITHMS. against: "bytes" or "ranks", the chart's horizontal axis. pins: states to compare with.
    """
    if parameters is not None and nbytes is not None:
        raise ValueError("nbytes and parameters both set the size: give one")
    if link not in (None, "custom") and bandwidth is not None:
        raise ValueError("bandwidth and link both set the bandwidth: give one")
    widget = RingTime(
        parameters=7e9 if parameters is None else parameters,
        precision=precision,
        ranks=ranks,
        latency=latency,
        algorithm=algorithm,
        compute=compute,
        against=against,
        pins=pins,
    )
    if link is not None:
        widget.link = link
    if bandwidth is not None:
        widget.bandwidth = bandwidth
    if nbytes is not None:
        widget.nbytes = nbytes
    widget.initial = widget.state()
    return widget
