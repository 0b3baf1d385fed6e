"""The puzzle class in four panels, as the step player draws it: source, pipe, node, terminal."""

import math

from course_lib.digits import load_digits
from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.puzzle import draw_piece, draw_replica, draw_student
from course_lib.pictures.style import PHASE_COLOURS, rank_colour, styled
from course_lib.pictures.wording import TIMES, bytes_text, number_text, seconds_text, unit_of
from course_lib.step_story.state import state

WIDE, HIGH, PILES = 1.35, 1.0, 0.42  # of the ring of desks; how far the piles are from its middle
LOOKS = {  # of a phase: colour, hatch
    "load": ("#EFBF55", None),
    "forward": ("#99C7E0", None),
    "backward": (PHASE_COLOURS["compute"], None),
    "wait": (PHASE_COLOURS["wait"], "////"),
    "update": ("#222222", None),
}


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
        figure, axes = new_figure(height=2.9 if mode == "node" else 4.2)
        if mode == "node":
            _node(axes, story, worker)
        else:
            draw, now = {"source": (_source, early), "pipe": (_pipe, middle), "terminal": (_terminal, late)}[
                mode
            ]
            draw(axes, story, now)
            axes.set_anchor("C")
        return Picture(figure, label(f"class_at_work_{mode}_alt", **_words(story, middle), rank=worker))


def _moments(story, worker):
    """States worth seeing: while pieces come, while the last chunks of a step travel, at the end."""
    chunk = max(
        (chunk for chunk in story.chunks if chunk.step == 0), key=lambda chunk: (chunk.bucket, -chunk.turn)
    )
    loading = story.diaries[worker].phases[min(2, story.setting.pieces - 1)]
    early, middle = (state(story, (each.start + each.stop) / 2) for each in (loading, chunk))
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


def _place(turn, ranks, far=1.0):
    angle = 2 * math.pi * turn / ranks - math.pi / 2
    return far * WIDE * math.cos(angle), -far * HIGH * math.sin(angle)


def _class(axes, story, now):
    """Desks in a ring with what lies on them, and the links between."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ranks, images = story.setting.ranks, load_digits()[0].images
    busy = {story.chunks[number].source for number, _ in now.flying}
    for rank in range(ranks):
        colour, width = ("#222222", 2.4) if rank in busy else ("#CCCCCC", 1.6)
        path = [_place(rank + step / 24, ranks) for step in range(25)]
        axes.add_artist(PathPatch(Path(path), fill=False, edgecolor=colour, linewidth=width, zorder=1))
    for rank in range(ranks):
        desk = now.desks[rank]
        draw_student(
            axes,
            *_place(rank, ranks),
            rank,
            now.fingerprints[rank],
            images[list(desk.pieces)],
            waits=now.doing[rank].kind == "wait",
            scale=1.0 if ranks <= 5 else 0.78,
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
            far = PILES + (0.82 - PILES) * now.doing[rank].share
            draw_piece(axes, *_place(rank, ranks, far), 0.2, rank, images[desk.coming])
    axes.set_title(label("class_at_work_source"))


def _pipe(axes, story, now):
    ranks = story.setting.ranks
    _class(axes, story, now)
    for number, share in now.flying:
        chunk = story.chunks[number]
        axes.text(
            *_place(chunk.source + 0.25 + 0.5 * share, ranks),
            str(chunk.bucket + 1),
            ha="center",
            va="center",
            fontsize=9,
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
    for kind, (colour, hatch) in LOOKS.items():
        mine = [phase for phase in phases if phase.kind == kind]
        axes.barh(
            [0] * len(mine),
            [(phase.stop - phase.start) / factor for phase in mine],
            height=0.62,
            left=[phase.start / factor for phase in mine],
            color=colour,
            hatch=hatch,
            edgecolor="white" if hatch is None else "#777777",
            linewidth=0.5,
            label=label(f"step_player_phase_{kind}"),
        )
    ready, reduced = story.diaries[worker].ready[0], story.reduced[worker][0]
    starts = [max(ready[bucket], reduced[bucket - 1] if bucket else 0.0) for bucket in range(len(ready))]
    axes.barh(
        [1, 2, 3],
        [(stop - start) / factor for start, stop in zip(starts, reduced, strict=True)],
        height=0.5,
        left=[start / factor for start in starts],
        color=PHASE_COLOURS["collective"],
        edgecolor="#444444",
        linewidth=0.5,
        label="_" + label("collective"),
    )
    axes.axvline(story.gates[0][0] / factor, color="#222222", linestyle="--", linewidth=1.3, label="_gate")
    buckets = [label("step_player_bucket", bucket=bucket + 1) for bucket in range(len(ready))]
    axes.set_yticks(range(4), [label("step_player_work"), *buckets])
    axes.set(ylim=(3.6, -0.6), xlim=(0, 1.02 * phases[-1].stop / factor), xlabel=label("seconds", unit=unit))
    axes.grid(visible=False, axis="y")
    axes.set_title(label("class_at_work_node", rank=worker))
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=5, fontsize=8, handlelength=1, columnspacing=0.8
    )


def _terminal(axes, story, now):
    """The loss so far, with every rank's replica above it."""
    steps, ranks = range(len(now.losses)), story.setting.ranks
    axes.plot(
        steps, now.losses, "o-", color="#0072B2", markerfacecolor="white", label=label("class_at_work_loss")
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
        board.text(
            0.5, -0.1, str(rank), ha="center", va="top", fontsize=9, weight="bold", color=rank_colour(rank)
        )
        board.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        board.axis("off")
    axes.set_ylim(low - 0.1 * (high - low), high + 0.9 * (high - low))
