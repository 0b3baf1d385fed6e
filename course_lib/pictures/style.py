"""One style for every figure: colours of ranks and phases, fonts, sizes."""

import logging
from contextlib import contextmanager

# Okabe and Ito's palette: told apart by colour-blind readers.
RANK_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A7A00", "#444444")
PHASE_COLOURS = {
    "compute": "#0072B2",
    "send": "#E69F00",
    "recv": "#009E73",
    "wait": "#D9D9D9",
    "collective": "#CC79A7",
}
THEORY = "#444444"
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


# What matplotlib warns of is mostly its caches: no reader can help it, and a stored output would keep it.
logging.getLogger("matplotlib").setLevel(logging.ERROR)


@contextmanager
def styled():
    """Draw in the course's style, whatever the caller's settings."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield
