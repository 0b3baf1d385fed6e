"""Player of a Run: what each rank does, and whom it waits for, moment by moment."""

import math
from typing import NamedTuple

import traitlets

from course_lib.labels import label
from course_lib.pictures import timeline
from course_lib.pictures.wording import TIMES, seconds_text, unit_of
from course_lib.widgets.page import script
from course_lib.widgets.player import SAME, Player, distinct, happening

MOST_FRAMES, MOST_SPANS = 400, 5000  # a longer run is shown at fewer moments; one with more spans not at all
SHOW = 12.0  # seconds that the whole run takes at speed 1


class Doing(NamedTuple):
    """kind: one of trace.KINDS, or "done". peers: whom a send or receive is with; or who is waited for."""

    kind: str
    peers: tuple


class Moment(NamedTuple):
    """doing: one Doing a rank. flying: (source, target, nbytes) of each message under way."""

    time: float
    doing: tuple
    flying: tuple


def frames(run, most=MOST_FRAMES):
    """The moments at which something begins or ends, at most `most` of them, the first and last included."""
    edges = [time for span in run.spans for time in (span.start, span.stop)]
    edges += [time for message in run.messages for time in (message.start, message.stop)]
    moments = distinct([0.0, run.seconds, *(time for time in edges if 0 <= time <= run.seconds)], run.seconds)
    if len(moments) <= most:
        return moments
    step = (len(moments) - 1) / (most - 1)
    return tuple(moments[round(number * step)] for number in range(most))


def state_at(run, time):
    """The Moment just after `time`, in seconds."""
    return next(states_at(run, [time]))


def states_at(run, times):
    """`state_at` for several times: the lanes are sorted once."""
    lanes = [[] for _ in run.values]
    for span in run.spans:
        if span.stop > span.start:
            lanes[span.rank].append(span)
    starts = [[span.start for span in lane] for lane in lanes]
    for time in times:
        now = time + SAME * run.seconds
        spans = [_current(lane, start, now) for lane, start in zip(lanes, starts, strict=True)]
        doing = tuple(_doing(rank, spans) for rank in range(len(spans)))
        flying = tuple(m[:3] for m in run.messages if m.start <= now < m.stop)
        yield Moment(time, doing, flying)


def _current(lane, starts, now):
    """The span of a rank that goes on at `now`, or None after its last one and in gaps."""
    index = happening(starts, now)
    return lane[index] if index >= 0 and lane[index].stop > now else None


def _doing(rank, spans):
    span = spans[rank]
    if span is None:
        return Doing("done", ())
    if span.label.startswith(("to ", "from ")):
        return Doing(span.kind, (int(span.label.split()[1]),))
    if span.kind != "wait":
        return Doing(span.kind, ())
    there = {"wait", "collective"}
    missing = [
        other
        for other, its in enumerate(spans)
        if not (its and its.kind in there and its.label == span.label) and other != rank
    ]
    return Doing("wait", tuple(missing))


class TimelinePlayer(Player):
    """See `timeline_player`."""

    _esm = script("timeline_player")
    about = ("player_", "timeline_player_")

    ranks = traitlets.Int().tag(sync=True)
    kinds = traitlets.Dict().tag(sync=True)  # kind -> its name, in the legend's order
    axis = traitlets.Dict().tag(sync=True)  # seconds of the run, factor and name of the unit
    spans = traitlets.List().tag(sync=True)  # [rank, kind, start, stop]
    messages = traitlets.List().tag(sync=True)  # [source, target, start, stop]
    doing = traitlets.List().tag(sync=True)  # for each frame and rank, in words
    waiting = traitlets.List().tag(sync=True)  # for each frame, the ranks that wait

    def __init__(self, run, **state):
        lasting = [span for span in run.spans if span.stop > span.start]
        if len(lasting) > MOST_SPANS:
            raise ValueError(f"run must have at most {MOST_SPANS:,} spans to be played; got {len(lasting):,}")
        if not run.seconds > 0:
            raise ValueError("run must last longer than 0 seconds to be played")
        self.run, times = run, frames(run)
        self.moments = tuple(states_at(run, times))
        factor, unit = unit_of(run.seconds, TIMES)
        there = {span.kind for span in lasting}
        super().__init__(
            times=list(times),
            pace=[SHOW * time / run.seconds for time in times],
            texts=[_in_words(moment, run.seconds) for moment in self.moments],
            ranks=len(run.values),
            kinds={
                kind: label(kind)
                for kind in ("compute", "send", "recv", "wait", "collective")
                if kind in there
            },
            axis={"seconds": run.seconds, "factor": factor, "label": label("seconds", unit=unit)},
            spans=[[span.rank, span.kind, span.start, span.stop] for span in lasting],
            messages=[[m.source, m.target, m.start, m.stop] for m in run.messages if not math.isnan(m.stop)],
            doing=[[_short(doing) for doing in moment.doing] for moment in self.moments],
            waiting=[[rank for rank, d in enumerate(m.doing) if d.kind == "wait"] for m in self.moments],
            **state,
        )

    def picture(self):
        return timeline(self.run)


def _short(doing):
    return label(f"timeline_player_{doing.kind}", peers=_listed(doing.peers))


def _listed(ranks, most=4):
    shown = ", ".join(map(str, ranks[:most]))
    return f"{shown}, …" if len(ranks) > most else shown


def _in_words(moment, seconds):
    waiting = [rank for rank, doing in enumerate(moment.doing) if doing.kind == "wait"]
    key = "timeline_player_said" if waiting else "timeline_player_said_none"
    return label(
        key,
        time=seconds_text(moment.time),
        seconds=seconds_text(seconds),
        waiting=_listed(waiting, 8),
        flying=len(moment.flying),
    )


def timeline_player(run, frame=0, speed=1):
    """Player of `run`, of either world: lanes, a play head, and in words what each rank does."""
    return TimelinePlayer(run, frame=frame, speed=speed)
