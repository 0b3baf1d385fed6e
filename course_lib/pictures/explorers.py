"""Still pictures of the two explorers: what their charts show, drawn once."""

import numpy as np

from course_lib import laws
from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled
from course_lib.pictures.wording import bytes_text, exact_text, number_text, seconds_text

DASHES = ("-", (0, (7, 4)), (0, (2, 2)), (0, (9, 3, 2, 3)), (0, (12, 4)), (0, (4, 2)))
LETTERS = "ABCDEF"
LEAST = 1e-7  # seconds that a logarithmic axis shows, at least
COLOURS = (0, 5, 2, 6, 3, 7)  # of ranks, those that stand out from a white page


def speedup_curves(curves, n, result):
    """Speed-up against the number of GPUs; curves: dicts of p and scaling, the first is marked at n."""
    right = max(1024, 2 ** int(np.ceil(np.log2(2 * n))))
    places = np.unique(np.geomspace(1, right, 120).round())
    limits = [laws.amdahl_limit(c["p"]) if c["scaling"] == "strong" else np.inf for c in curves]
    with styled():
        figure, axes = new_figure()
        for index, curve in enumerate(curves):
            scaling = label(f"amdahl_column_{curve['scaling']}")
            text = f"{LETTERS[index]}: P = {exact_text(curve['p'])}, {scaling}"
            _curve(axes, index, places, _speedup(curve, places), text)
        axes.plot([n], [_speedup(curves[0], n)], "o", color="black", label=label("widget_now"), zorder=3)
        if np.isfinite(limits[0]):
            axes.axhline(limits[0], color=THEORY, linestyle=":", label=label("amdahl_column_limit"))
        axes.set(xscale="log", yscale="linear" if np.isfinite(limits).all() else "log")
        axes.set(xlabel=label("amdahl_n"), ylabel=label("amdahl_speedup"))
        title = "amdahl_title" if np.isfinite(limits[0]) else "amdahl_title_unlimited"
        speedup, limit = number_text(_speedup(curves[0], n)), number_text(limits[0])
        axes.set_title(label(title, n=number_text(n), speedup=speedup, limit=limit))
        axes.legend()
        return Picture(figure, label("amdahl_alt", result=result, curves=len(curves)))


def all_reduce_curves(curves, against, takeover, compute, result):
    """Time against size or ranks; curves: dicts of all_reduce_time's arguments and text, the first is marked.

    takeover: the size at which latency takes over, or 0. compute: seconds of the rest of a step, or 0.
    """
    now = curves[0]
    name, low, high = ("nbytes", 1e3, 1e12) if against == "bytes" else ("ranks", 2, 1024)
    places = np.geomspace(min(low, now[name]), max(high, now[name]), 121)
    if against == "ranks":
        places = np.unique(places.round())
    with styled():
        figure, axes = new_figure()
        for index, curve in enumerate(curves):
            text = f"{LETTERS[index]}: {curve['text']}"
            _curve(axes, index, places, _time({**curve, name: places}), text)
        axes.plot([now[name]], [_time(now)], "o", color="black", label=label("widget_now"), zorder=3)
        if against == "bytes" and takeover:
            axes.axvline(takeover, color=THEORY, linestyle=":", label=label("ring_time_half"))
        if compute:
            rest = label("ring_time_rest", compute=seconds_text(compute))
            axes.axhline(compute, color=THEORY, linestyle="-.", linewidth=1, label=rest)
        axes.set(xscale="log", yscale="log", ylabel=label("ring_time_time"))
        axes.set(xlabel=label("ring_time_size" if against == "bytes" else "ring_time_ranks"))
        if against == "bytes":
            axes.xaxis.set_major_formatter(lambda nbytes, _: bytes_text(nbytes))
        axes.yaxis.set_major_formatter(lambda seconds, _: seconds_text(seconds))
        axes.yaxis.set_minor_formatter(lambda *_: "")
        nbytes, seconds = bytes_text(now["nbytes"]), seconds_text(_time(now))
        axes.set_title(label("ring_time_title", nbytes=nbytes, seconds=seconds))
        axes.legend()
        return Picture(figure, label("ring_time_alt", result=result, curves=len(curves)))


def _speedup(curve, n):
    law = laws.amdahl_speedup if curve["scaling"] == "strong" else laws.gustafson_speedup
    return law(curve["p"], n)


def _time(curve):
    arguments = ("nbytes", "ranks", "bandwidth", "latency", "algorithm")
    return np.maximum(laws.all_reduce_time(**{name: curve[name] for name in arguments}), LEAST)


def _curve(axes, index, x, y, text):
    axes.plot(x, y, color=rank_colour(COLOURS[index]), linestyle=DASHES[index], label=text)
