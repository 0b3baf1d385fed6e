"""Pictures of chapter 2: what a replica needs, and how speed grows with the number of workers."""

import numpy as np

from course_lib import laws
from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import QUIET, THEORY, rank_colour, styled

LINES = ("-", "--", "-.", ":")
MARKS = "osD^v"
HATCHES = ("", "..", "///", "\\\\\\", "xx")


def replica_memory(bytes_each, parameters, workers, capacity):
    """Bytes on each worker, for each number of workers: stacked bars, and a line at one GPU's memory.

    bytes_each: {part: bytes a parameter}; parameters: how many; capacity: bytes of one GPU.
    """
    total = sum(bytes_each.values()) * parameters
    names, bottom = [str(count) for count in workers], np.zeros(len(workers))
    with styled():
        figure, axes = new_figure(height=4.6)
        for number, (part, size) in enumerate(bytes_each.items()):
            height = np.full(len(workers), size * parameters / 1e9)
            style = {"color": rank_colour(number), "hatch": HATCHES[number % 5], "edgecolor": "white"}
            named = label("ch2_part", part=part, each=size)
            axes.bar(names, height, 0.6, bottom=bottom, label=named, **style)
            bottom = bottom + height
        one = label("ch2_capacity", size=capacity / 1e9)
        axes.axhline(capacity / 1e9, color=THEORY, linestyle="--", label=one)
        axes.set(xlabel=label("ch2_workers"), ylabel=label("ch2_gigabytes"), ylim=(0, 1.06 * total / 1e9))
        axes.set_title(label("ch2_memory_title", total=total / 1e9))
        axes.grid(visible=False, axis="x")
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles[::-1], names[::-1], loc="outside lower center", ncols=2, fontsize=10)
        listed = "; ".join(f"{part}: {size * parameters / 1e9:.4g} GB" for part, size in bytes_each.items())
        counts = ", ".join(map(str, workers))
        alt = label(
            "ch2_memory_alt", total=total / 1e9, listed=listed, counts=counts, capacity=capacity / 1e9
        )
        return Picture(figure, alt)


def amdahl_curves(shares, most=4096):
    """Speed-up against workers for several parallel shares below 1, each with its limit.

    A point marks where each curve reaches 90 % of the limit.
    """
    n = np.unique(np.geomspace(1, most, 200).astype(int))
    with styled():
        figure, axes = new_figure(height=4.8)
        _ideal(axes, n)
        for number, p in enumerate(shares):
            limit, enough = laws.amdahl_limit(p), laws.amdahl_workers(p)
            colour, named = rank_colour(number), label("ch2_share", p=p, limit=limit)
            axes.plot(n, laws.amdahl_speedup(p, n), LINES[number % 4], color=colour, label=named)
            axes.axhline(limit, color=colour, linewidth=0.8, label="_" + named)
            axes.plot([enough], [laws.amdahl_speedup(p, enough)], MARKS[number % 5], color=colour, label="_")
            axes.annotate(
                label("ch2_nine_tenths", n=enough),
                (enough, laws.amdahl_speedup(p, enough)),
                (4, -14),
                textcoords="offset points",
                size=9,
            )
        axes.set(xscale="log", yscale="log", xlabel=label("ch2_workers"), ylabel=label("ch2_speedup"))
        axes.set(ylim=(0.9, 2.2 * laws.amdahl_limit(max(shares))))
        _ticks(axes, [2**k for k in range(0, int(np.log2(most)) + 1, 2)], [1, 2, 5, 10, 20, 50, 100])
        axes.set_title(label("ch2_amdahl_title"))
        figure.legend(loc="outside lower center", ncols=2, fontsize=10)
        listed = "; ".join(
            label("ch2_share_alt", p=p, limit=laws.amdahl_limit(p), n=laws.amdahl_workers(p)) for p in shares
        )
        return Picture(figure, label("ch2_amdahl_alt", most=most, listed=listed))


def measured_speedups(measured):
    """Points of measured speed-up on Amdahl's curves: {name: {workers: speed-up}}, workers from 2.

    Each curve has the serial fraction that Karp and Flatt's formula finds in the last of its points; outside
    0 … 1, where noise may put it, there is none.
    """
    most = max(max(points) for points in measured.values())
    n, listed = np.arange(1, most + 1), []
    with styled():
        figure, axes = new_figure()
        _ideal(axes, n)
        for number, (name, points) in enumerate(measured.items()):
            workers, speedups = list(points), list(points.values())
            fraction = laws.karp_flatt(speedups[-1], workers[-1])
            lawful = 0 <= fraction <= 1  # else no curve of Amdahl's passes there
            curve = laws.amdahl_speedup(1 - fraction, n) if lawful else np.full(n.shape, np.nan)
            colour = rank_colour(number)
            named = label("ch2_fraction" if lawful else "ch2_no_curve", fraction=fraction)
            axes.plot(n, curve, LINES[number % 4], color=colour, linewidth=1.2, label=named)
            _points(axes, {1: 1, **points}, number, name, MARKS[number % 5])
            pairs = ", ".join(f"{speedup:.2f} on {count}" for count, speedup in points.items())
            listed.append(label("ch2_measured_alt_one", name=name, pairs=pairs, fraction=fraction))
        axes.set(xlabel=label("ch2_workers"), ylabel=label("ch2_speedup"), ylim=(0, None))
        axes.set_xticks(n)
        last, name = max((points[most], name) for name, points in measured.items() if most in points)
        named = name[:1].upper() + name[1:]
        axes.set_title(label("ch2_measured_title", name=named, most=most, speedup=last))
        axes.legend(loc="upper left")
        return Picture(figure, label("ch2_measured_alt", listed="; ".join(listed)))


