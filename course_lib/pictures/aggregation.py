"""Pictures of gradient aggregation: the phases of a step, ways to one mean, messages and their number."""

import math
from itertools import count, groupby

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, bar_look, ink, ink_over, rank_colour, styled
from course_lib.pictures.traffic import bytes_between
from course_lib.pictures.wording import SIZES, TIMES, bytes_text, seconds_text, unit_of

STEP_PARTS = {  # each with the phase whose look it has
    "forward": "forward",
    "backward": "backward",
    "wait": "wait",
    "aggregate": "collective",
    "update": "update",
}
_OF_KIND = {"wait": "wait", "collective": "aggregate"}


def phases(run):
    """A lane a rank: forward, backward, wait, aggregate, update; of a worker whose steps are just that.

    Each step computes twice (forward, backward), calls one collective, and computes once (update). If the
    worker begins with a barrier, time counts from its end.
    """
    ranks, parts = len(run.values), step_parts(run)
    origin = min((span.stop for span in _first_barriers(run).values()), default=0.0)
    seconds = run.seconds - origin
    factor, unit = unit_of(seconds, TIMES)
    with styled():
        figure, axes = new_figure(height=1.4 + 0.36 * ranks)
        for name, phase in STEP_PARTS.items():
            shown = [part for part in parts if part[1] == name]
            if shown:
                lanes, _, starts, stops = zip(*shown, strict=True)
                axes.barh(
                    lanes,
                    np.subtract(stops, starts) / factor,
                    left=(np.array(starts) - origin) / factor,
                    height=0.72,
                    linewidth=0.4,
                    label=label(f"ch4_{name}"),
                    **bar_look(phase),
                )
        axes.set_yticks(range(ranks), [label("rank", rank=rank) for rank in range(ranks)])
        axes.set(
            xlabel=label("seconds", unit=unit),
            xlim=(0, 1.01 * seconds / factor),
            ylim=(ranks - 0.4, -0.6),
        )
        axes.grid(visible=False, axis="y")
        total = {
            name: sum(stop - start for _, part, start, stop in parts if part == name) for name in STEP_PARTS
        }
        wait = total["wait"] / (ranks * seconds)
        axes.set_title(label("ch4_phases_title", wait=wait, world=label(run.world)))
        figure.legend(loc="outside lower center", ncols=5, columnspacing=1.2, handlelength=1.6)
        listed = ", ".join(
            f"{label(f'ch4_{name}')} {seconds_text(took / ranks)}" for name, took in total.items() if took
        )
        alt = label(
            "ch4_phases_alt",
            ranks=ranks,
            world=label(run.world),
            seconds=seconds_text(seconds),
            listed=listed,
        )
        return Picture(figure, alt)


def _first_barriers(run):
    """{rank: span} of the barrier with which its worker began, if it did."""
    first = {span.rank: span for span in reversed(run.spans) if span.kind == "collective"}
    return {rank: span for rank, span in first.items() if span.label == "barrier"}


def step_parts(run):
    """(rank, phase, start, stop) for each phase of each step, in order of rank and start.

    Between two collectives lie an update, a forward and a backward pass: the longest spans of computing
    there. Shorter ones are what real processes spend between two calls; the pass before takes them in.
    A barrier at the beginning and what came before it are left out. Raises ValueError if there are fewer.
    """
    parts, barriers = [], _first_barriers(run)
    for rank in range(len(run.values)):
        barrier = barriers.get(rank)
        mine = [
            span
            for span in run.spans
            if span.rank == rank
            and span is not barrier
            and (barrier is None or span.start >= barrier.stop)
            and (span.stop > span.start or span.kind == "collective")
        ]
        segments = [list(spans) for _, spans in groupby(mine, key=lambda span: span.kind == "compute")]
        for place, spans in enumerate(segments):
            if spans[0].kind != "compute":
                parts += [(rank, _OF_KIND[span.kind], span.start, span.stop) for span in spans]
                continue
            names = ["update"] * (place > 0) + ["forward", "backward"] * (place < len(segments) - 1)
            if len(spans) < len(names):
                raise ValueError(
                    f"rank {rank}: {', '.join(names)} need a span of computing each; got {len(spans)}"
                )
            longest = sorted(spans, key=lambda span: span.start - span.stop)[: len(names)]
            starts = [spans[0].start, *sorted(span.start for span in longest)[1:], spans[-1].stop]
            parts += [(rank, *part) for part in zip(names, starts, starts[1:], strict=False)]
    if not parts:
        raise ValueError("the run has no steps: its worker never computes after its first barrier")
    return parts


