"""Pictures of what old gradients do to learning: stable rates, fates, losses on three axes, the best rate."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled

MARKS, LINES = "osD^", ("-", "--", "-.", ":")
LARGEST = 1e12  # a run that diverges leaves the picture here


def stable_over_spread(found, levels):
    """The largest stable rate against the spread of times: {kind: [(deviation, rates of the seeds)]}.

    A point is the median of the seeds, with a bar from the least to the most. levels: {name: rate}, as lines.
    """
    with styled():
        figure, axes = new_figure()
        for number, (name, level) in enumerate(levels.items()):
            axes.axhline(level, color=THEORY, linewidth=1, linestyle=LINES[number % 4], label=name)
        for number, (name, points) in enumerate(found.items()):
            places, rates = zip(*points, strict=True)
            _seeds(axes, places, np.transpose(rates), number, name)
        axes.set(xlabel=label("ch6_deviation"), ylabel=label("ch6_rate_curvature"), ylim=(0, None))
        axes.set_title(label("ch6_stable_title"))
        axes.legend()
        listed = "; ".join(
            f"{name}: " + ", ".join(f"{np.median(rates):.3f} at {place:.2f}" for place, rates in points)
            for name, points in found.items()
        )
        return Picture(figure, label("ch6_stable_alt", listed=listed))


def fates(curves):
    """|theta| after each update on a logarithmic axis: {name: array}; what leaves the axis is cut off."""
    with styled():
        figure, axes = new_figure()
        for number, (name, theta) in enumerate(curves.items()):
            size = np.abs(np.asarray(theta, dtype=float))
            shown = np.where((size > 1 / LARGEST) & (size < LARGEST), size, np.nan)
            style = {"linestyle": LINES[number % 4], "color": rank_colour(number), "linewidth": 1.4}
            axes.plot(np.arange(len(shown)), shown, label=name, **style)
        axes.set(yscale="log", xlabel=label("ch6_updates_axis"), ylabel=label("ch6_distance"))
        axes.set_title(label("ch6_fates_title"))
        axes.legend()
        listed = "; ".join(f"{name}: {_end(theta)}" for name, theta in curves.items())
        return Picture(figure, label("ch6_fates_alt", listed=listed))


def _end(theta):
    """The order of magnitude of the largest of the last 50."""
    return f"{np.abs(np.asarray(theta)[-50:]).max():.0e}"


def losses_on_three_axes(histories, problem, target):
    """Loss against updates, gradients and seconds: {name: History}; a dashed line at the `target`."""
    losses = {name: history.losses(problem) for name, history in histories.items()}
    with styled():
        figure, grid = new_figure(2, 2, height=5.2, sharey=True)
        axis_names = "ch6_updates_axis", "ch6_gradients_axis", "ch6_seconds_axis"
        for place, (axes, axis_name) in enumerate(zip(grid.flat, axis_names, strict=False)):
            for number, (name, history) in enumerate(histories.items()):
                style = {"linestyle": LINES[number % 4], "color": rank_colour(number), "linewidth": 1.4}
                axes.plot(_places(history)[place], losses[name], label=name, **style)
            axes.axhline(target, color=THEORY, linewidth=1, linestyle=":", label=label("ch6_target"))
            axes.set(xlabel=label(axis_name), ylabel=label("ch6_loss") if place != 1 else "", yscale="log")
            axes.set_xlim(left=0)
            axes.set_yticks(ticks := [0.2, 0.5, 1, 2, 5], map(str, ticks))
            axes.minorticks_off()
        grid[1, 1].axis("off")
        grid[1, 1].legend(*axes.get_legend_handles_labels(), loc="center left", fontsize=10)
        figure.suptitle(label("ch6_axes_title"), x=0.01, ha="left", fontsize=12)
        said = {name: history.reached(problem, target) for name, history in histories.items()}
        listed = "; ".join(_said(name, reached) for name, reached in said.items())
        return Picture(figure, label("ch6_axes_alt", target=target, listed=listed))


def _places(history):
    return [
        np.arange(len(history) + 1),
        np.r_[0, history.gradients],
        np.r_[0, history.seconds],
    ]


def _said(name, reached):
    if reached is None:
        return label("ch6_never", name=name)
    numbers = {"updates": reached.updates, "gradients": reached.gradients, "seconds": reached.seconds}
    return label("ch6_reached", name=name, **numbers)


def seconds_to_target(rates, panels):
    """Seconds to a target against the rate, one panel for each: {panel: {name: seconds (seeds, rates)}}.

    A point is the median of the seeds, with a bar from the least to the most; infinity is never.
    """
    with styled():
        figure, axes = new_figure(1, len(panels), height=4.0, sharey=True)
        for place, (panel, ways) in enumerate(panels.items()):
            for number, (name, seconds) in enumerate(ways.items()):
                beside = np.asarray(rates) * 1.06 ** (2 * number - 1)  # side by side, to hide nothing
                _seeds(axes[place], beside, np.asarray(seconds), number, name if place == 0 else f"_{name}")
            axes[place].set_xscale("log", base=2)
            axes[place].set_xticks(list(rates), [f"{rate:g}" for rate in rates])
            axes[place].set_xlabel(label("ch6_rate"))
            axes[place].set_title(label("ch6_panel", name=panel), fontsize=11)
        axes[0].set(ylabel=label("ch6_to_target"), ylim=(0, None))
        figure.suptitle(label("ch6_best_title"), x=0.01, ha="left", fontsize=12)
        figure.legend(loc="outside lower center", ncols=2)
        listed = "; ".join(
            label("ch6_best_of", panel=panel, name=name, seconds=np.min(np.median(seconds, axis=0)))
            for panel, ways in panels.items()
            for name, seconds in ways.items()
        )
        return Picture(figure, label("ch6_best_alt", listed=listed))


def _seeds(axes, places, values, number, name):
    """A point at the median of each column of `values`, and a line from its least to its most finite one."""
    finite, middle = np.where(np.isinf(values), np.nan, values), np.median(values, axis=0)
    ends = [np.nanmin(finite, axis=0), np.nanmax(finite, axis=0), np.full(len(places), np.nan)]
    colour, lines = rank_colour(number), np.repeat(places, 3)
    axes.plot(lines, np.transpose(ends).ravel(), color=colour, linewidth=1.2, label=f"_{label('ch6_spread')}")
    axes.plot(places, np.where(np.isinf(middle), np.nan, middle), MARKS[number % 4], color=colour, label=name)
