"""Pictures of what waiting costs: the barrier, the timelines without it, slack, one server's port."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import bar_look, rank_colour, styled

MARKS, LINES = "osD^", ("-", "--", "-.", ":")


def barrier_costs(theory, points):
    """Mean seconds of a synchronous step against the number of workers; a gradient takes 1 s on average.

    theory, points: {name: {workers: seconds}}; a name without theory has points only.
    """
    most = max(max(found) for found in points.values())
    with styled():
        figure, axes = new_figure(height=4.2)
        _families(axes, theory, points)
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks := [2**n for n in range(1, most.bit_length())], map(str, ticks))
        axes.set(xlabel=label("ch6_workers"), ylabel=label("ch6_step"), ylim=(0, None))
        axes.set_title(label("ch6_barrier_title"))
        listed = "; ".join(f"{name}: {found[max(found)]:.3g}" for name, found in points.items())
        return Picture(figure, label("ch6_barrier_alt", most=most, listed=listed))


def who_waits(runs, until):
    """Lanes of workers up to `until` seconds, one panel a run: who computes, who waits, what lands when.

    runs: {name: Run of a worker of course_lib.sgd}; a rank 0 that only serves has no lane. A number beside an
    update is its staleness.
    """
    workers = max(_worker_ranks(run)[-1] for run in runs.values())
    with styled():
        figure, panels = new_figure(len(runs), 1, height=1.0 + 0.38 * (workers + 3) * len(runs), sharex=True)
        for number, (axes, (name, run)) in enumerate(zip(panels, runs.items(), strict=True)):
            _lanes(axes, run, until)
            axes.set_title(name, fontsize=11)
            if number == 0:
                figure.legend(loc="outside lower center", ncols=3)
        axes.set_xlabel(label("seconds", unit="s"))
        figure.suptitle(label("ch6_lanes_title"), x=0.01, ha="left", fontsize=12)
        counts = {name: int(np.sum(run.values[0].seconds <= until)) for name, run in runs.items()}
        listed = "; ".join(f"{name}: {count}" for name, count in counts.items())
        return Picture(figure, label("ch6_lanes_alt", until=until, listed=listed))


def _worker_ranks(run):
    """The ranks that compute, in order."""
    return sorted({span.rank for span in run.spans if span.kind == "compute"})


def _lanes(axes, run, until):
    ranks = _worker_ranks(run)
    for kind in ("compute", "wait"):
        spans = [
            span
            for span in run.spans
            if span.kind == kind and span.rank in ranks and span.start < until and span.stop > span.start
        ]
        axes.barh(
            [ranks.index(span.rank) for span in spans],
            [min(span.stop, until) - span.start for span in spans],
            left=[span.start for span in spans],
            height=0.72,
            linewidth=0.8 if kind == "compute" else 0.4,
            label=label(kind),
            **bar_look(kind),
        )
    history = run.values[0]
    landed = history.seconds <= until
    times, late = history.seconds[landed], history.staleness[landed]
    axes.plot(times, np.full(len(times), len(ranks)), "v", color="black", label=label("ch6_update"))
    _numbers(axes, times, late, len(ranks) + 0.7, 0.03 * until)
    names = [label("ch6_worker", number=number + 1) for number in range(len(ranks))]
    axes.set_yticks(range(len(ranks) + 1), [*names, label("ch6_updates")])
    axes.set(xlim=(0, 1.01 * until), ylim=(len(ranks) + 2.3, -0.6))
    axes.grid(visible=False, axis="y")


def _numbers(axes, times, late, row, width):
    """Each staleness below its update; in a lower row where two would overlap."""
    last = [-width] * 3  # where the last number of each row stands
    for time, staleness in zip(times, late, strict=True):
        place = next((place for place, taken in enumerate(last) if time - taken >= width), 0)
        last[place] = time
        axes.annotate(str(staleness), (time, row + 0.6 * place), ha="center", va="center", size=9)


def staleness_shares(simulated, real):
    """How often each staleness occurs: {group: staleness of its updates}; bars simulated, points real."""
    with styled():
        figure, axes = new_figure()
        for number, (name, late) in enumerate(simulated.items()):
            text, colour = label("ch6_mean_of", name=name, mean=np.mean(late)), rank_colour(number)
            style = {"color": (colour, 0.6), "edgecolor": colour, "hatch": ("", "////")[number % 2]}
            axes.bar(*_shares(late), 0.8, label=text, **style)
            if name in real:
                text = label("ch6_real_of", name=name, mean=np.mean(real[name]))
                marker = MARKS[number % 4]
                axes.plot(
                    *_shares(real[name]), marker, color=colour, markeredgecolor="black", ls="", label=text
                )
        axes.set(xlabel=label("ch6_staleness"), ylabel=label("ch6_share"))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        means = [float(np.mean(late)) for late in simulated.values()]
        axes.set_title(label("ch6_shares_title", low=min(means), high=max(means)))
        axes.legend()
        listed = "; ".join(
            label("ch6_mean_of", name=name, mean=np.mean(late)) for name, late in simulated.items()
        )
        return Picture(figure, label("ch6_shares_alt", listed=listed))


def _shares(late):
    counts = np.bincount(late)
    places = np.flatnonzero(counts)
    return places, counts[places] / len(late)


def slack_costs(slacks, seconds, levels):
    """Seconds a round of K gradients takes against the slack: {name: seconds}, one for each of `slacks`.

    levels: {name: seconds} of what has no slack to choose, as lines.
    """
    names = [label("ch6_any") if np.isinf(slack) else f"{slack:g}" for slack in slacks]
    with styled():
        figure, axes = new_figure(height=4.2)
        for number, (name, level) in enumerate(levels.items()):
            axes.axhline(level, color=rank_colour(number), linestyle=LINES[number % 4], label=name)
        for number, (name, found) in enumerate(seconds.items()):
            style = {"color": rank_colour(number), "markersize": 7, "linestyle": "", "label": name}
            axes.plot(range(len(names)), found, MARKS[number % 4], **style)
        axes.set_xticks(range(len(names)), names)
        axes.set(xlabel=label("ch6_slack"), ylabel=label("ch6_round"), ylim=(0, None))
        axes.set_title(label("ch6_slack_title"))
        figure.legend(loc="outside lower center", ncols=2, fontsize=10)
        listed = "; ".join(
            f"{name}: " + ", ".join(f"{each:.2f}" for each in found) for name, found in seconds.items()
        )
        return Picture(figure, label("ch6_slack_alt", slacks=", ".join(names), listed=listed))


def rounds_on_a_link(theory, points, share):
    """Seconds of K gradients against K, {way: {workers: seconds}}, where sending one takes `share` s."""
    with styled():
        figure, axes = new_figure()
        _families(axes, theory, points)
        axes.set(xlabel=label("ch6_workers"), ylabel=label("ch6_round"), ylim=(0, None))
        axes.set_xticks(sorted({count for found in points.values() for count in found}))
        axes.set_title(label("ch6_link_title"))
        most = max(max(found) for found in points.values())
        listed = "; ".join(f"{name}: {found[most]:.3g} s" for name, found in points.items())
        return Picture(figure, label("ch6_link_alt", share=share, most=most, listed=listed))


def _families(axes, theory, points):
    """Points for each name, and a line for each that has a theory: {name: {x: y}}; with a legend."""
    handles = []
    for number, (name, found) in enumerate(points.items()):
        look = {"color": rank_colour(number), "markersize": 7}
        curve = theory.get(name, {})
        style = {"linestyle": LINES[number % 4], "label": "_" + label("ch6_law", name=name)}
        (line,) = axes.plot(list(curve), list(curve.values()), **look, **style)
        (dots,) = axes.plot(list(found), list(found.values()), MARKS[number % 4], ls="", label=name, **look)
        handles.append((line, dots) if curve else dots)
    axes.legend(handles, list(points), title=label("ch6_points_and_lines"), alignment="left")