def ways(runs):
    """Who sends to whom, and how much, for each of {name: run}: a tree where there is one, else a circle."""
    sent = {name: bytes_between(run) for name, run in runs.items()}
    counts = [len(run.messages) for run in runs.values()]
    with styled():
        figure, panels = new_figure(columns=len(runs), height=3.3, squeeze=False)
        for axes, (name, matrix) in zip(panels[0], sent.items(), strict=True):
            tree = _tree_places(matrix)
            places = tree or _circle_places(len(matrix))
            (_up_and_down if tree else _around)(axes, matrix, places)
            _ranks(axes, places)
            messages = label("ch4_messages", count=len(runs[name].messages))
            axes.set_title(f"{name}\n{messages}", loc="center", fontsize=11)
        title = label("ch4_ways_title", least=min(counts), most=max(counts))
        figure.suptitle(title, x=0.01, ha="left", fontsize=12)
        listed = " ".join(
            label(
                "ch4_way_alt",
                name=name,
                count=len(runs[name].messages),
                nbytes=bytes_text(matrix.sum()),
                pairs=", ".join(
                    f"{source} to {target} {bytes_text(matrix[source, target])}"
                    for source, target in np.argwhere(matrix)
                ),
            )
            for name, matrix in sent.items()
        )
        return Picture(figure, f"{title}. {listed}")


def _tree_places(sent):
    """Where to draw each rank if those who talk form a tree, rank 0 at its top; else None."""
    talk = (sent + sent.T) > 0
    joined = np.linalg.matrix_power(talk + np.eye(len(sent)), len(sent)).all()
    if not joined or talk.sum() != 2 * (len(sent) - 1):
        return None
    places, leaves = {}, count()

    def place(rank, parent, depth):
        below = [place(child, rank, depth + 1) for child in np.flatnonzero(talk[rank]) if child != parent]
        places[rank] = (np.mean(below) if below else float(next(leaves)), -float(depth))
        return places[rank][0]

    place(0, None, 0)
    return [places[rank] for rank in range(len(sent))]


def _circle_places(ranks):
    angles = [math.pi / 2 - 2 * math.pi * rank / ranks for rank in range(ranks)]
    return [(math.cos(angle), math.sin(angle)) for angle in angles]


def _up_and_down(axes, sent, places):
    """One arrow with two heads for each edge of a tree, and what goes up and down it, near the lower end."""
    share = 0.9 + 0.2 * min(y for _, y in places)  # of the way down, so that the words stay apart
    for above, below in np.argwhere(sent + sent.T):
        if places[above][1] > places[below][1]:
            _arrow(axes, places[above], places[below], arrowstyle="<|-|>")
            up, down = bytes_text(sent[below, above]), bytes_text(sent[above, below])
            spot = (1 - share) * np.array(places[above]) + share * np.array(places[below])
            _words(axes, spot, label("ch4_up_down", up=up, down=down))


def _around(axes, sent, places):
    """One curved arrow for each pair, its bytes outside the curve."""
    for source, target in np.argwhere(sent):
        start, stop = np.array(places[source]), np.array(places[target])
        _arrow(axes, start, stop, arrowstyle="-|>", connectionstyle="arc3,rad=-0.18")
        outside = 0.3 * np.array([start[1] - stop[1], stop[0] - start[0]])
        _words(axes, (start + stop) / 2 + outside, bytes_text(sent[source, target]))


def _ranks(axes, places):
    for rank, (x, y) in enumerate(places):
        axes.plot(x, y, "o", markersize=18, color=rank_colour(rank), label=label("rank", rank=rank))
        number = {"color": ink(rank_colour(rank)), "weight": "bold", "size": 10}
        axes.text(x, y, str(rank), ha="center", va="center", **number)
    low, high = np.min(places, axis=0), np.max(places, axis=0)
    (left, bottom), (right, top) = low - 0.22 * (high - low), high + 0.22 * (high - low)
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.axis("off")


def _arrow(axes, start, stop, **style):
    props = {"shrinkA": 11, "shrinkB": 11, "lw": 1.6, "color": "#555555", **style}
    axes.annotate("", xy=stop, xytext=start, arrowprops=props)


def _words(axes, place, words):
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    axes.text(*place, words, ha="center", va="center", size=8.5, bbox=box)


