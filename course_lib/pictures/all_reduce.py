"""Pictures of all-reduces: the ring round by round, bytes against the bound, times against size and K."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, ink_over, rank_colour, styled
from course_lib.pictures.wording import bytes_text, seconds_text

MARKS = "osD^vP"
ALGORITHMS = ("ring", "halving_doubling", "tree", "parameter_server", "naive", "gloo")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), "-")


def _look(name):
    """Colour and mark of an algorithm, the same in every figure."""
    number = ALGORITHMS.index(name)
    return {"color": rank_colour(number), "marker": MARKS[number]}


def ring_states(ranks):
    """How many ranks' numbers are in each chunk: array (rounds + 1, ranks, chunks), and the receives.

    The receives: one (rank, chunk) a rank and round. The first K-1 rounds add, the others replace.
    """
    held = np.ones((ranks, ranks), dtype=int)
    states, receives = [held.copy()], []
    for turn in range(2 * (ranks - 1)):
        adding = turn < ranks - 1
        moves = [
            ((rank + 1) % ranks, (rank - turn) % ranks, held[rank, (rank - turn) % ranks])
            for rank in range(ranks)
        ]
        for target, chunk, parts in moves:
            held[target, chunk] = held[target, chunk] * adding + parts
        states.append(held.copy())
        receives.append(sorted((target, chunk) for target, chunk, _ in moves))
    return np.array(states), receives


def ring_rounds(ranks=4):
    """A grid of ranks and chunks after each round; what has just arrived is framed. 2 to 4 ranks."""
    states, receives = ring_states(ranks)
    with styled():
        figure, grid = new_figure(2, ranks, height=4.7)
        places = [*grid[0], *grid[1][1:]]
        for turn, (axes, state) in enumerate(zip(places, states, strict=True)):
            _panel(axes, state, receives[turn - 1] if turn else [], ranks)
            axes.set_title(label("ch5_round", turn=turn) if turn else label("ch5_start"))
        _key(grid[1][0], ranks)
        for axes in (grid[0][0], places[ranks]):
            axes.set_ylabel(label("ch5_rank"))
        for axes in places:
            axes.set_xlabel(label("ch5_chunk"))
        title = label("ch5_rounds_title", ranks=ranks, half=ranks - 1, all=2 * (ranks - 1))
        figure.suptitle(title, x=0.01, ha="left", fontsize=12)
        return Picture(figure, label("ch5_rounds_alt", ranks=ranks, half=ranks - 1, all=2 * (ranks - 1)))


def _panel(axes, state, received, ranks):
    image = axes.imshow(state, cmap="cividis_r", vmin=0, vmax=ranks)
    for (rank, chunk), parts in np.ndenumerate(state):
        axes.text(chunk, rank, parts, ha="center", va="center", color=ink_over(image, parts))
    for rank, chunk in received:
        xs, ys = np.array([-1, 1, 1, -1, -1]) * 0.44 + chunk, np.array([-1, -1, 1, 1, -1]) * 0.44 + rank
        axes.plot(xs, ys, color="#D55E00", linewidth=2.4)
    axes.set_xticks(range(ranks))
    axes.set_yticks(range(ranks))
    axes.grid(visible=False)


def _key(axes, ranks):
    axes.axis("off")
    text = label("ch5_key", ranks=ranks)
    axes.text(-0.02, 0.5, text, transform=axes.transAxes, va="center", size=9)


def busiest_bytes(run, nbytes):
    """The most that one rank sends in `run`, in multiples of `nbytes`."""
    sent = np.zeros(len(run.values))
    for message in run.messages:
        sent[message.source] += message.nbytes
    return float(sent.max() / nbytes)


def against_bound(ranks, sent, bound):
    """What the busiest rank sends, in multiples of M: {algorithm: one a number of ranks}, and the bound."""
    with styled():
        figure, axes = new_figure()
        axes.plot(ranks, bound, color=THEORY, label=label("ch5_bound"))
        for number, (name, multiples) in enumerate(sent.items()):
            style = {"linestyle": "", "markersize": 10 - 2 * number}  # one inside the other
            axes.plot(ranks, multiples, label=label(f"ch5_{name}"), **_look(name), **style)
        axes.set(xlabel=label("ch5_workers_axis"), ylabel=label("ch5_multiples"), yscale="log")
        _plain_ticks(axes.yaxis, [1, 2, 4, 8, 16, 32])
        axes.set_title(label("ch5_bound_title"))
        axes.legend()
        listed = "; ".join(f"{label('ch5_' + name)} {each[-1]:.3g}" for name, each in sent.items())
        return Picture(figure, label("ch5_bound_alt", most=max(ranks), listed=listed, bound=bound[-1]))


def ring_scaling(ranks, curves, points):
    """Ring time in units of 2M/B: {M: one a number of ranks} as lines, {M: (ranks, values)} as points."""
    with styled():
        figure, axes = new_figure()
        for number, (nbytes, values) in enumerate(curves.items()):
            style = {"color": rank_colour(number), "linestyle": LINES[number % len(LINES)]}
            axes.plot(ranks, values, label=bytes_text(nbytes), **style)
        for number, nbytes in enumerate(curves):
            if nbytes in points:
                axes.plot(
                    *points[nbytes], MARKS[number], color=rank_colour(number), label="_" + label("simulated")
                )
        axes.axhline(1, color=THEORY, linewidth=1, label=label("ch5_limit"))
        axes.set(xscale="log", yscale="log", xlabel=label("ch5_workers_axis"), ylabel=label("ch5_in_units"))
        _plain_ticks(axes.xaxis, [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])
        _plain_ticks(axes.yaxis, [0.5, 1, 4, 16, 64, 256, 1024])
        axes.set_title(label("ch5_scaling_title"))
        axes.legend()
        listed = "; ".join(f"{bytes_text(nbytes)} {values[-1]:.3g}" for nbytes, values in curves.items())
        return Picture(figure, label("ch5_scaling_alt", most=max(ranks), listed=listed))


def times_against_size(sizes, curves, points, crossovers):
    """Time against bytes, {algorithm: seconds}: laws as lines, runs as points; crossovers with the ring."""
    with styled():
        figure, axes = new_figure(height=4.2)
        _families(axes, sizes, curves, points)
        for name, nbytes in crossovers.items():
            axes.axvline(nbytes, color=_look(name)["color"], linestyle=":", linewidth=1.2)
        axes.set(xscale="log", yscale="log", xlabel=label("ch5_size"), ylabel=label("ch5_time", unit="ms"))
        axes.set_title(label("ch5_size_title"))
        axes.legend(fontsize=9)
        listed = "; ".join(f"{label('ch5_' + name)} {bytes_text(size)}" for name, size in crossovers.items())
        return Picture(figure, label("ch5_size_alt", listed=listed))


def times_against_ranks(ranks, curves, points):
    """Time against the number of ranks, {algorithm: seconds}: laws as lines, runs as points."""
    with styled():
        figure, axes = new_figure(height=4.2)
        _families(axes, ranks, curves, points)
        axes.set(xlabel=label("ch5_workers_axis"), yscale="log", ylabel=label("ch5_time", unit="ms"))
        _plain_ticks(axes.yaxis, [1, 2, 5, 10, 20, 50, 100])
        axes.set_title(label("ch5_ranks_title"))
        axes.legend(fontsize=9)
        listed = "; ".join(
            f"{label('ch5_' + name)} {seconds_text(float(each[-1]))}" for name, (_, each) in points.items()
        )
        return Picture(figure, label("ch5_ranks_alt", most=max(ranks), listed=listed))


def _families(axes, xs, curves, points):
    """Points for each algorithm, and a line for each that has a law; milliseconds."""
    for name in dict.fromkeys([*points, *curves]):
        text = label(f"ch5_{name}")
        if name in curves:
            style = {"color": _look(name)["color"], "linestyle": LINES[ALGORITHMS.index(name)]}
            axes.plot(xs, np.multiply(curves[name], 1e3), label=text, **style)
            text = "_" + text
        if name in points:
            places, measured = points[name]
            axes.plot(places, np.multiply(measured, 1e3), linestyle="", label=text, **_look(name))


def fitted(sizes, seconds, law, used):
    """Measured times against bytes, and the law fitted to those `used` (booleans); the others are hollow."""
    sizes, seconds, used = np.asarray(sizes), np.asarray(seconds), np.asarray(used)
    off = np.abs(np.asarray(law)[~used] / seconds[~used] - 1)
    with styled():
        figure, axes = new_figure()
        axes.plot(sizes, np.multiply(law, 1e3), color=THEORY, label=label("ch5_fit"))
        axes.plot(sizes[used], 1e3 * seconds[used], "o", color=rank_colour(0), label=label("ch5_used"))
        axes.plot(
            sizes[~used],
            1e3 * seconds[~used],
            "s",
            color=rank_colour(5),
            fillstyle="none",
            markersize=8,
            label=label("ch5_predicted"),
        )
        axes.set(xscale="log", yscale="log", xlabel=label("ch5_size"), ylabel=label("ch5_time", unit="ms"))
        _plain_ticks(axes.yaxis, [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500])
        axes.set_title(label("ch5_fit_title", off=float(np.median(off))))
        axes.legend()
        alt = label("ch5_fit_alt", count=len(sizes), off=float(np.median(off)), worst=float(off.max()))
        return Picture(figure, alt)


def lab_ratios(recording):
    """The network lab: measured time divided by its law, against bytes; the share of headers as a line."""
    groups = {}
    for row in recording["times"]:
        groups.setdefault((row["algorithm"], row["ranks"]), []).append(
            (row["nbytes"] / 1e6, row["seconds"] / row["predicted"])
        )
    wire = np.mean([row["wire_bytes"] / row["payload_bytes"] for row in recording["wire"]])
    with styled():
        figure, axes = new_figure()
        axes.axhline(1, color=THEORY, label=label("ch5_lab_law"))
        axes.axhline(wire, color=THEORY, linestyle="--", label=label("ch5_lab_wire", share=wire - 1))
        for number, ((name, ranks), pairs) in enumerate(groups.items()):
            text = label("ch5_lab_hosts", name=label(f"ch5_{name}"), ranks=ranks)
            sizes, ratios = np.array(pairs).T
            beside = 1.06 ** (number - len(groups) / 2 + 0.5)  # side by side, or some would hide others
            style = {"linestyle": "", "markersize": 8, "fillstyle": "none" if ranks == 2 else "full"}
            axes.plot(sizes * beside, ratios, label=text, **_look(name), **style)
        axes.set(xscale="log", xlabel=label("ch5_megabytes"), ylabel=label("ch5_lab_ratio"))
        _plain_ticks(axes.xaxis, sorted({nbytes for pairs in groups.values() for nbytes, _ in pairs}))
        ratios = [ratio for pairs in groups.values() for _, ratio in pairs]
        axes.set_ylim(min(0.9, min(ratios) - 0.05), max(ratios) + 0.1)
        axes.set_title(label("ch5_lab_title", low=min(ratios), high=max(ratios)))
        figure.legend(loc="outside lower center", ncols=2)
        listed = "; ".join(
            f"{label('ch5_' + name)} on {ranks} hosts " + ", ".join(f"{ratio:.2f}" for _, ratio in pairs)
            for (name, ranks), pairs in groups.items()
        )
        return Picture(figure, label("ch5_lab_alt", listed=listed, share=wire - 1, date=recording["date"]))


def _plain_ticks(axis, places):
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    axis.set_major_locator(FixedLocator(places))  # those outside the axis do not show
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
