"""Pictures of click models: AUC pass by pass, and the loss of those who wait and those who do not."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled

MARKS, LINES = "osD^", ("-", "--", "-.", ":")


def auc_by_pass(results):
    """Held-out AUC before the first pass and after each: {name: ClicksResult}, beside the best possible."""
    best = next(iter(results.values())).best_auc
    with styled():
        figure, axes = new_figure(height=4)
        for number, (name, result) in enumerate(results.items()):
            style = {"color": rank_colour(number), "marker": MARKS[number], "linestyle": LINES[number]}
            axes.plot(range(len(result.aucs)), result.aucs, label=name, **style)
        axes.axhline(best, color=THEORY, linewidth=1.2, label=label("ch9_best"))
        passes = range(max(len(result.aucs) for result in results.values()))
        axes.set_xticks(passes, map(str, passes))
        axes.set(xlabel=label("epoch"), ylabel=label("ch9_auc"))
        closest = max(results, key=lambda name: results[name].auc)
        gap = best - results[closest].auc
        axes.set_title(label("ch9_auc_title", name=closest, gap=gap))
        axes.legend()
        listed = "; ".join(f"{name}: {result.auc:.3f}" for name, result in results.items())
        return Picture(figure, label("ch9_auc_alt", best=best, listed=listed))


def jitter(curves):
    """Loss against seconds: {name: (seconds, losses)}; a point for as many gradients as there are workers."""
    with styled():
        figure, axes = new_figure(height=4.4)
        for number, (name, (seconds, losses)) in enumerate(curves.items()):
            style = {"color": rank_colour((0, 2, 5, 3)[number]), "linestyle": ("-", (0, (4, 1)))[number == 1]}
            thin = np.ptp(losses[len(losses) // 2 :]) > 0.03  # one that jitters covers the others
            axes.plot(seconds, losses, linewidth=0.8 if thin else 1.8, label=name, **style)
        axes.set(xlabel=label("ch9_seconds"), ylabel=label("ch9_click_loss"))
        axes.set_title(label("ch9_jitter_title"))
        axes.legend()
        listed = "; ".join(
            label("ch9_jitter_one", name=name, seconds=seconds[-1], low=half.min(), high=half.max())
            for name, (seconds, losses) in curves.items()
            for half in [np.asarray(losses)[len(losses) // 2 :]]
        )
        return Picture(figure, label("ch9_jitter_alt", listed=listed))
