"""Pictures of overlap: a backward pass with its buckets in flight, and the sweep of the bucket size."""

import math

from course_lib.labels import label
from course_lib.overlap import share_hidden
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import PHASE_COLOURS, THEORY, bar_look, rank_colour, styled
from course_lib.pictures.wording import TIMES, bytes_text, unit_of

HEIGHT = 0.72  # of a lane
NARROW = 0.025  # of the axis: a bar below this has no room for its number
TICKS_APART = 0.1  # of the axis
MB = 2**20  # DDP's


def backward_timeline(backwards):
    """Two lanes a rank: computing, then waiting; and a bar for each bucket while its all-reduce is in flight.

    Bars are numbered in the order in which the buckets became ready; a mark under the first lane says when.
    All-reduces in flight at the same time share the second lane.
    """
    end, share = max(each.stop for each in backwards), share_hidden(backwards)
    factor, unit = unit_of(end, TIMES)
    world, buckets = label(backwards[0].world), count_text(len(backwards[0].buckets))
    words = {"share": share, "world": world, "buckets": buckets}
    with styled():
        figure, axes = new_figure(height=1.5 + 0.8 * len(backwards))
        names = []
        for place, each in enumerate(backwards):
            once = "" if place == 0 else "_"  # each kind is named once in the legend
            _draw_computing(axes, 2 * place, each, factor, once)
            _draw_flights(axes, 2 * place + 1, each.buckets, factor, once, narrow=NARROW * end / factor)
            names += [label("rank", rank=each.rank), label("overlap_reduce_lane")]
        axes.set_yticks(range(len(names)), names)
        axes.set(
            xlabel=label("seconds", unit=unit), xlim=(0, 1.01 * end / factor), ylim=(len(names) - 0.4, -0.6)
        )
        axes.grid(visible=False, axis="y")
        axes.set_title(label("overlap_title" + _real(backwards[0].world == "real"), **words))
        figure.legend(loc="outside lower center", ncols=5, columnspacing=1.2, handlelength=1.6)
        listed = "; ".join(_in_words(each, factor, unit) for each in backwards)
        return Picture(figure, label("overlap_alt", **words, listed=listed))


def count_text(buckets):
    """ "1 bucket", "2 buckets"."""
    return label("overlap_one_bucket") if buckets == 1 else label("overlap_buckets", count=buckets)


def _in_words(backward, factor, unit):
    times = {name: getattr(backward, name) / factor for name in ("computed", "stop", "in_flight")}
    return label("overlap_alt_rank", rank=backward.rank, unit=unit, **times)


def _draw_computing(axes, lane, backward, factor, once):
    _bars(axes, "compute", [(lane, backward.begin, backward.computed)], HEIGHT, factor, once)
    _bars(axes, "wait", [(lane, backward.computed, backward.stop)], HEIGHT, factor, once)
    ready = [bucket.ready / factor for bucket in backward.buckets]
    places = [lane + HEIGHT / 2 + 0.05] * len(ready)
    axes.plot(ready, places, "^", color=THEORY, markersize=4, label=once + label("overlap_ready"))


def _draw_flights(axes, lane, buckets, factor, once, narrow):
    rows = sub_rows(buckets)
    height = HEIGHT / (1 + max(rows))
    places = [lane - HEIGHT / 2 + height * (row + 0.5) for row in rows]
    bars = [(place, each.start, each.stop) for place, each in zip(places, buckets, strict=True)]
    _bars(axes, "collective", bars, height, factor, once)
    for number, (place, start, stop) in enumerate(bars, start=1):
        if (stop - start) / factor > narrow:
            axes.text((start + stop) / 2 / factor, place, str(number), ha="center", va="center", fontsize=8)


