"""Pictures of the masked-language model: one process against several, and a longer run against guessing."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled
from course_lib.pictures.wording import number_text

MARKS = "osD^"


def same_curve(losses, other, name):
    """Loss of each update. losses: {K: losses}, K = 1 as a line; other: those of a run called `name`."""
    alone = np.array(losses[1])
    several = {ranks: np.array(each) for ranks, each in losses.items() if ranks != 1}
    gap = max(float(np.max(np.abs(each / alone - 1))) for each in several.values())
    apart = float(np.max(np.abs(np.divide(other, alone) - 1)))
    with styled():
        figure, axes = new_figure(height=4.2)
        steps = np.arange(1, len(alone) + 1)
        axes.plot(steps, alone, color=THEORY, label=label("ch9_one_process"))
        for number, (ranks, each) in enumerate(several.items()):
            shown = slice(number, None, 2 * len(several))
            style = {"color": rank_colour(number), "marker": MARKS[number], "linestyle": ""}
            axes.plot(steps[shown], each[shown], label=label("ch9_together", ranks=ranks), **style)
        axes.plot(steps, other, "--", color=rank_colour(5), linewidth=1.2, label=name)
        axes.set(xlabel=label("ch9_update"), ylabel=label("ch9_nats"))
        axes.set_title(label("ch9_same_title"))
        axes.legend()
        bound = next(bound for bound in (1e-9, 1e-6, 1e-4, 1e-2, np.inf) if gap < bound)
        words = {"first": alone[0], "last": alone[-1], "bound": bound, "apart": apart, "name": name}
        return Picture(figure, label("ch9_same_alt", ranks=", ".join(map(str, several)), **words))


def longer_run(result, unigram):
    """Loss of each update and, held out, at each look, of an MlmResult; unigram: of who knows frequencies."""
    looks, held_out = zip(*result.held_out, strict=True)
    losses = np.array(result.losses)
    with styled():
        figure, axes = new_figure(height=4)
        steps = result.first_step + np.arange(1, len(losses) + 1)
        axes.plot(steps, losses, color=rank_colour(4), linewidth=0.8, label=label("ch9_training"))
        axes.plot(looks, held_out, "o-", color=rank_colour(0), label=label("ch9_held_out"))
        axes.axhline(unigram, color=THEORY, linestyle="--", label=label("ch9_unigram"))
        axes.set(xlabel=label("ch9_update"), ylabel=label("ch9_nats"), ylim=(0, None))
        axes.set_title(label("ch9_longer_title", loss=held_out[-1], unigram=unigram))
        axes.legend()
        listed = "; ".join(f"{look}: {number_text(loss)}" for look, loss in result.held_out)
        return Picture(figure, label("ch9_longer_alt", unigram=unigram, listed=listed))
