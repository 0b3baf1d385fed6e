"""One style for every figure: colours of ranks and phases, fonts, sizes.

Every colour of a line or mark has a contrast of 3 or more with white, and readers with any of the three
colour vision deficiencies tell all ranks apart. That leaves little room for lightness: in grey, series
differ by markers, dashes, hatches or their place.
"""

import logging
from contextlib import contextmanager

# After Okabe and Ito's palette, whose orange, sky blue and vermilion are darker here.
RANK_COLOURS = ("#0072B2", "#CA7A06", "#009E73", "#CC79A7", "#2F97EB", "#9A4E14", "#810B6A", "#444444")
PHASE_COLOURS = {
    "compute": "#0072B2",
    "send": "#CA7A06",
    "recv": "#009E73",
    "wait": "#D9D9D9",
    "collective": "#CC79A7",
    # What a rank computes in a step, darker from one to the next.
    "load": "#ECD0A7",
    "forward": "#66AAD1",
    "backward": "#0072B2",
    "update": "#222222",
}
HATCHES = {"wait": "////", "collective": ".."}
THEORY = "#444444"
QUIET = "#777777"  # edges of pale bars, lines that explain
WIDTH, DPI = 6.4, 150  # inches; shown at 100 pixels an inch, drawn sharper

_SETTINGS = {
    "figure.figsize": (WIDTH, 3.8),
    "figure.dpi": DPI,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",  # legible in a dark theme too
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}


def rank_colour(rank):
    """The fixed colour of a rank; it repeats after eight."""
    return RANK_COLOURS[rank % len(RANK_COLOURS)]


def bar_look(phase):
    """What tells a phase's bars apart, in grey as well; pale ones have an edge that shows."""
    colour = PHASE_COLOURS[phase]
    edge = "white" if contrast(colour, "#FFFFFF") >= 3 else QUIET
    return {"color": colour, "edgecolor": edge, "hatch": HATCHES.get(phase)}


def ink(colour):
    """Black or white: what reads better on `colour`."""
    return max(("#000000", "#FFFFFF"), key=lambda text: contrast(text, colour))


def ink_over(image, value):
    """The same, on the colour that an image gives to `value`."""
    from matplotlib.colors import to_hex

    return ink(to_hex(image.cmap(image.norm(value))))


def contrast(one, other):
    """From 1 to 21, as WCAG defines it, between two colours given as "#RRGGBB"."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


# What matplotlib warns of is mostly its caches: no reader can help it, and a stored output would keep it.
logging.getLogger("matplotlib").setLevel(logging.ERROR)


@contextmanager
def styled():
    """Draw in the course's style, whatever the caller's settings."""
    import matplotlib.style

    with matplotlib.style.context(_SETTINGS, after_reset=True):
        yield
