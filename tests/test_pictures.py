"""Pictures: the numbers behind them, alternative texts, both worlds, legible from 2 to 16 ranks."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.patches import Patch, Rectangle

from course_lib import Link, launch, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.pictures import message_table, ring_diagram, timeline, traffic_matrix
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import styled
from course_lib.pictures.timeline import shares_of_time
from course_lib.pictures.traffic import bytes_between
from course_lib.pictures.training import above_best, convergence, departure, speed_ratio
from course_lib.pictures.wording import bytes_text, seconds_text

PICTURES = [timeline, traffic_matrix, ring_diagram]


def ring_worker(comm):
    comm.compute(1e-3 * (1 + comm.rank % 3))
    ring_all_reduce(comm, np.zeros(1200))
    comm.barrier()


@pytest.fixture(scope="module")
def runs():
    return {
        **{ranks: simulate(ring_worker, ranks, link=Link(50e-6, 1.25e8)) for ranks in (1, 2, 4, 16)},
        "real": launch(ring_worker, 2),
    }


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("which", [1, 2, 4, 16, "real"])
def test_every_picture_takes_any_run(runs, picture, which):
    drawn = picture(runs[which])
    data, metadata = drawn._repr_mimebundle_()
    assert data["image/png"].startswith(b"\x89PNG")
    assert len(drawn.alt) > 40
    assert metadata["image/png"]["alt"] == drawn.alt
    assert drawn.alt in data["text/plain"]


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_nothing_is_cut_off(runs, picture, ranks):
    """No ink on the outermost pixels."""
    from matplotlib.image import imread

    image = imread(io.BytesIO(picture(runs[ranks]).png))[..., :3]
    edges = [image[0], image[-1], image[:, 0], image[:, -1]]
    assert all((edge > 0.99).all() for edge in edges)


def test_pictures_are_reproducible(runs):
    assert timeline(runs[4]).png == timeline(runs[4]).png
    assert b"matplotlib" not in timeline(runs[4]).png.lower()


def test_timeline_shows_the_shares(runs):
    shares = shares_of_time(runs[4])
    assert sum(shares.values()) <= 1 + 1e-9
    assert f"{shares['wait']:.0%}" in timeline(runs[4]).numbers[0]
    spans = runs[4].spans
    waited = sum(span.stop - span.start for span in spans if span.kind == "wait")
    assert shares["wait"] == pytest.approx(waited / (4 * runs[4].seconds))


def test_traffic_counts_payload(runs):
    sent = bytes_between(runs[4])
    assert sent.sum() == 4 * 6 * 2400
    assert {(s, t) for s, t in np.argwhere(sent)} == {(rank, (rank + 1) % 4) for rank in range(4)}


def test_ring_diagram_says_who_talks_to_whom(runs):
    assert ring_diagram(runs[4]).numbers[0].startswith("A worker sends to 1 of the 3 others")


def drawn(table=(1, 2, 3), places=(0, 1), words="yes", names="ab", scale="linear", bottom=0, colour="red"):
    """The numbers of a figure that has one of everything."""
    with styled():
        figure, axes = new_figure()
        image = axes.imshow([np.arange(9) % 5, [*table, *range(6)]], extent=(0, 1, 0, 1))
        marks = axes.scatter(places, [0, 1], c=[5, table[0]])
        axes.text(0, 0, words)
        axes.bar([0, 1], [1, 2], bottom=bottom, label="bars")
        axes.add_patch(Rectangle((0, 0), 1, 1, facecolor=colour))
        axes.legend([Patch(color="red"), Patch(color="blue")], names)
        axes.set_yscale(scale)
        axes.set_xticks([0, 1], [*words[:2]])
    assert image.get_array().size == 18 and marks.get_array().size == 2
    return Picture(figure, "One of everything").numbers


@pytest.mark.parametrize(
    "changed",
    [
        {"table": (1, 2, 4)},
        {"table": (1, 3, 2)},
        {"places": (1, 0)},
        {"words": "no"},
        {"names": "ba"},
        {"scale": "symlog"},
        {"bottom": 1},
        {"colour": "blue"},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_numbers_tell_what_a_picture_shows(changed):
    assert drawn() == drawn() != drawn(**changed)


def test_message_table(runs):
    table = message_table(runs[4], most=3)
    assert len(list(table.rows())) == 3
    assert "more" in repr(table) and "<th" in table._repr_html_()
    unreceived = simulate(lambda comm: comm.send(np.zeros(2), 1) if comm.rank == 0 else None, 2)
    assert list(message_table(unreceived).rows())[0][-1] == "–"


def test_chapter_10_pictures_show_their_numbers():
    losses = np.array([5.0, 3.0, 1.005])
    picture = convergence(losses, losses, 1.0, 2)
    assert "closed form: 1 2 3 | 4 2 0.005" in "\n".join(picture.numbers)
    assert "step 3" in picture.alt
    gaps = departure({"a": [1 + 1e-16, 2.0], "b": [1.5, 2.25]}, [1.0, 2.0])
    assert "a: 0; b: 0.5" in gaps.alt
    assert "b: 1 2 | 0.5 0.25" in "\n".join(gaps.numbers)
    assert "x: 0.5" in above_best({"x": (2, [3.0, 1.5])}, 1.0).alt
    assert "between 2 and 8" in speed_ratio([1, 2], [2.0, 8.0]).alt


@pytest.mark.parametrize(
    ("given", "text"), [(0, "0 B"), (999, "999 B"), (2500, "2.5 kB"), (3e6, "3 MB"), (1.2e9, "1.2 GB")]
)
def test_bytes_text(given, text):
    assert bytes_text(given) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (2, "2 s"),
        (0.0015, "1.5 ms"),
        (0.08167, "81.7 ms"),
        (1960, "1,960 s"),
        (2e-6, "2 µs"),
        (5e-8, "0.05 µs"),
    ],
)
def test_seconds_text(given, text):
    assert seconds_text(given) == text


def test_simulating_never_imports_matplotlib():
    code = (
        "import sys, course_lib; course_lib.simulate(lambda comm: 0, 2); print('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