def loads(runs):
    """Bytes that each rank sends, in {name: run}, with the least that any way can do as a line.

    The line is 2(K-1)/K of one array: what the ranks would send if all did the same.
    """
    sent = {name: bytes_between(run).sum(axis=1) for name, run in runs.items()}
    totals = {nbytes.sum() for nbytes in sent.values()}
    low, high = (pick(nbytes.max() for nbytes in sent.values()) for pick in (min, max))
    ranks = len(next(iter(sent.values())))
    factor, unit = unit_of(high, SIZES)
    with styled():
        figure, axes = new_figure(height=3.6)
        width = 0.8 / len(sent)
        for number, (name, nbytes) in enumerate(sent.items()):
            middle = np.arange(ranks) + (number - (len(sent) - 1) / 2) * width
            hatch = ("", "//", "..", "xx")[number % 4]
            colour = rank_colour(number)
            axes.bar(
                middle,
                nbytes / factor,
                0.92 * width,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                label=name,
            )
        equal = max(totals) / ranks
        axes.axhline(equal / factor, color=THEORY, linestyle="--", label=label("ch4_equal_share"))
        axes.set_xticks(range(ranks), [label("rank", rank=rank) for rank in range(ranks)])
        axes.set(ylabel=label("ch4_bytes_sent", unit=unit), ylim=(0, 1.12 * high / factor))
        axes.grid(visible=False, axis="x")
        words = {"total": bytes_text(max(totals)), "low": bytes_text(low), "high": bytes_text(high)}
        axes.set_title(label("ch4_loads_title", **words))
        axes.legend()
        listed = "; ".join(f"{name}: {', '.join(map(bytes_text, nbytes))}" for name, nbytes in sent.items())
        return Picture(figure, label("ch4_loads_alt", listed=listed, share=bytes_text(equal)))


def orders(sums, exact):
    """What came out of one sum at each place of the array: {way: values at places 0, 1, …}."""
    values = sorted({float(value) for row in sums.values() for value in row})
    table = np.array([[values.index(float(value)) for value in row] for row in sums.values()])
    with styled():
        figure, axes = new_figure(height=1.3 + 0.42 * len(sums))
        image = axes.imshow(table, cmap="cividis", vmin=0, vmax=max(1, len(values) - 1), aspect="auto")
        for (row, place), which in np.ndenumerate(table):
            style = {"ha": "center", "va": "center", "color": ink_over(image, which)}
            axes.text(place, row, f"{values[which]:g}", **style)
        axes.set_xticks(range(table.shape[1]))
        axes.set_yticks(range(len(sums)), list(sums))
        axes.set(xlabel=label("ch4_place"))
        axes.grid(visible=False)
        axes.set_title(label("ch4_orders_title", exact=exact, results=_joined(values)))
        listed = "; ".join(f"{name}: {' '.join(f'{value:g}' for value in row)}" for name, row in sums.items())
        return Picture(figure, label("ch4_orders_alt", exact=exact, places=table.shape[1], listed=listed))


def _joined(values):
    texts = [f"{value:g}" for value in values]
    return ", ".join(texts[:-1]) + label("ch4_or") + texts[-1] if len(texts) > 1 else texts[0]


def cost_of_splitting(counts, seconds, theory, measured=False):
    """Time to reduce the same bytes in `counts` calls: points; theory(count) → seconds, drawn as a line.

    measured: the points are real measurements, the line is fitted to them; else simulation and closed form.
    """
    ratio = seconds[-1] / seconds[0]
    factor, unit = unit_of(max(seconds), TIMES)
    between = np.geomspace(counts[0], counts[-1], 100)
    curve = [theory(count) / factor for count in between]
    with styled():
        figure, axes = new_figure(height=3.4)
        line, points = ("ch4_fit", "measured") if measured else ("theory", "simulated")
        axes.plot(between, curve, color=THEORY, label=label(line))
        axes.plot(counts, np.divide(seconds, factor), "o", color=rank_colour(0), label=label(points))
        axes.set(xscale="log", yscale="log", xlabel=label("ch4_count"), ylabel=label("seconds", unit=unit))
        axes.set_xticks(counts, [str(count) for count in counts], minor=False)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.minorticks_off()
        axes.set_title(label("ch4_split_title", count=counts[-1], ratio=ratio))
        axes.legend()
        listed = ", ".join(
            f"{count}: {seconds_text(took)}" for count, took in zip(counts, seconds, strict=True)
        )
        return Picture(figure, label("ch4_split_alt", listed=listed, line=label(line)))
