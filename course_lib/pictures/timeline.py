"""The timeline of a Run: a lane a rank, what each did when."""

import math

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import PHASE_COLOURS, bar_look, styled
from course_lib.pictures.wording import TIMES, seconds_text, unit_of

ARROWS = 64  # with more messages than this, lines between lanes would hide the lanes
PLACES = {"send": (0, 0.5), "recv": (0.5, 0.5)}  # where in its lane a kind lies, as in the timeline player
HEIGHT = 0.72


def timeline(run):
    """Lanes of compute, send, receive, wait and collective; a thin line for each message, if few."""
    ranks, shares = len(run.values), shares_of_time(run)
    factor, unit = unit_of(run.seconds, TIMES)
    with styled():
        figure, axes = new_figure(height=1.4 + 0.36 * ranks)
        for kind in PHASE_COLOURS:
            spans = [span for span in run.spans if span.kind == kind and span.stop > span.start]
            if spans:
                _draw(axes, kind, spans, factor)
        if 0 < len(run.messages) <= ARROWS:
            _join(axes, run.messages, factor)
        axes.set_yticks(range(ranks), [label("rank", rank=rank) for rank in range(ranks)])
        axes.set(
            xlabel=label("seconds", unit=unit),
            xlim=(0, 1.01 * run.seconds / factor or 1.0),
            ylim=(ranks - 0.4, -0.6),
        )
        axes.grid(visible=False, axis="y")
        world = label(run.world)
        axes.set_title(label("timeline_title", ranks=ranks, world=world, wait=shares.get("wait", 0.0)))
        if shares:
            figure.legend(loc="outside lower center", ncols=5)
        listed = ", ".join(f"{label(kind)} {share:.0%}" for kind, share in shares.items())
        seconds = seconds_text(run.seconds)
        alt = label("timeline_alt", ranks=ranks, world=world, seconds=seconds, shares=listed)
        return Picture(figure, alt)


def shares_of_time(run):
    """{kind: share of all ranks' time from the start to the run's end}; what is left over is idle."""
    total = run.seconds * len(run.values)
    lasting = [span for span in run.spans if span.stop > span.start]
    kinds = [kind for kind in PHASE_COLOURS if any(span.kind == kind for span in lasting)]
    return {
        kind: sum(span.stop - span.start for span in lasting if span.kind == kind) / total for kind in kinds
    }


def _join(axes, messages, factor):
    """A thin line for each message, from its source's lane to its target's; one artist, with gaps."""
    times = [time / factor for message in messages for time in (message.start, message.stop, math.nan)]
    lanes = [lane for message in messages for lane in (message.source, message.target, math.nan)]
    axes.plot(times, lanes, color="black", linewidth=0.7, alpha=0.6, label="_" + label("messages"))


def _draw(axes, kind, spans, factor):
    top, share = PLACES.get(kind, (0, 1))
    axes.barh(
        [span.rank + HEIGHT * (top + share / 2 - 0.5) for span in spans],
        [(span.stop - span.start) / factor for span in spans],
        left=[span.start / factor for span in spans],
        height=HEIGHT * share,
        linewidth=0.4,
        label=label(kind),
        **bar_look(kind),
    )
