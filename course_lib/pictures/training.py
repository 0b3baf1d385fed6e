"""Pictures of chapter 10: losses against steps, worlds and numbers of workers."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled

ROUNDING = 1e-14  # differences below this are rounding's, and no two machines' are the same


def convergence(losses, theory, floor, stopped):
    """Loss after each step as points, its closed form as a line, the best possible loss and a stop marked."""
    steps = np.arange(1, len(losses) + 1)
    shown = np.unique(np.geomspace(1, len(losses), 40).astype(int)) - 1
    reached = int(np.argmax(np.asarray(losses) < 1.01 * floor)) + 1
    with styled():
        figure, axes = new_figure()
        axes.plot(steps, theory, color=THEORY, label=label("theory"))
        axes.plot(steps[shown], np.asarray(losses)[shown], "o", color=rank_colour(0), label=label("measured"))
        axes.axhline(floor, color=rank_colour(5), linestyle="--", label=label("floor", floor=floor))
        axes.axvline(stopped, color=rank_colour(1), linestyle=":", label=label("stopped", step=stopped))
        axes.set(xscale="log", yscale="log", xlabel=label("step"), ylabel=label("loss"))
        axes.set_title(label("convergence_title", stopped=stopped, reached=reached))
        axes.legend()
        return Picture(figure, label("convergence_alt", stopped=stopped, reached=reached, floor=floor))


def departure(gaps):
    """How far each run's losses are from one worker's: {name: gaps, one a step}; rounding shows as such."""
    with styled():
        figure, axes = new_figure()
        for number, (name, gap) in enumerate(gaps.items()):
            steps, shown = np.arange(1, len(gap) + 1), np.maximum(np.abs(gap), ROUNDING)
            size = 11 - 3 * number  # one inside the other where they coincide
            style = {
                "marker": "osD"[number % 3],
                "markersize": size,
                "fillstyle": "none",
                "color": rank_colour(number),
            }
            axes.plot(steps, shown, label=name, **style)
        axes.axhspan(ROUNDING / 10, ROUNDING * 3, color="#EEEEEE", zorder=0)
        axes.text(1, ROUNDING / 6, label("rounding"))
        axes.set(yscale="log", xlabel=label("step"), ylabel=label("gap"), ylim=(ROUNDING / 10, 1))
        axes.set_title(label("departure_title"))
        axes.legend(loc="center right")
        listed = "; ".join(f"{name}: {_gap_text(gap)}" for name, gap in gaps.items())
        return Picture(figure, label("departure_alt", listed=listed))


def _gap_text(gap):
    largest = float(np.max(np.abs(gap)))
    return f"{largest:.2g}" if largest > ROUNDING else label("rounding")


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
