"""Who sent how much to whom: as a matrix, on a circle, and as a table."""

import html
import math

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import ink, ink_over, rank_colour, styled
from course_lib.pictures.wording import bytes_text, seconds_text

NUMBERED = 8  # up to so many ranks each cell of the matrix shows its number


def traffic_matrix(run):
    """Bytes from each rank (row) to each other (column)."""
    sent = bytes_between(run)
    ranks = len(sent)
    with styled():
        figure, axes = new_figure(height=4.2)
        image = axes.imshow(sent, cmap="cividis", vmin=0)
        figure.colorbar(image, label=label("bytes"), format=lambda nbytes, _: bytes_text(nbytes))
        for (source, target), nbytes in np.ndenumerate(sent):
            if nbytes and ranks <= NUMBERED:
                style = {"ha": "center", "va": "center", "size": 9, "color": ink_over(image, nbytes)}
                axes.text(target, source, bytes_text(nbytes), **style)
        axes.set_xticks(range(ranks))
        axes.set_yticks(range(ranks))
        axes.set(xlabel=label("target"), ylabel=label("source"))
        axes.grid(visible=False)
        axes.set_title(
            label(
                "traffic_title",
                messages=len(run.messages),
                nbytes=bytes_text(sent.sum()),
                busiest=bytes_text(sent.max()),
            )
        )
        alt = label("traffic_alt", ranks=ranks, world=label(run.world), listed=_listed(sent))
        return Picture(figure, alt)


def ring_diagram(run):
    """The ranks on a circle; an arrow where bytes went, the wider the more; empty messages do not show."""
    sent = bytes_between(run)
    ranks = len(sent)
    angles = [math.pi / 2 - 2 * math.pi * rank / ranks for rank in range(ranks)]
    places = [(math.cos(angle), math.sin(angle)) for angle in angles]
    with styled():
        figure, axes = new_figure(height=4.6)
        talked = [(int(source), int(target)) for source, target in np.argwhere(sent)]
        for source, target in talked:
            _arrow(axes, places[source], places[target], sent[source, target], sent.max(), ranks)
        for rank, (x, y) in enumerate(places):
            colour, size = rank_colour(rank), 24 if ranks <= 8 else 17
            axes.plot(x, y, "o", markersize=size, color=colour, label=f"rank {rank}")
            axes.text(x, y, str(rank), ha="center", va="center", color=ink(colour), weight="bold")
        axes.set(xlim=(-1.45, 1.45), ylim=(-1.35, 1.35), aspect="equal")
        axes.axis("off")
        partners = sorted({sum(source == rank for source, _ in talked) for rank in range(ranks)})
        how_many = f"{partners[0]}" if len(partners) == 1 else f"{partners[0]}–{partners[-1]}"
        axes.set_title(label("ring_title", partners=how_many, others=ranks - 1))
        return Picture(figure, label("ring_alt", ranks=ranks, listed=_listed(sent)))


class MessageTable:
    """The messages of a Run as a table; HTML in a notebook, text elsewhere."""

    def __init__(self, run, most=24):
        self._messages, self._most = run.messages, most

    def rows(self):
        """(source, target, size, start, stop) in words, at most `most`."""
        for message in self._messages[: self._most]:
            stop = "–" if math.isnan(message.stop) else seconds_text(message.stop)
            yield (
                message.source,
                message.target,
                bytes_text(message.nbytes),
                seconds_text(message.start),
                stop,
            )

    def _head(self):
        return label("source"), label("target"), label("bytes"), label("start"), label("stop")

    def _rest(self):
        left = len(self._messages) - self._most
        return label("more_messages", count=left) if left > 0 else ""

    def __repr__(self):
        lines = ["  ".join(f"{cell!s:>12}" for cell in row) for row in (self._head(), *self.rows())]
        return "\n".join([*lines, self._rest()]).rstrip()

    def _repr_html_(self):
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in self._head())
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in self.rows()
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{html.escape(self._rest())}"
        )


def message_table(run, most=24):
    """The first `most` messages of `run`, in order of start."""
    return MessageTable(run, most)


def bytes_between(run):
    """Array (ranks, ranks): bytes sent from row to column."""
    sent = np.zeros((len(run.values),) * 2)
    for message in run.messages:
        sent[message.source, message.target] += message.nbytes
    return sent


def _arrow(axes, start, stop, nbytes, most, ranks):
    """A curved arrow with its bytes at its middle, outside the straight line, so that both ways are seen."""
    width = 0.8 + 2.2 * (nbytes / most if most else 0)
    gap = 15 if ranks <= NUMBERED else 10
    style = {"arrowstyle": "-|>", "shrinkA": gap, "shrinkB": gap, "connectionstyle": "arc3,rad=-0.18"}
    axes.annotate("", xy=stop, xytext=start, arrowprops={**style, "lw": width, "color": "#555555"})
    if ranks <= NUMBERED:
        middle, across = np.add(start, stop) / 2, np.subtract(stop, start)
        x, y = middle + 0.2 * np.array([-across[1], across[0]])
        axes.text(x, y, bytes_text(nbytes), ha="center", va="center", size=9)


def _listed(sent, most=6):
    """The busiest pairs in words."""
    pairs = sorted(((-nbytes, pair) for pair, nbytes in np.ndenumerate(sent) if nbytes))[:most]
    return (
        "; ".join(f"{source} to {target}: {bytes_text(-nbytes)}" for nbytes, (source, target) in pairs) + "."
    )
