"""Who holds what: a model of a few layers on as many workers, in each way of dividing the work."""

from dataclasses import dataclass

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import QUIET, RANK_COLOURS, styled

WORKERS = LAYERS = 4
WAYS = ("data", "zero", "tensor", "pipeline")
BAR, GAP = 0.2, 0.03  # width of one of the three bars that stand for a layer on a worker
HEIGHT = 0.72
PARTS = {  # colour, hatch
    "parameters": (RANK_COLOURS[0], ""),
    "gradients": (RANK_COLOURS[1], "...."),
    "optimizer": (RANK_COLOURS[2], "/////"),
}


@dataclass(frozen=True)
class Holding:
    """What one worker has of one layer, and which share of the batch passes it; shares from 0 to 1."""

    parameters: float
    gradients: float
    optimizer: float
    batch: float

    @property
    def model(self):
        return (self.parameters + self.gradients + self.optimizer) / 3


def holding(way, worker, layer, stage=3, workers=WORKERS, layers=LAYERS):
    """The Holding of `worker` of `layer` by one of WAYS; stage: of ZeRO, 1 to 3."""
    whole, part = 1.0, 1 / workers
    if way == "data":
        return Holding(whole, whole, whole, part)
    if way == "zero":
        return Holding(part if stage > 2 else whole, part if stage > 1 else whole, part, part)
    if way == "tensor":
        return Holding(part, part, part, whole)
    if way != "pipeline":
        raise ValueError(f"way must be one of {', '.join(WAYS)}; got {way!r}")
    mine = float(layer * workers // layers == worker)
    return Holding(mine, mine, mine, mine)


def share_of_model(way, stage=3):
    """Of all the model's numbers, the share that one worker holds (the same for each)."""
    return sum(holding(way, 0, layer, stage).model for layer in range(LAYERS)) / LAYERS


def filled(way, worker, layer, part):
    """(left, top, width, height) of what a worker holds of a layer, as shares of the whole bar.

    Each worker of ZeRO has rows of its own, each of tensor parallelism columns of its own.
    """
    share = getattr(holding(way, worker, layer), part)
    if way == "tensor":
        return worker * share, 0.0, share, 1.0
    return 0.0, worker * share if way == "zero" else 0.0, 1.0, share


def who_holds_what():
    """A panel a way: a column for each worker, a row for each layer; bars say what part it holds."""
    with styled():
        figure, panels = new_figure(rows=2, columns=2, height=5.2, sharex=True, sharey=True)
        for axes, way in zip(panels.flat, WAYS, strict=True):
            _draw(axes, way, "" if way == WAYS[0] else "_")
            axes.set_title(_in_words(way), fontsize=9)
        for axes in panels[-1]:
            axes.set_xticks(range(WORKERS), range(WORKERS))
            axes.set_xlabel(label("ch8_holds_worker"))
        for axes in panels[:, 0]:
            axes.set_yticks(range(LAYERS), range(1, LAYERS + 1))
            axes.set_ylabel(label("ch8_holds_layer"))
        figure.suptitle(label("ch8_holds_title"), x=0.01, ha="left", fontsize=12)
        figure.legend(loc="outside lower center", ncols=3)
        listed = "; ".join(_in_words(way).replace("\n", ": ") for way in WAYS)
        return Picture(figure, label("ch8_holds_alt", listed=listed))


def _in_words(way):
    return label(f"ch8_holds_{way}", share=share_of_model(way), batch=holding(way, 0, 0).batch)


def _draw(axes, way, once):
    for place, (part, (colour, hatch)) in enumerate(PARTS.items()):
        places = [(worker, layer) for worker in range(WORKERS) for layer in range(LAYERS)]
        lefts = [worker + (place - 1) * (BAR + GAP) - BAR / 2 for worker, _ in places]
        tops = [layer - HEIGHT / 2 for _, layer in places]
        empty = {"color": "none", "edgecolor": QUIET, "linewidth": 0.6, "label": f"_{part}"}
        axes.bar(lefts, [HEIGHT] * len(places), BAR, bottom=tops, align="edge", **empty)
        x, y, widths, heights = np.transpose([filled(way, *each, part) for each in places])
        name = once + label(f"ch8_part_{part}")
        axes.bar(
            lefts + BAR * x,
            HEIGHT * heights,
            BAR * widths,
            tops + HEIGHT * y,
            align="edge",
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0,
            label=name,
        )
    axes.set(xlim=(-0.6, WORKERS - 0.4), ylim=(LAYERS - 0.4, -0.6))
    axes.grid(visible=False)