def _bars(axes, kind, bars, height, factor, once):
    lanes, starts, stops = zip(*bars, strict=True)
    look = bar_look(kind)
    if kind == "collective":
        look["hatch"] = None  # it has a lane of its own, and a number
    axes.barh(
        lanes,
        [(stop - start) / factor for start, stop in zip(starts, stops, strict=True)],
        left=[start / factor for start in starts],
        height=height,
        linewidth=0.4,
        label=once + label(f"overlap_{kind}"),
        **look,
    )


def sub_rows(bars):
    """A row for each of the bars (.start, .stop; in order of start): the first one that is free, mostly 0."""
    ends, rows = [], []
    for bar in bars:
        row = next((row for row, end in enumerate(ends) if end <= bar.start), len(ends))
        ends[row : row + 1] = [bar.stop]
        rows.append(row)
    return rows


def bucket_sizes(rows, theory=None):
    """Above, the time of a pass or step against the bucket size; below, the share of the all-reduces hidden.

    rows: SweepRows of a simulation, or measured. theory: seconds in their order, for a simulation.
    """
    sizes, measured = [row.bucket_bytes for row in rows], theory is None
    factor, unit = unit_of(max(row.seconds for row in rows), TIMES)
    with styled():
        figure, (top, bottom) = new_figure(rows=2, height=4.6, sharex=True)
        if not measured:
            top.plot(sizes, [each / factor for each in theory], color=THEORY, label=label("theory"))
        name = label("measured" if measured else "simulated")
        top.plot(sizes, [row.seconds / factor for row in rows], "o", color=rank_colour(0), label=name)
        highest = max(row.seconds for row in rows) / factor
        top.set(xscale="log", ylabel=label("overlap_step_axis", unit=unit), ylim=(0, 1.1 * highest))
        top.legend()
        percent, colour = [100 * row.hidden for row in rows], PHASE_COLOURS["collective"]
        bottom.plot(sizes, percent, "o-", color=colour, label=label("overlap_share" + _real(measured)))
        bottom.set(ylabel=label("overlap_share_axis" + _real(measured)), ylim=(-5, 105))
        bottom.set_xlabel(label("overlap_mb_axis" if measured else "overlap_size_axis"))
        shown = _apart(rows)
        ticks = [label("overlap_tick", size=_size(row, measured), buckets=row.buckets) for row in shown]
        bottom.set_xticks([row.bucket_bytes for row in shown], ticks, fontsize=9)
        bottom.minorticks_off()
        top.set_title(_finding(rows, measured))
        listed = "; ".join(
            label(
                "overlap_sizes_row" + _real(measured),
                size=_size(row, measured),
                buckets=count_text(row.buckets),
                seconds=row.seconds / factor,
                unit=unit,
                hidden=row.hidden,
            )
            for row in rows
        )
        return Picture(figure, label("overlap_sizes_alt", listed=listed))


def _real(measured):
    """Of labels: on a real machine what runs beside computing may slow it down, and is not hidden."""
    return "_real" if measured else ""


def _finding(rows, measured):
    if measured:
        most, fewest = max(rows, key=lambda row: row.hidden), min(rows, key=lambda row: row.buckets)
        many, few = count_text(most.buckets), count_text(fewest.buckets)
        return label("overlap_measured_title", most=most, many=many, fewest=fewest, few=few)
    best = min(rows, key=lambda row: row.seconds)
    return label("overlap_sizes_title", size=_size(best, measured), buckets=count_text(best.buckets))


def _size(row, measured):
    """A bucket size in words: bytes, or DDP's MB, which are 2^20 bytes."""
    return f"{row.bucket_bytes / MB:g}" if measured else bytes_text(row.bucket_bytes)


def _apart(rows):
    """Those rows whose names do not overlap on a logarithmic axis."""
    places = [math.log(row.bucket_bytes) for row in rows]
    apart, shown = TICKS_APART * (max(places) - min(places)), []
    for place, row in sorted(zip(places, rows, strict=True), key=lambda pair: pair[0]):
        if not shown or place - math.log(shown[-1].bucket_bytes) >= apart:
            shown.append(row)
    return shown
