"""A finished figure: PNG, alternative text, and the numbers behind it as text.

A notebook stores all three: the PNG shows on GitHub, a screen reader reads the text, and CI compares the
numbers, for it does not compare PNG.
"""

import io

import numpy as np

from course_lib.pictures.style import DPI


class Picture:
    """What a figure looks like and says. png: bytes. alt: what a reader who cannot see it should know.

    numbers: one line for each line, set of points or bars in it.
    """

    def __init__(self, figure, alt):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        self.png = buffer.getvalue()
        self.alt = alt
        self.numbers = tuple(_numbers(figure))
        self._width = round(figure.get_figwidth() * 100)

    def __repr__(self):
        return "\n".join([self.alt, *self.numbers])

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"image/png": self.png, "text/plain": repr(self)}
        return data, {"image/png": {"alt": self.alt, "width": self._width}}


def new_figure(rows=1, columns=1, height=3.8, **options):
    """A figure that belongs to nobody's global state, and its axes; call within style.styled()."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, height))
    return figure, figure.subplots(rows, columns, **options)


def _numbers(figure):
    """What each artist shows, in five digits: enough to notice a change, too few for a machine's rounding."""
    for axes in figure.axes:
        yield f"{axes.get_title(loc='left')} [{axes.get_xlabel()} | {axes.get_ylabel()}]"
        for line in axes.get_lines():
            yield f"  {line.get_label()}: {_summary(line.get_xdata())} | {_summary(line.get_ydata())}"
        for bars in axes.containers:
            sizes = [patch.get_width() * patch.get_height() for patch in bars]
            yield f"  {bars.get_label()}: areas {_summary(sizes)}"


def _summary(values):
    values = np.asarray(values, dtype=float)
    values = np.where(np.abs(values) < 1e-12, 0.0, values)  # what is left of rounding differs by machine
    if len(values) <= 6:
        return " ".join(f"{value:.5g}" for value in values)
    return f"{len(values)} values, {values[0]:.5g} … {values[-1]:.5g}, sum {np.nansum(values):.5g}"
