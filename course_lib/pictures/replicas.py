"""Pictures of chapter 3: replicas that part, the noise of an averaged gradient, and averaging later."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled

POINTS = 20  # measured points drawn on a curve, so that the line behind them stays visible


def gaps(curves):
    """Largest distance between two replicas after each step: {name: (measured, theory)}, from step 0."""
    with styled():
        figure, axes = new_figure()
        for number, (name, (measured, theory)) in enumerate(curves.items()):
            steps = np.arange(len(measured))
            shown = slice(None, None, max(1, len(steps) // POINTS))
            line = label("ch3_theory") if number == 0 else f"_{label('ch3_theory')} {name}"
            axes.plot(steps, theory, color=THEORY, linewidth=1.2, label=line)
            marker = {"marker": "osD^"[number % 4], "linestyle": "none", "color": rank_colour(number)}
            axes.plot(steps[shown], np.asarray(measured)[shown], label=name, **marker)
        axes.set(xlabel=label("step"), ylabel=label("ch3_gap"))
        axes.set_ylim(bottom=0)
        axes.set_title(label("ch3_gaps_title"))
        axes.legend()
        ends = "; ".join(
            f"{name}: {measured[0]:.3g} → {measured[-1]:.3g}" for name, (measured, _) in curves.items()
        )
        return Picture(figure, label("ch3_gaps_alt", steps=len(measured) - 1, ends=ends))


def lost_momentum(measured, theory, reset, level):
    """Distance of two replicas after each step; one forgot its momentum before step `reset` (from 0).

    Distances are in lengths of the last step before. theory: from step `reset` on; level: what it tends to.
    """
    steps = np.arange(1, len(measured) + 1)
    with styled():
        figure, axes = new_figure()
        axes.plot(steps[reset:], theory, color=THEORY, label=label("ch3_theory"))
        shown = np.r_[0 : reset : max(1, reset // 6), reset : len(steps) : 2]
        dots = {"color": rank_colour(1), "label": label("measured")}
        axes.plot(steps[shown], np.asarray(measured)[shown], "o", **dots)
        level_name = label("ch3_level", level=level)
        axes.axhline(level, color=rank_colour(2), linestyle="--", label=level_name)
        axes.axvline(reset + 1, color=rank_colour(5), linestyle=":", label=label("ch3_reset", step=reset + 1))
        axes.set(xlabel=label("step"), ylabel=label("ch3_distance"))
        axes.set_ylim(0, 1.1 * level)
        axes.set_title(label("ch3_momentum_title"))
        axes.legend(loc="lower right")
        said = {"step": reset + 1, "end": float(measured[-1]), "level": level}
        return Picture(figure, label("ch3_momentum_alt", **said))


def averaged_noise(points, alone):
    """Variance of the averaged gradient against K: {name: {workers: variance}}; `alone`: of one worker.

    The line is alone / K.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    most = max(max(found) for found in points.values())
    with styled():
        figure, axes = new_figure()
        counts = np.array([1, most])
        axes.plot(counts, alone / counts, color=THEORY, label=label("ch3_one_over_k"))
        for number, (name, found) in enumerate(points.items()):
            look = {"markersize": (6, 12, 6)[number % 3], "fillstyle": ("full", "none", "full")[number % 3]}
            colour, marker = rank_colour((0, 5, 1)[number % 3]), "oDs"[number % 3]
            axes.plot(
                list(found), list(found.values()), marker, linestyle="none", color=colour, label=name, **look
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_locator(NullLocator())
        ticks = sorted({count for found in points.values() for count in found})
        axes.set_xticks(ticks, [str(count) for count in ticks])
        axes.set(xlabel=label("ch3_workers"), ylabel=label("ch3_variance"))
        axes.set_title(label("ch3_noise_title"))
        axes.legend(loc="lower left")
        listed = "; ".join(
            f"{name}: {found[min(found)]:.3g} → {found[max(found)]:.3g}, {min(found)} → {max(found)}"
            for name, found in points.items()
        )
        return Picture(figure, label("ch3_noise_alt", listed=listed))


def average_later(ends, theory, best):
    """Where training ends when parameters are averaged every so many steps: {every: end}.

    theory: {every: end}, the fixed points; best: where synchronous SGD ends.
    """
    with styled():
        figure, axes = new_figure()
        axes.plot(list(theory), list(theory.values()), color=THEORY, label=label("ch3_theory"))
        axes.plot(list(ends), list(ends.values()), "o", color=rank_colour(0), label=label("measured"))
        axes.axhline(best, color=rank_colour(2), linestyle="--", label=label("ch3_best", best=best))
        axes.set(xscale="log", xlabel=label("ch3_every"), ylabel=label("ch3_end"))
        axes.set_xticks(list(ends), [str(every) for every in ends])
        axes.minorticks_off()
        axes.set_title(label("ch3_later_title"))
        axes.legend()
        listed = ", ".join(f"{every}: {end:.4g}" for every, end in ends.items())
        return Picture(figure, label("ch3_later_alt", listed=listed, best=best))
