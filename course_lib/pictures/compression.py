"""Pictures of compressed gradients: bytes on the wire, steps on links, what top-1 loses, loss for bytes."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled
from course_lib.pictures.wording import bandwidth_text, bytes_text

MARKS, LINES = "osD^vP", ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))


def wire_bytes(savings, workers, laws):
    """Bytes that each worker sends, in those of the float32 ring, against the number of workers.

    savings: a Savings, counted from messages. laws: {method: the same as a share, for each of `workers`}.
    """
    with styled():
        figure, axes = new_figure(height=4.4)
        axes.axhline(1, color=THEORY, linewidth=1.2, label=label("ch7_float32_ring"))
        for number, row in enumerate(savings.rows):
            colour, line = rank_colour(number), LINES[number % len(LINES)]
            axes.plot(workers, laws[row.method], color=colour, linestyle=line, label="_" + row.method)
            points = {"color": colour, "linestyle": "", "marker": MARKS[number], "markersize": 7}
            axes.plot(savings.ranks, np.subtract(1, row.wire), label="_" + row.method, **points)
            axes.plot([], [], label=row.method, **{**points, "linestyle": line})
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks := [2**n for n in range(1, int(max(workers)).bit_length())], map(str, ticks))
        axes.set(xlabel=label("ch7_workers"), ylabel=label("ch7_wire_axis"), ylim=(0, None))
        axes.set_title(label("ch7_wire_title"))
        figure.legend(loc="outside lower center", ncols=2, fontsize=10)
        most = max(savings.ranks)
        listed = "; ".join(f"{row.method}: {1 - row.wire[-1]:.2f}" for row in savings.rows)
        return Picture(figure, label("ch7_wire_alt", most=most, listed=listed))


def step_on_links(bandwidths, laws, points=None, *, plain):
    """Time of a step, in that of `plain` on the same link, against the bandwidth.

    laws: {method: seconds, one for each bandwidth}. points: {method: {bandwidth: seconds}}, simulated,
    or None.
    """
    with styled():
        figure, axes = new_figure(height=4.2)
        for number, (name, seconds) in enumerate(laws.items()):
            colour, line = rank_colour(number), LINES[number % len(LINES)]
            axes.plot(bandwidths, np.divide(seconds, laws[plain]), line, color=colour, label="_" + name)
            style = {"color": colour}
            if points:
                links = list(points[name])
                ratios = [points[name][link] / points[plain][link] for link in links]
                style |= {"linestyle": "", "marker": MARKS[number], "markersize": 7}
                axes.plot(links, ratios, label="_" + name, **style)
            axes.plot([], [], label=name, **{**style, "linestyle": line})
        axes.set(xscale="log", xlabel=label("ch7_link_axis"), ylabel=label("ch7_step_axis"), ylim=(0, None))
        axes.set_title(label("ch7_link_title"))
        axes.legend(fontsize=10)
        ends = [
            label(
                "ch7_link_alt_one",
                name=name,
                slow=seconds[0] / laws[plain][0],
                fast=seconds[-1] / laws[plain][-1],
            )
            for name, seconds in laws.items()
            if name != plain
        ]
        words = {
            "slow": bandwidth_text(bandwidths[0]),
            "fast": bandwidth_text(bandwidths[-1]),
            "listed": "; ".join(ends),
            "points": label("ch7_link_alt_points") if points else "",
        }
        return Picture(figure, label("ch7_link_alt", **words))


def distances(paths, growth):
    """Distance from the minimum against step: {name: (steps + 1,)}; growth: in a step, of the first's law."""
    with styled():
        figure, axes = new_figure()
        first, *_ = paths.values()
        steps = np.arange(len(first))
        axes.plot(steps, first[0] * growth**steps, color=THEORY, label=label("theory"))
        for number, (name, path) in enumerate(paths.items()):
            shown = slice(20 * number, None, 60)
            style = {"color": rank_colour(number), "marker": MARKS[number], "linestyle": ""}
            axes.plot(np.arange(len(path))[shown], path[shown], label=name, **style)
        axes.set(yscale="log", xlabel=label("step"), ylabel=label("ch7_distance_axis"))
        axes.set_title(label("ch7_distance_title"))
        axes.legend()
        listed = "; ".join(f"{name}: {path[-1]:.2g}" for name, path in paths.items())
        return Picture(figure, label("ch7_distance_alt", start=first[0], listed=listed))


def loss_for_bytes(ends):
    """Loss at the end against the bytes that a worker sent for it; an arrow is what error feedback does.

    ends: {(name, with feedback or not): (bytes, loss, …)}.
    """
    names = sorted({name for name, _ in ends}, key=lambda name: (-ends[name, False][0], name))
    with styled():
        figure, axes = new_figure(height=4.2)
        for number, name in enumerate(names):
            _draw_ends(axes, number, name, ends.get((name, False)), ends.get((name, True)))
        style = {"linestyle": "", "color": THEORY, "markersize": 8}
        axes.plot([], [], "o", markerfacecolor="white", label=label("ch7_without_feedback"), **style)
        axes.plot([], [], "D", label=label("ch7_with_feedback"), **style)
        axes.set(xscale="log", xlabel=label("ch7_sent_axis"), ylabel=label("ch7_loss_axis"))
        axes.set_ylim(0, 1.15 * max(loss for _, loss, *_ in ends.values()))
        axes.margins(x=0.12)
        axes.set_title(label("ch7_sent_title"))
        axes.legend()
        return Picture(
            figure, label("ch7_sent_alt", listed="; ".join(_in_words(name, ends) for name in names))
        )


def _draw_ends(axes, number, name, without, owed):
    colour, nbytes = rank_colour(number), without[0] / 1e6
    face = "white" if owed else colour
    axes.plot([nbytes], [without[1]], "o", color=colour, markerfacecolor=face, markersize=8, label="_" + name)
    if owed:
        axes.plot([nbytes], [owed[1]], "D", color=colour, markersize=8, label="_" + name)
        arrow = {"arrowstyle": "->", "color": colour, "shrinkA": 6, "shrinkB": 6}
        axes.annotate("", xy=(nbytes, owed[1]), xytext=(nbytes, without[1]), arrowprops=arrow)
    offset = 9 if owed or number % 2 else -18  # names of neighbours are not to overlap
    place = {"xytext": (0, offset), "textcoords": "offset points", "ha": "center", "fontsize": 9}
    axes.annotate(name, (nbytes, without[1]), **place)


def _in_words(name, ends):
    nbytes, loss, *_ = ends[name, False]
    losses = f"{loss:.2f}"
    if (name, True) in ends:
        losses = label("ch7_sent_both", without=loss, feedback=ends[name, True][1])
    return label("ch7_sent_alt_one", name=name, nbytes=bytes_text(nbytes), losses=losses)
