"""The ways to run SGD side by side: who computes and who waits, and the loss by two counts."""

import math

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import PHASE_COLOURS, QUIET, THEORY, rank_colour, styled
from course_lib.pictures.wording import number_text, percent_text, seconds_text
from course_lib.sgd.ways import SINGLE

ROUNDS = 3  # gradients a worker that the lanes show
LOWEST, HIGHEST = 1e-6, 100.0  # what the loss axis shows at most, in losses at the start
GAP = 1.5  # lanes left free between two ways
# A way's colour (a rank's), dashes and marker: told apart by each of them alone.
STYLES = {
    "synchronous": (0, (), "o"),
    "asynchronous": (5, (7, 4), "s"),
    "stale_synchronous": (2, (2, 3), "^"),
    "backup": (6, (9, 3, 2, 3), "D"),
    "local": (3, (12, 4), "X"),
}


def window(outcomes):
    """How many seconds the lanes show: until every way has used ROUNDS gradients a worker."""
    return max(outcome.seconds_of(ROUNDS) for outcome in outcomes)


def loss_limits(outcomes, target):
    """(low, high) of the loss axis: powers of ten around what there is, no further than is of use."""
    losses = np.concatenate([[target], *(outcome.losses for outcome in outcomes)])
    low, high = np.clip([0.999 * losses.min(), losses.max()], LOWEST, HIGHEST)
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def side_by_side(outcomes, pinned, target, axis, setting, result):
    """Lanes above, the loss against `axis` and against seconds below.

    outcomes: Outcomes of different ways. pinned: [(letter, Outcome)], to compare with. setting, result: in
    words.
    """
    shown = window(outcomes)
    with styled():
        figure, (lanes, below) = new_figure(2, height=7.2, height_ratios=(1.25, 1))
        _draw_lanes(lanes, outcomes, shown)
        halves = below.get_subplotspec().subgridspec(1, 2)
        below.remove()
        left, right = (figure.add_subplot(half) for half in halves)
        limits = loss_limits([*outcomes, *(outcome for _, outcome in pinned)], target)
        for panel, against in ((left, axis), (right, "seconds")):
            _draw_losses(panel, outcomes, pinned, target, against, limits)
        left.set(ylabel=label("ways_loss"), title=_who_is_first(outcomes, target))
        right.tick_params(labelleft=False)
        handles, names = left.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=3)
        names = ", ".join(label(f"way_{outcome.way}") for outcome in outcomes)
        said = {"ways": names, "window": number_text(shown), "axis": label(f"ways_against_{axis}")}
        return Picture(figure, label("ways_alt", **said, setting=setting, result=result))


def _draw_lanes(axes, outcomes, shown):
    place, names, middles = 0, [], []
    for outcome in outcomes:
        lanes = place + np.arange(len(outcome.lanes))
        bars = [(lane, *bar) for lane, row in zip(lanes, outcome.lanes, strict=True) for bar in row]
        bars = [bar for bar in bars if bar[1] < shown]
        names.append(label(f"way_short_{outcome.way}"))
        middles.append((lanes[0] + lanes[-1]) / 2)
        waits = {"color": QUIET, "linewidth": 0.8, "zorder": 0.9, "label": label("ways_waits")}
        axes.hlines(lanes, 0, min(shown, outcome.seconds), **waits)  # behind what is computed
        for late, name in ((False, "ways_computes"), (True, "ways_late")):
            _draw_bars(axes, [bar for bar in bars if bar[3] == late], late, label(name))
        _draw_updates(axes, outcome, lanes)
        place = lanes[-1] + 1 + GAP
    axes.set(xlim=(0, shown), ylim=(place - GAP - 0.2, -0.8), xlabel=label("ways_seconds"))
    axes.set_yticks(middles, names)
    axes.set_title(_who_waits(outcomes))
    axes.grid(visible=False, axis="y")
    handles, names = axes.get_legend_handles_labels()
    once = dict(zip(names, handles, strict=True))  # each kind once, not once a way
    below = {"loc": "upper center", "bbox_to_anchor": (0.45, -0.14), "borderaxespad": 0}
    axes.legend(once.values(), once, ncols=4, handlelength=1.4, **below)


def _draw_bars(axes, bars, late, name):
    if not bars:
        return
    colour = PHASE_COLOURS["compute"]
    axes.barh(
        [lane for lane, *_ in bars],
        [stop - start for _, start, stop, _ in bars],
        left=[start for _, start, *_ in bars],
        height=0.76,
        color="white" if late else colour,  # hollow: nothing came of it
        edgecolor=colour if late else "white",
        linewidth=0.8 if late else 0.4,
        label=name,
    )


def _draw_updates(axes, outcome, lanes):
    """A line through all lanes for an update of all, or, for one gradient's, through its worker's."""
    history, style = outcome.history, {"color": "black", "linewidth": 1.2, "label": label("ways_update")}
    if outcome.way in SINGLE:
        middles = lanes[0] + history.sources - 1
        axes.vlines(history.seconds, middles - 0.5, middles + 0.5, **style)
    else:
        axes.vlines(history.seconds, lanes[0] - 0.8, lanes[-1] + 0.8, **style)


def _draw_losses(axes, outcomes, pinned, target, against, limits):
    everything = [(None, outcome) for outcome in outcomes] + list(pinned)
    for letter, outcome in everything:
        colour, dashes, marker = STYLES[outcome.way]
        name = label(f"way_{outcome.way}") if letter is None else f"{letter}: {label(f'way_{outcome.way}')}"
        axes.plot(
            outcome.along(against),
            np.clip(outcome.losses, *limits),
            color=rank_colour(colour),
            linestyle=(0, dashes) if dashes else "-",
            linewidth=1.8 if letter is None else 0.9,
            marker=marker if letter is None else f"${letter}$",
            markevery=max(1, len(outcome.history) // 6),
            label=name,
        )
    axes.axhline(target, color=THEORY, linestyle=":", label=label("ways_target", target=percent_text(target)))
    axes.set(yscale="log", ylim=limits, xlabel=label(f"ways_against_{against}"))
    axes.set_xlim(left=0)


def _who_waits(outcomes):
    least, *_, most = sorted([outcomes[0], *outcomes], key=lambda outcome: outcome.waiting)
    said = {}
    for name, outcome in (("least", least), ("most", most)):
        said[name] = percent_text(outcome.waiting)
        said[f"{name}_way"] = label(f"way_short_{outcome.way}")
    return label("ways_title" if least is not most else "ways_title_one", **said)


def _who_is_first(outcomes, target):
    there = [outcome for outcome in outcomes if outcome.reached(target) is not None]
    if not there:
        return label("ways_losses_title_none", target=percent_text(target))
    first = min(there, key=lambda outcome: outcome.seconds_to(target))
    seconds = seconds_text(first.seconds_to(target))
    way = label(f"way_short_{first.way}")
    return label("ways_losses_title", way=way, target=percent_text(target), seconds=seconds)
