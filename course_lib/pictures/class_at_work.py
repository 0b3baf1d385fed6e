"""The puzzle class in four panels, as the step player draws it: source, pipe, node, terminal."""

import math

from course_lib.digits import load_digits
from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.puzzle import draw_piece, draw_replica, draw_student, place_on_desk
from course_lib.pictures.style import PHASE_COLOURS, QUIET, bar_look, rank_colour, styled
from course_lib.pictures.wording import TIMES, bytes_text, number_text, seconds_text, unit_of
from course_lib.step_story.state import state

WIDE, HIGH, PILES = 1.45, 1.0, 0.36  # of the ring of desks; how far the piles are from its middle
SEAT = {"left": 0.5, "right": 0.5, "top": 0.46, "bottom": 0.32}  # what a desk takes around its place
PHASES = ("load", "forward", "backward", "wait", "update")


def class_at_work(story):
    """The four panels of a Story, each drawn from its state at a time of the first step, or at the end."""
    worker = _first_to_wait(story)
    early, middle, late = _moments(story, worker)
    with styled():
        figure, ((source, pipe), (node, terminal)) = new_figure(2, 2, height=6.2)
        figure.set_size_inches(8.6, 6.4)
        _source(source, story, early)
        _pipe(pipe, story, middle)
        _node(node, story, worker)
        _terminal(terminal, story, late)
        return Picture(figure, label("class_at_work_alt", **_words(story, middle), rank=worker))


def one_view(story, mode, worker=0):
    """The panel of one mode alone, larger; `worker` is the one that "node" looks at."""
    early, middle, late = _moments(story, worker)
    with styled():
        if mode == "node":
            figure, axes = new_figure(height=3.2)
            _node(axes, story, worker)
            below = ""
        else:
            figure, (axes, lanes) = new_figure(2, height=5.0, height_ratios=(5, 1))
            _lanes(lanes, story)
            below = " " + label("class_at_work_lanes_alt")
            draw, now = {"source": (_source, early), "pipe": (_pipe, middle), "terminal": (_terminal, late)}[
                mode
            ]
            draw(axes, story, now)
            axes.set_anchor("C")
        about = label(f"class_at_work_{mode}_alt", **_words(story, middle), rank=worker)
        return Picture(figure, about + below)


def _moments(story, worker):
    """States worth seeing: a piece has just left its pile, the last chunks of a step travel, the end."""
    chunk = max(
        (chunk for chunk in story.chunks if chunk.step == 0), key=lambda chunk: (chunk.bucket, -chunk.turn)
    )
    loading = story.diaries[worker].phases[min(2, story.setting.pieces - 1)]
    early, middle = (
        state(story, each.start + share * (each.stop - each.start))
        for each, share in ((loading, 0.12), (chunk, 0.5))
    )
    return early, middle, state(story, story.run.seconds)


def _words(story, middle):
    return {
        "ranks": story.setting.ranks,
        "time": seconds_text(middle.time),
        "flying": len(middle.flying),
        "steps": story.setting.steps,
        "first": number_text(story.losses[0]),
        "last": number_text(story.losses[-1]),
    }


def _first_to_wait(story):
    """Who waits longest for the others in the first step."""
    return min(range(story.setting.ranks), key=lambda rank: story.diaries[rank].ready[0][-1])


def _place(turn, ranks, far=1.0) -> tuple[float, float]:
    angle = 2 * math.pi * turn / ranks - math.pi / 2
    return far * WIDE * math.cos(angle), -far * HIGH * math.sin(angle)


def _scale(ranks):
    return 1.0 if ranks <= 5 else 0.78


def _on_link(rank, ranks, share):
    """A point of the link from `rank` to the next, from the edge of one desk to that of the other."""
    after, before = _leaving(rank, ranks, 1), _leaving((rank + 1) % ranks, ranks, -1)
    return _place(rank + after + (1 - after - before) * share, ranks)


