"""What a training job is made of: the parts of a worker, and processes on machines."""

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import rank_colour, styled

# Part: place (column, row) in the map, the modes of the player that show it, chapters.
COMPONENTS = {
    "loader": ((0, 0), "source", (3, 8)),
    "replica": ((1, 0), "node", (3, 9)),
    "backward": ((2, 0), "node", (4, 7)),
    "buckets": ((2, 1), "pipe", (7, 8)),
    "backend": ((1, 1), "pipe", (5, 8)),
    "optimiser": ((0, 1), "terminal", (7, 9)),
}
ARROWS = (
    ("loader", "replica", "batch"),
    ("replica", "backward", "loss"),
    ("backward", "buckets", "gradient"),
    ("buckets", "backend", "bucket"),
    ("backend", "optimiser", "mean"),
    ("optimiser", "replica", "update"),
)
MODE_COLOURS = {"source": "#EFBF55", "node": "#99C7E0", "pipe": "#E3B5CE", "terminal": "#A9D8C6"}
WIDE, HIGH, APART, DEEP = 2.3, 1.05, 3.3, 2.0


def component_map():
    """The six parts of one worker and what goes from one to the next; other workers hang on the backend."""
    with styled():
        figure, axes = new_figure(height=4.3)
        figure.set_size_inches(7.6, 4.3)
        for name, (place, mode, chapters) in COMPONENTS.items():
            x, y = _centre(place)
            _box(axes, x - WIDE / 2, y - HIGH / 2, WIDE, HIGH, 0.15, facecolor=MODE_COLOURS[mode])
            axes.text(x, y + 0.18, label(f"ch1_part_{name}"), ha="center", va="center", weight="bold")
            seen = label(f"step_player_{mode}")
            found = label("ch1_chapters", mode=seen, first=chapters[0], second=chapters[1])
            axes.text(x, y - 0.24, found, ha="center", va="center", fontsize=9)
        for start, stop, what in ARROWS:
            _arrow(
                axes, _centre(COMPONENTS[start][0]), _centre(COMPONENTS[stop][0]), label(f"ch1_goes_{what}")
            )
        x, y = _centre(COMPONENTS["backend"][0])
        _line(axes, (x, y - HIGH / 2), (x, y - HIGH / 2 - 0.75), "<->")
        axes.text(x + 0.15, y - HIGH / 2 - 0.42, label("ch1_goes_others"), va="center", fontsize=9)
        axes.set(xlim=(-1.35, 2 * APART + 1.35), ylim=(-DEEP - 1.4, 0.75), aspect="equal")
        axes.axis("off")
        axes.set_title(label("ch1_components_title"))
        listed = "; ".join(
            label(
                "ch1_arrow",
                start=label(f"ch1_part_{start}"),
                stop=label(f"ch1_part_{stop}"),
                what=label(f"ch1_goes_{what}"),
            )
            for start, stop, what in ARROWS
        )
        return Picture(figure, label("ch1_components_alt", listed=listed))


def _centre(place):
    return APART * place[0], -DEEP * place[1]


def _box(axes, x, y, width, height, rounding, *, edgecolor="#444444", **look):
    """A box with round corners; (x, y) is its lower left one."""
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={rounding}"
    axes.add_artist(FancyBboxPatch((x, y), width, height, boxstyle=style, edgecolor=edgecolor, **look))


def _arrow(axes, start, stop, text):
    """From the edge of one box to the edge of the other, with what goes there beside it."""
    (x, y), (u, v) = start, stop
    if y == v:
        side = 1 if u > x else -1
        _line(axes, (x + side * WIDE / 2, y), (u - side * WIDE / 2, v), "->")
        axes.text((x + u) / 2, y + 0.14, text, ha="center", va="bottom", fontsize=9)
    elif x == u:
        _line(axes, (x, y - HIGH / 2), (u, v + HIGH / 2), "->")
        axes.text(x + 0.12, (y + v) / 2, text, va="center", fontsize=9)
    else:  # back, from the lower row to the upper
        _line(axes, (x + 0.5, y + HIGH / 2), (u - 0.5, v - HIGH / 2), "->")
        axes.text((x + u) / 2 - 0.15, (y + v) / 2 + 0.1, text, ha="right", va="center", fontsize=9)


def _line(axes, start, stop, style):
    axes.annotate("", xy=stop, xytext=start, arrowprops={"arrowstyle": style, "color": "#444444", "lw": 1.5})


def machines(nodes=2, per_node=4):
    """`nodes` machines with `per_node` GPUs each: a process a GPU, its rank and its local rank."""
    ranks = nodes * per_node
    with styled():
        figure, axes = new_figure(height=2.5)
        figure.set_size_inches(7.6, 2.5)
        for node in range(nodes):
            left = node * (per_node + 0.6) - 0.55
            _box(axes, left, -0.85, per_node + 0.1, 2.3, 0.12, facecolor="#F4F4F4")
            axes.text(left + 0.12, 1.22, label("ch1_node", node=node), va="center", weight="bold")
            for local in range(per_node):
                rank = node * per_node + local
                _process(axes, left + 0.55 + local, rank, local)
        axes.set(xlim=(-0.7, nodes * (per_node + 0.6) - 0.9), ylim=(-0.95, 1.5), aspect="equal")
        axes.axis("off")
        axes.set_title(label("ch1_machines_title", nodes=nodes, per_node=per_node, ranks=ranks))
        last = ranks - 1
        words = {"nodes": nodes, "per_node": per_node, "ranks": ranks, "last": last}
        return Picture(
            figure, label("ch1_machines_alt", node=last // per_node, local=last % per_node, **words)
        )


def _process(axes, x, rank, local):
    look = {"facecolor": "white", "linewidth": 2}
    _box(axes, x - 0.42, 0.05, 0.84, 0.85, 0.08, edgecolor=rank_colour(rank), **look)
    axes.text(x, 0.62, label("ch1_rank", rank=rank), ha="center", va="center", fontsize=10, weight="bold")
    axes.text(x, 0.3, label("ch1_local", local=local), ha="center", va="center", fontsize=8)
    axes.plot([x, x], [0.05, -0.2], color="#444444", linewidth=1.2, label="_")
    _box(axes, x - 0.42, -0.65, 0.84, 0.45, 0.08, **look)
    axes.text(x, -0.42, label("ch1_gpu", local=local), ha="center", va="center", fontsize=9)
