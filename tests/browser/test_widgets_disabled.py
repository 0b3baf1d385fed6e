"""JupyterLab without the widgets' extension: pictures and words stand in their place."""

from importlib.util import find_spec

import lab
import pytest

from course_lib import widgets

BROWSER = lab.find_browser()

pytestmark = [
    pytest.mark.skipif(not find_spec("playwright"), reason="playwright is not installed"),
    pytest.mark.skipif(not BROWSER, reason="no Chromium: install one, or name it in CHROMIUM"),
    pytest.mark.timeout(lab.START + lab.OPEN + lab.RUN),
]

PICTURES = [name for name in widgets.__all__ if name != "quiz"]  # timeline_player, which takes a run, is last
CELLS = [
    f"from course_lib import simulate\nfrom course_lib.widgets import {', '.join(PICTURES)}, quiz\n"
    "from course_lib.predict import predict\nfrom course_lib.quiz import load_questions",
    *(f"{name}()" for name in PICTURES[:-1]),
    "timeline_player(simulate(lambda comm: comm.compute(1), 2))",
    "predict('3.1', choices='abc')",
    "quiz(load_questions()[:1], title='One')",
]


WITHOUT = dict.fromkeys(["@jupyter-widgets/jupyterlab-manager", "anywidget"], True)
NOBODY_LISTENS = "Exception opening new comm"  # JupyterLab's own, for each widget that the kernel makes


def test_pictures_and_words_stand_in_their_place(monkeypatch, tmp_path):  # C27
    monkeypatch.setitem(
        lab.PAGE_CONFIG, "disabledExtensions", lab.PAGE_CONFIG["disabledExtensions"] | WITHOUT
    )
    lab.write_notebook(tmp_path, "disabled", CELLS)
    with lab.jupyter_lab(tmp_path) as server, lab.chromium(BROWSER) as browser:
        with lab.opened(browser, server, "disabled") as notebook:
            found = list(lab.problems(notebook, notebook.run_all()))
            assert not [text for text in found if NOBODY_LISTENS not in text]
            assert not notebook.page.locator(".course-root").count()
            cells = notebook.page.locator(".jp-CodeCell")
            for number in range(1, len(PICTURES) + 1):
                picture = cells.nth(number).locator(".jp-OutputArea-output img")
                assert picture.evaluate("image => image.naturalWidth") > 400
            assert "Prediction 3.1" in cells.nth(len(PICTURES) + 1).inner_text()
            assert "In synchronous SGD" in cells.nth(len(PICTURES) + 2).inner_text()
