"""Pictures of chapter 10: losses against steps, worlds and numbers of workers."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled
from course_lib.regression import first_step

ROUNDING = 1e-12  # differences below this are rounding's, and no two machines' are the same


def convergence(losses, theory, floor, stopped):
    """Loss above the best possible one: after each step as points, in closed form as a line."""
    steps = np.arange(1, len(losses) + 1)
    shown = slice(stopped % 4, None, 4)
    reached = first_step(losses, below=1.01 * floor)
    with styled():
        figure, axes = new_figure()
        axes.plot(steps, np.subtract(theory, floor), color=THEORY, label=label("theory"))
        above = np.subtract(losses, floor)[shown]
        axes.plot(steps[shown], above, "o", color=rank_colour(0), label=label("measured"))
        axes.axhline(0.01 * floor, color=rank_colour(5), linestyle="--", label=label("one_percent"))
        axes.axvline(stopped, color=rank_colour(1), linestyle=":", label=label("stopped", step=stopped))
        axes.set(yscale="log", xlabel=label("step"), ylabel=label("above_best"))
        axes.set_title(label("convergence_title", stopped=stopped, reached=reached))
        axes.legend()
        return Picture(figure, label("convergence_alt", stopped=stopped, reached=reached, floor=floor))


def departure(runs, right):
    """How far the losses of `runs`, {name: losses}, are from the `right` ones, step by step."""
    with styled():
        figure, axes = new_figure()
        for number, (name, losses) in enumerate(runs.items()):
            gap = np.subtract(losses, right)
            style = {"marker": "osD"[number % 3], "fillstyle": "none", "markersize": (8, 5, 3)[number % 3]}
            axes.plot(np.arange(1, len(gap) + 1), gap, color=rank_colour(number), label=name, **style)
        axes.set(xlabel=label("step"), ylabel=label("gap"))
        axes.set_title(label("departure_title"))
        axes.legend(title=label("workers_legend"))
        largest = {name: float(np.max(np.abs(np.subtract(losses, right)))) for name, losses in runs.items()}
        listed = "; ".join(f"{name}: {gap if gap > ROUNDING else 0:.2g}" for name, gap in largest.items())
        return Picture(figure, label("departure_alt", listed=listed))


def above_best(curves, floor):
    """Loss above the best possible against passes over the data: {name: (passes, losses, evenly spread)}."""
    with styled():
        figure, axes = new_figure()
        for number, (name, (passes, losses)) in enumerate(curves.items()):
            places = np.linspace(0, passes, len(losses) + 1)[1:]
            style = ("-", "--", "-.", ":")[number % 4]
            axes.plot(
                places,
                np.subtract(losses, floor),
                style,
                color=rank_colour(number),
                linewidth=1.2,
                label=name,
            )
        axes.set(yscale="log", xlabel=label("epoch"), ylabel=label("above_best"))
        axes.set_title(label("epochs_title"))
        axes.legend()
        listed = "; ".join(f"{name}: {losses[-1] - floor:.2g}" for name, (_, losses) in curves.items())
        return Picture(figure, label("epochs_alt", listed=listed))


def speed_ratio(samples, ratios):
    """How many times faster one way is than another, against the number of samples."""
    with styled():
        figure, axes = new_figure(height=3.2)
        axes.plot(samples, ratios, "o-", color=rank_colour(0), label=label("measured"))
        axes.axhline(1, color=THEORY, linestyle="--", label=label("equal"))
        axes.set(xscale="log", yscale="log", xlabel=label("samples"), ylabel=label("ratio"))
        axes.set_title(label("speed_title", low=min(ratios), high=max(ratios)))
        axes.legend()
        return Picture(figure, label("speed_alt", low=min(ratios), high=max(ratios)))
