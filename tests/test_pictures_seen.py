"""Figures for every eye: contrast of text and marks, colour vision deficiencies, both themes."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Text

from course_lib import Link, simulate
from course_lib.collectives import ring_all_reduce, tree_all_reduce
from course_lib.pictures import ring_diagram, timeline, traffic_matrix
from course_lib.pictures.aggregation import orders, ways
from course_lib.pictures.all_reduce import ring_rounds
from course_lib.pictures.job_parts import component_map, machines
from course_lib.pictures.picture import Picture
from course_lib.pictures.scaling import amdahl_curves
from course_lib.pictures.style import (
    PHASE_COLOURS,
    QUIET,
    RANK_COLOURS,
    THEORY,
    bar_look,
    contrast,
    ink,
)
from course_lib.widgets import step_player

DARK_PAPER = "#111111"  # JupyterLab's in its dark theme

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
EYES = {
    "usual": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8728]])


def seen(colour, eyes):
    """A colour's place in CIELAB, where distances are as large as they look; 2 is just visible."""
    rgb = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(EYES[eyes] @ linear, 0.01, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def worker(comm):
    comm.compute(1e-3)
    ring_all_reduce(comm, np.zeros(8))
    comm.send(np.zeros(3), (comm.rank + 1) % comm.size)
    comm.recv((comm.rank - 1) % comm.size)


def run(of=worker, ranks=8):
    return simulate(of, ranks, link=Link(1e-3, 1e3))


def three_ways():
    return ways({"ring": run(ranks=4), "tree": run(lambda comm: tree_all_reduce(comm, np.ones(8)), 4)})


# All that put a text on something coloured, or colour a text.
PICTURES = {
    "timeline": lambda: timeline(run()),
    "ring_diagram": lambda: ring_diagram(run()),
    "traffic_matrix": lambda: traffic_matrix(run()),
    "ways": three_ways,
    "orders": lambda: orders({"a": [0.0, 1.0, 2.0], "b": [3.0, 4.0, 5.0]}, 2),
    "ring_rounds": lambda: ring_rounds(4),
    "component_map": component_map,
    "machines": machines,
    "amdahl": lambda: amdahl_curves([0.5, 0.8, 0.95, 0.99]),
    "pipe": lambda: step_player("eight", mode="pipe", frame=6).picture(),
    "terminal": lambda: step_player("balanced", mode="terminal").picture(),
}


def texts_on_paper(figure):
    """(text, its colour, the most frequent colour behind it) for each text of a figure."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    boxes = [text.get_window_extent().extents.astype(int) for text in texts]
    for text in texts:
        text.set_alpha(0)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3]
    for text, (left, low, right, high) in zip(texts, boxes, strict=True):
        behind = pixels[max(low, 0) : high, max(left, 0) : right].reshape(-1, 3)
        if len(behind):
            colours, counts = np.unique(behind @ [1 << 16, 1 << 8, 1], return_counts=True)
            yield text.get_text(), to_hex(text.get_color()), f"#{colours[counts.argmax()]:06x}"


@pytest.mark.parametrize("name", PICTURES)
def test_text_is_legible(name, monkeypatch):
    figures, make = [], Picture.__init__

    def keep(self, figure, alt):
        figures.append(figure)
        make(self, figure, alt)

    monkeypatch.setattr(Picture, "__init__", keep)
    PICTURES[name]()
    (figure,) = figures
    found = list(texts_on_paper(figure))
    assert len(found) > 3
    assert [each for each in found if contrast(*each[1:]) < 4.5] == []


@pytest.mark.parametrize("colour", sorted({*RANK_COLOURS, THEORY, QUIET}))
def test_marks_stand_out(colour):
    assert contrast(colour, "#FFFFFF") >= 3
    assert contrast(ink(colour), colour) >= 4.5


@pytest.mark.parametrize("phase", PHASE_COLOURS)
def test_bars_stand_out(phase):
    look = bar_look(phase)
    drawn = {look["color"], look["edgecolor"]} - {"white"}
    assert max(contrast(colour, "#FFFFFF") for colour in drawn) >= 3


@pytest.mark.parametrize("colour", RANK_COLOURS)
def test_a_widgets_colours_stand_out_in_the_dark(colour):
    """As page.style_sheet mixes them."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    paler = "#" + "".join(f"{round(0.55 * part + 0.45 * 255):02x}" for part in parts)
    assert contrast(paler, DARK_PAPER) >= 4.5


@pytest.mark.parametrize("eyes", EYES)
def test_ranks_are_told_apart(eyes):
    distances = {
        pair: np.linalg.norm(np.subtract(*[seen(colour, eyes) for colour in pair]))
        for pair in combinations(RANK_COLOURS, 2)
    }
    assert min(distances.values()) > 10, min(distances, key=distances.get)


def test_phases_of_a_step_darken():
    """So a lane reads in grey."""
    phases = ("load", "forward", "backward", "update")
    whites = [contrast(PHASE_COLOURS[phase], "#FFFFFF") for phase in phases]
    assert all(after > 1.5 * before for before, after in zip(whites, whites[1:], strict=False))


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)
