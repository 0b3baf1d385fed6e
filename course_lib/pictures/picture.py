"""A finished figure: PNG, alternative text, and the numbers behind it as text.

A notebook stores all three: the PNG shows on GitHub, a screen reader reads the text, and CI compares the
numbers, for it does not compare PNG.
"""

import io
from zlib import crc32

import numpy as np

from course_lib.labels import label
from course_lib.pictures.style import DPI


class Picture:
    """What a figure looks like and says. png: bytes. alt: what a reader who cannot see it should know.

    numbers: what each axes and each thing in it shows, a line each: curves, bars, images, points, shapes,
    texts, legends.
    """

    def __init__(self, figure, alt):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        self.png = buffer.getvalue()
        self.alt = alt
        self.numbers = tuple(_numbers(figure))
        self._width = round(figure.get_figwidth() * 100)

    def __repr__(self):
        # JupyterLab shows the first line of a folded output: not what the figure says.
        return "\n".join([label("figure"), self.alt, *self.numbers])

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
        bars = {bar for group in axes.containers for bar in group}
        for line in axes.get_lines():
            yield f"  {line.get_label()}: {_summary(line.get_xdata())} | {_summary(line.get_ydata())}"
        for group in axes.containers:
            yield from _bars(group)
        for image in axes.images:
            pixels, extent = _summary(image.get_array()), _summary(image.get_extent())
            yield f"  image {image.get_size()}: {pixels}, over {extent}"
        for marks in axes.collections:
            yield from _marks(marks)
        yield from _shapes([patch for patch in axes.patches if patch not in bars])
        yield from _words("texts", axes.texts)
        yield from _arrows([text for text in axes.texts if getattr(text, "arrow_patch", None)])
        for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            yield from _ticks(name, axis)
        yield from _legends([axes.get_legend()])
    yield from _words("texts", figure.texts)
    yield from _legends(figure.legends)


def _bars(group):
    """Sizes of a group of bars, and from which corners to which they reach."""
    boxes = [bar.get_bbox() for bar in group]
    yield f"  {group.get_label()}: areas {_summary([abs(box.width * box.height) for box in boxes])}"
    corners = (_summary([getattr(box, side) for box in boxes]) for side in ("x0", "y0", "x1", "y1"))
    yield "    from {} | {} to {} | {}".format(*corners)


def _marks(marks):
    """Points, or lines and areas drawn as one; and the values that are colours of it."""
    places = marks.get_offsets()
    if len(places) == 1 and not np.any(places):  # shapes that stand at their own place
        places = np.concatenate([path.vertices for path in marks.get_paths()] or [np.empty((0, 2))])
    values = "" if marks.get_array() is None else f", values {_summary(marks.get_array())}"
    yield f"  {marks.get_label()}: marks {_summary(places[:, 0])} | {_summary(places[:, 1])}{values}"


def _shapes(patches):
    """Boxes, circles and arrows: their colours in order, and all their corners."""
    if patches:
        corners = [patch.get_patch_transform().transform_path(patch.get_path()).vertices for patch in patches]
        x, y = np.concatenate(corners).T
        colours = _list(_colour(patch.get_facecolor()) for patch in patches)
        yield f"  shapes: {colours}: {_summary(x)} | {_summary(y)}"


def _words(name, texts):
    """Which words stand where."""
    texts = [text for text in texts if text.get_text()]
    if texts:
        x, y = zip(*(text.get_position() for text in texts), strict=True)
        yield f"  {name}: {_list(text.get_text() for text in texts)}: {_summary(x)} | {_summary(y)}"


def _arrows(notes):
    """From where to where arrows point: those that matplotlib counts among the texts."""
    if notes:
        ends = [zip(*(getattr(note, end) for note in notes), strict=True) for end in ("xyann", "xy")]
        (x, y), (u, v) = ([_summary(places) for places in end] for end in ends)
        yield f"  arrows: {x} | {y} to {u} | {v}"


def _ticks(name, axis):
    """What an axis says beside the numbers that matplotlib chooses: its scale and words of ours."""
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedFormatter

    if axis.get_scale() != "linear":
        yield f"  {name} is {axis.get_scale()}"
    if isinstance(axis.get_major_formatter(), (FixedFormatter, StrCategoryFormatter)):
        yield from _words(f"{name} ticks", axis.get_majorticklabels())


def _legends(legends):
    for legend in filter(None, legends):
        names = [text.get_text() for text in legend.get_texts()]
        pairs = zip(names, map(_look, legend.legend_handles), strict=True)
        title = legend.get_title().get_text()
        yield f"  legend{' ' * bool(title)}{title}: {_list(f'{name} {look}' for name, look in pairs)}"


def _look(handle):
    """What tells a legend's entry from the others."""
    colour = handle.get_color() if hasattr(handle, "get_color") else handle.get_facecolor()
    return _colour(colour)


def _colour(colour):
    from matplotlib.colors import to_hex, to_rgba_array

    return " ".join(map(to_hex, to_rgba_array(colour))) or "none"


def _list(words, most=40):
    """All words, or the first and a checksum of all."""
    words = [" ".join(word.split()) for word in words]
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:3])} … {len(words)} in all, {crc32(' '.join(words).encode()):08x}"


def _summary(values):
    values = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()
    values = np.where(np.abs(values) < 1e-12, 0.0, values)  # what is left of rounding differs by machine
    if len(values) <= 6:
        return " ".join(f"{value:.5g}" for value in values)
    places = np.arange(1, len(values) + 1)  # with them, two values that have changed places are noticed
    sums = f"sum {_total(values):.5g}, by place {_total(places * values):.5g}"
    return f"{len(values)} values, {values[0]:.5g} … {values[-1]:.5g}, {sums}"


def _total(values):
    """The sum, or 0 where all that is left of it is rounding."""
    total = np.nansum(values)
    return total if abs(total) > 1e-9 * np.nansum(np.abs(values)) else 0.0
