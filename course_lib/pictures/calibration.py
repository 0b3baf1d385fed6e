"""How good guesses of numbers are: the share within a factor."""

import numpy as np

from course_lib.calibration import share_within
from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import rank_colour, styled
from course_lib.progress import WITHIN

TYPICAL = (1.5, 2, 5)
LINES = ("-", "--", "-.")


def within_factor(found):
    """Share of guesses off by at most a factor: a Calibration's as points, three lawful learners as lines."""
    factors = np.sort(list(found.factors.values()))
    grid = np.geomspace(1, 32, 120)
    with styled():
        figure, axes = new_figure(height=3.6)
        for number, typical in enumerate(TYPICAL):
            name, colour = label("ch12_learner", factor=typical), rank_colour(number)
            axes.plot(grid, share_within(grid, typical), LINES[number], color=colour, label=name)
        title, points = label("ch12_within_none"), label("ch12_within_no_points")
        if len(factors):
            shares = np.arange(1, len(factors) + 1) / len(factors)
            name = label("ch12_yours", count=len(factors))
            shown = np.minimum(factors, grid[-1])
            axes.plot(shown, shares, "o", color=rank_colour(7), markersize=4, label=name)
            title = label("ch12_within_title", share=found.within(WITHIN), count=len(factors))
            points = label("ch12_within_points", count=len(factors), middle=found.middle)
        axes.set(xscale="log", xlabel=label("ch12_factor"), ylabel=label("ch12_share"), ylim=(0, 1.03))
        axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "≥ 32"])
        axes.minorticks_off()
        axes.set_title(title)
        axes.legend(loc="lower right")
        listed = ", ".join(f"{typical:g}" for typical in TYPICAL)
        return Picture(figure, label("ch12_within_alt", factors=listed, points=points))