def _leaving(rank, ranks, way):
    """How far round one is out of a desk, as a share of the link."""
    (x, y), scale = _place(rank, ranks), _scale(ranks)
    for turn in range(2, 41):
        there = _place(rank + way * turn / 100, ranks)
        across, up = (there[0] - x) / scale, (there[1] - y) / scale
        if not (-SEAT["left"] < across < SEAT["right"] and -SEAT["bottom"] < up < SEAT["top"]):
            return turn / 100
    return 0.41


def _class(axes, story, now):
    """Desks in a ring with what lies on them, and the links between."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    ranks, images = story.setting.ranks, load_digits()[0].images
    busy = {story.chunks[number].source for number, _ in now.flying}
    for rank in range(ranks):
        colour, width = ("#222222", 2.4) if rank in busy else (QUIET, 1.2)
        path = Path([_on_link(rank, ranks, step / 24) for step in range(25)])
        arrow = FancyArrowPatch(
            path=path, arrowstyle="-|>", color=colour, linewidth=width, mutation_scale=11, zorder=1
        )
        axes.add_artist(arrow)
    for rank in range(ranks):
        desk = now.desks[rank]
        draw_student(
            axes,
            *_place(rank, ranks),
            rank,
            now.fingerprints[rank],
            images[list(desk.pieces)],
            waits=now.doing[rank].kind == "wait",
            scale=_scale(ranks),
        )
    axes.set(xlim=(-1.95, 1.95), ylim=(-1.4, 1.5))
    axes.set_aspect("equal", anchor="W")
    axes.axis("off")


def _source(axes, story, now):
    ranks, images = story.setting.ranks, load_digits()[0].images
    _class(axes, story, now)
    for rank, desk in enumerate(now.desks):
        for depth in (2, 1, 0):
            x, y = _place(rank, ranks, PILES)
            draw_piece(axes, x + 0.02 * depth, y + 0.03 * depth, 0.15, rank)
        if desk.coming >= 0:
            (x, y), (u, v), scale = _place(rank, ranks, PILES), _place(rank, ranks), _scale(ranks)
            across, up = place_on_desk(len(desk.pieces))
            share = now.doing[rank].share
            x += share * (u + 0.01 * scale * across - x)
            y += share * (v + 0.01 * scale * up - y)
            draw_piece(axes, x, y, 0.17, rank, images[desk.coming])
    axes.set_title(label("class_at_work_source"))


def _pipe(axes, story, now):
    ranks = story.setting.ranks
    _class(axes, story, now)
    for number, share in now.flying:
        chunk = story.chunks[number]
        axes.text(
            *_on_link(chunk.source, ranks, share),
            str(chunk.bucket + 1),
            ha="center",
            va="center",
            fontsize=9 * _scale(ranks),
            weight="bold",
            zorder=6,
            bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": rank_colour(chunk.source), "lw": 2.2},
        )
    sent = sum(link.arrived + link.on_way for link in now.links)
    for rank, link in enumerate(now.links):
        axes.text(
            *_place(rank + 0.5, ranks, 0.66),
            bytes_text(link.arrived + link.on_way),
            ha="center",
            va="center",
            fontsize=8,
        )
    axes.set_title(label("class_at_work_pipe", sent=bytes_text(sent)))


def _node(axes, story, worker):
    """The worker's first step above its buckets' all-reduces; dashed: when the last gradient was ready."""
    phases = [phase for phase in story.diaries[worker].phases if phase.step == 0]
    factor, unit = unit_of(phases[-1].stop, TIMES)
    for kind in PHASES:
        mine = [phase for phase in phases if phase.kind == kind]
        axes.barh(
            [0] * len(mine),
            [(phase.stop - phase.start) / factor for phase in mine],
            height=0.62,
            left=[phase.start / factor for phase in mine],
            linewidth=0.5,
            label=label(f"step_player_phase_{kind}"),
            **bar_look(kind),
        )
    ready, reduced = story.diaries[worker].ready[0], story.reduced[worker][0]
    starts = [max(ready[bucket], reduced[bucket - 1] if bucket else 0.0) for bucket in range(len(ready))]
    all_ready = [max(diary.ready[0][bucket] for diary in story.diaries) for bucket in range(len(ready))]
    whole = [max(start, there) for start, there in zip(starts, all_ready, strict=True)]
    for lefts, rights, key, phase in (
        (starts, whole, "step_player_lacking", "wait"),
        (whole, reduced, "step_player_ringing", "collective"),
    ):
        axes.barh(
            [1, 2, 3],
            [(right - left) / factor for left, right in zip(lefts, rights, strict=True)],
            height=0.5,
            left=[left / factor for left in lefts],
            linewidth=0.5,
            label=label(key),
            **bar_look(phase),
        )
    gate = {"color": "#222222", "linestyle": "--", "linewidth": 1.3}
    axes.axvline(story.gates[0][0] / factor, label=label("step_player_gate"), **gate)
    buckets = [label("step_player_bucket", bucket=bucket + 1) for bucket in range(len(ready))]
    axes.set_yticks(range(4), [label("step_player_work"), *buckets])
    axes.set(ylim=(3.6, -0.6), xlim=(0, 1.02 * phases[-1].stop / factor), xlabel=label("seconds", unit=unit))
    axes.grid(visible=False, axis="y")
    axes.set_title(label("class_at_work_node", rank=worker))
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.24),
        ncols=4,
        fontsize=8,
        handlelength=1.2,
        columnspacing=0.8,
    )


def _lanes(axes, story):
    """The whole run, a lane for each rank; dashed: when the last gradient of a step was ready."""
    factor, unit = unit_of(story.run.seconds, TIMES)
    for kind in PHASES:
        mine = [(rank, p) for rank, diary in enumerate(story.diaries) for p in diary.phases if p.kind == kind]
        axes.barh(
            [rank for rank, _ in mine],
            [(phase.stop - phase.start) / factor for _, phase in mine],
            height=0.8,
            left=[phase.start / factor for _, phase in mine],
            linewidth=0.3,
            label=label(f"step_player_phase_{kind}"),
            **bar_look(kind),
        )
    for time, _ in story.gates:
        axes.axvline(time / factor, color="#222222", linestyle="--", linewidth=1.2, label="_gate")
    ranks = range(0, story.setting.ranks, 2 if story.setting.ranks > 5 else 1)
    axes.set_yticks(ranks, ranks, fontsize=8)
    axes.set(ylim=(story.setting.ranks - 0.5, -0.5), xlim=(0, story.run.seconds / factor))
    axes.set_xlabel(label("seconds", unit=unit), fontsize=9)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(visible=False)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=5, fontsize=8, handlelength=1.2, borderpad=0)


def _terminal(axes, story, now):
    """The loss so far, with every rank's replica above it."""
    steps, ranks = range(len(now.losses)), story.setting.ranks
    axes.plot(
        steps,
        now.losses,
        "o-",
        color=PHASE_COLOURS["compute"],
        markerfacecolor="white",
        label=label("class_at_work_loss"),
    )
    low, high = min(now.losses), max(now.losses)
    axes.set(
        xlim=(-0.3, story.setting.steps + 0.3),
        ylim=(low - 0.1 * (high - low), high + 0.15 * (high - low)),
        xlabel=label("step_player_steps"),
        ylabel=label("class_at_work_loss"),
    )
    axes.set_xticks(range(story.setting.steps + 1))
    axes.locator_params(axis="y", nbins=5)
    axes.set_title(label("class_at_work_terminal", ranks=ranks))
    size = 0.92 / ranks
    for rank in range(ranks):
        board = axes.inset_axes(
            (0.04 + rank * size, 1 - 0.86 * min(size, 0.23) * 1.45, 0.86 * size, 0.86 * min(size, 0.23) * 1.4)
        )
        draw_replica(board, 0, 0, 1, now.fingerprints[rank])
        board.text(0.5, -0.1, str(rank), ha="center", va="top", fontsize=9, weight="bold")
        board.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        board.axis("off")
    axes.set_ylim(low - 0.1 * (high - low), high + 0.9 * (high - low))