def strong_and_weak(p, simulated, most=64):
    """Amdahl's and Gustafson's speed-up against workers for one p; simulated: {name: {workers: speed-up}}."""
    n = np.arange(1, most + 1)
    theory = {"ch2_weak": laws.gustafson_speedup(p, n), "ch2_strong": laws.amdahl_speedup(p, n)}
    with styled():
        figure, axes = new_figure()
        for number, (key, curve) in enumerate(theory.items()):
            axes.plot(n, curve, LINES[number], color=rank_colour(number), label=label(key))
            _points(axes, simulated[key.removeprefix("ch2_")], number, mark=MARKS[number])
        axes.set(xlabel=label("ch2_workers"), ylabel=label("ch2_speedup"), xlim=(0, most + 2), ylim=(0, None))
        ends = {"strong": theory["ch2_strong"][-1], "weak": theory["ch2_weak"][-1]}
        axes.set_title(label("ch2_weak_title", most=most, **ends))
        axes.legend(loc="upper left")
        return Picture(figure, label("ch2_weak_alt", p=p, most=most, **ends))


def ring_speedups(work, nbytes, bandwidth, latency, simulated):
    """Speed-up of a step with a ring all-reduce, with and without latency; simulated: {workers: speed-up}."""
    n = np.unique(np.geomspace(1, 2048, 240).astype(int))
    best = laws.best_ranks(work, nbytes, bandwidth, latency)
    limit = work * bandwidth / (2 * nbytes)
    top = laws.speedup_with_ring(work, nbytes, best, bandwidth, latency)
    with styled():
        figure, axes = new_figure(height=4.6)
        free = laws.speedup_with_ring(work, nbytes, n, bandwidth)
        real = laws.speedup_with_ring(work, nbytes, n, bandwidth, latency)
        axes.axhline(limit, color=THEORY, linewidth=0.9, label=label("ch2_ring_limit", limit=limit))
        axes.plot(n, free, "--", color=rank_colour(0), label=label("ch2_ring_free"))
        axes.plot(n, real, color=rank_colour(1), label=label("ch2_ring_latency", latency=latency * 1e6))
        _points(axes, simulated, 1)
        axes.axvline(best, color=rank_colour(5), linestyle=":", label=label("ch2_ring_best", best=best))
        axes.set(
            xscale="log", xlabel=label("ch2_workers"), ylabel=label("ch2_speedup"), ylim=(0, 1.12 * limit)
        )
        _ticks(axes, [1, 4, 16, 64, 256, 1024])
        axes.set_title(label("ch2_ring_title", best=best))
        figure.legend(loc="outside lower center", ncols=2, fontsize=10)
        return Picture(figure, label("ch2_ring_alt", best=best, top=top, limit=limit, end=real[-1]))


def slowest_of(simulated, most=256):
    """Mean time of the slowest of K exponential times, in means of one; simulated: {K: mean slowest}."""
    n = np.arange(1, most + 1)
    law = laws.expected_slowest(n)
    with styled():
        figure, axes = new_figure(height=3.4)
        axes.plot(n, law, color=THEORY, label=label("theory"))
        _points(axes, simulated, 0)
        axes.set(xscale="log", xlabel=label("ch2_workers"), ylabel=label("ch2_slowest"), ylim=(0, None))
        _ticks(axes, [4**k for k in range(5) if 4**k <= most])
        axes.set_title(label("ch2_slowest_title", most=most, slowest=law[-1]))
        axes.legend(loc="lower right")
        listed = ", ".join(f"{value:.2f} for {count}" for count, value in simulated.items())
        return Picture(figure, label("ch2_slowest_alt", listed=listed, most=most, slowest=law[-1]))


def _ideal(axes, n):
    """The line of a speed-up of n by n workers."""
    axes.plot(n, n, color=QUIET, linewidth=1, linestyle=(0, (1, 3)), label=label("ch2_ideal"))


def _points(axes, points, number, text=None, mark="o"):
    """{workers: value} as marks; text: their name, "simulated" if None."""
    xs, ys = list(points), list(points.values())
    text = label("ch2_simulated") if text is None else text
    axes.plot(xs, ys, mark, color=rank_colour(number), markersize=7, label=text)


def _ticks(axes, xs, ys=()):
    """Plain numbers at these places of logarithmic axes, nothing between; without `ys` that axis stays."""
    axes.set_xticks(xs, map(str, xs))
    if ys:
        axes.set_yticks(ys, map(str, ys))
    axes.minorticks_off()
