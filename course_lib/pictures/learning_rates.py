"""Pictures of learning rates: the loss in the end against the batch, and on the way there."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled

MARKS, LINES = "osD^", ("-", "--", "-.", ":")


def loss_against_batch(sweeps, guessing):
    """Loss in the end against the batch: a point a run, a line through the middle ones of each sweep.

    sweeps: {name: training.experiments.Sweep}. guessing: the loss of who knows nothing.
    """
    batches = sorted({int(batch) for sweep in sweeps.values() for batch in sweep.batches})
    with styled():
        figure, axes = new_figure(height=4.2)
        for number, (name, sweep) in enumerate(sweeps.items()):
            places = np.repeat(sweep.batches, sweep.losses.shape[1])
            style = {"color": rank_colour(number), "marker": MARKS[number], "markersize": 6}
            middle = np.median(sweep.losses, axis=1)
            axes.plot(
                sweep.batches, middle, LINES[number], color=style["color"], linewidth=1.2, label="_" + name
            )
            axes.plot(places, sweep.losses.ravel(), linestyle="", fillstyle="none", label="_" + name, **style)
            axes.plot([], [], linestyle=LINES[number], fillstyle="none", label=name, **style)
        axes.axhline(guessing, color=THEORY, linestyle=":", label=label("ch7_guessing"))
        axes.set_xscale("log", base=2)
        axes.set_xticks(batches, map(str, batches))
        axes.set(yscale="log", xlabel=label("ch7_batch_axis"), ylabel=label("ch7_end_axis"))
        axes.set_title(_finding(sweeps))
        axes.legend(fontsize=10)
        listed = "; ".join(_in_words(name, sweep) for name, sweep in sweeps.items())
        return Picture(figure, label("ch7_batch_alt", listed=listed))


def _finding(sweeps):
    """From which batch on each sweep fails, in all of its runs or some."""
    found = []
    for name, sweep in sweeps.items():
        fails = sweep.failed.any(axis=1)
        if fails.any():
            found.append(label("ch7_fails_from", name=name, batch=int(sweep.batches[fails.argmax()])))
    if not found:
        best = min(sweeps, key=lambda name: np.median(sweeps[name].losses[-1]))
        batch = max(int(sweep.batches[-1]) for sweep in sweeps.values())
        return label("ch7_never_fails", batch=batch, name=best)
    text = "; ".join(found)
    return text[0].upper() + text[1:]


def _in_words(name, sweep):
    middle = np.median(sweep.losses, axis=1)
    pairs = ", ".join(f"{batch:g}: {loss:.2g}" for batch, loss in zip(sweep.batches, middle, strict=True))
    return f"{name} {pairs}"


def loss_by_epoch(runs, epochs, guessing):
    """Mean loss of each epoch, a line a run: {name: [losses of all updates, one sequence a run]}."""
    with styled():
        figure, axes = new_figure()
        for number, (name, of_runs) in enumerate(runs.items()):
            for again, losses in enumerate(of_runs):
                means = np.reshape(losses, (epochs, -1)).mean(axis=1)
                style = {"color": rank_colour(number), "marker": MARKS[number], "markersize": 4}
                text = "_" + name if again else name
                axes.plot(np.arange(1, epochs + 1), means, LINES[number], linewidth=1.2, label=text, **style)
        axes.axhline(guessing, color=THEORY, linestyle=":", label=label("ch7_guessing"))
        axes.set(yscale="log", xlabel=label("epoch"), ylabel=label("ch7_epoch_axis"))
        axes.set_xticks(range(1, epochs + 1))
        last = {
            name: np.array(of_runs)[:, -len(of_runs[0]) // epochs :].mean(axis=1)
            for name, of_runs in runs.items()
        }
        counts = {name: f"{int(np.sum(ends < guessing))}/{len(ends)}" for name, ends in last.items()}
        listed = "; ".join(f"{name}: {count}" for name, count in counts.items())
        axes.set_title(label("ch7_epoch_title", listed=listed))
        axes.legend()
        listed = "; ".join(f"{name}: {ends.min():.2g} … {ends.max():.2g}" for name, ends in last.items())
        return Picture(figure, label("ch7_epoch_alt", listed=listed))
