"""A ring all-reduce as a strip of small tables, one a step."""

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import styled

PANELS = 8  # of a longer ring, so many moments, the first and the last among them


def ring_steps(tables, counts, sent, texts):
    """tables[moment][rank][chunk]: a cell's text; counts: how many ranks are in it.

    sent: for each moment, the (rank, chunk) under way. texts: each moment in words.
    """
    ranks, moments = len(tables[0]), len(tables)
    panels = min(PANELS, moments)
    shown = [round(panel * (moments - 1) / max(1, panels - 1)) for panel in range(panels)]
    rows = -(-len(shown) // 4)
    with styled():
        figure, grid = new_figure(rows, 4, height=0.7 + 1.85 * rows, squeeze=False)
        for axes in grid.flat:
            axes.axis("off")
        for moment, axes in zip(shown, grid.flat, strict=False):
            _panel(axes, tables[moment], counts[moment], sent[moment], ranks)
            axes.set_title(label("ring_player_panel", step=moment), fontsize=10)
        title = label("ring_player_title", ranks=ranks, steps=2 * (ranks - 1))
        figure.suptitle(title, fontsize=12, x=0.01, ha="left")
        figure.supxlabel(label("ring_player_axes"), fontsize=10)
        picture = Picture(figure, label("ring_player_alt", ranks=ranks, first=texts[0], last=texts[-1]))
    picture.numbers += tuple(f"{text} {_rows(table)}" for text, table in zip(texts, tables, strict=True))
    return picture


def _panel(axes, table, counts, sent, ranks):
    """A column a rank, a row a chunk; the darker, the more ranks are in it; framed when all are."""
    from matplotlib.patches import Rectangle

    size = 9 if ranks <= 4 else 7 if ranks <= 6 else 5.5
    size *= min(1, 3.6 / (1 + max(len(text) for row in table for text in row)))  # longer ones would not fit
    for rank, row in enumerate(table):
        for chunk, text in enumerate(row):
            whole, leaves = counts[rank][chunk] == ranks, (rank, chunk) in sent
            shade = 1 - 0.32 * (counts[rank][chunk] - 1) / (ranks - 1)
            corner, colour = (rank + 0.04, chunk + 0.04), (shade, shade, 1.0)
            edge, width = ("black", 1.4) if whole else ("#888888", 0.5)
            axes.add_patch(Rectangle(corner, 0.92, 0.92, facecolor=colour, edgecolor=edge, linewidth=width))
            words = f"{text}→" if leaves else text
            axes.text(rank + 0.5, chunk + 0.5, words, ha="center", va="center", fontsize=size)
    axes.set(xlim=(-0.05, ranks + 0.05), ylim=(ranks + 0.05, -0.05))


def _rows(table):
    return " | ".join(" ".join(row) for row in table)
