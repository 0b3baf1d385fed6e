"""JupyterLab without the widgets' extension: pictures and words stand in their place."""

import lab

from course_lib import widgets

PICTURES = [name for name in widgets.__all__ if name != "quiz"]  # timeline_player, which takes a run, is last
CELLS = [
    f"from course_lib import simulate\nfrom course_lib.widgets import {', '.join(PICTURES)}, quiz\n"
    "from course_lib.predict import predict\nfrom course_lib.quiz import load_questions",
    *(f"{name}()" for name in PICTURES[:-1]),
    "timeline_player(simulate(lambda comm: comm.compute(1), 2))",
    "predict('3.1', choices='abc')",
    "quiz(load_questions()[:1], title='One')",
]
NOBODY_LISTENS = "Exception opening new comm"  # JupyterLab's own, for each widget that the kernel makes


def test_pictures_and_words_stand_in_their_place(browser, server):  # C27
    lab.write_notebook(server.served, "disabled", CELLS)
    with (
        lab.without(server, ["@jupyter-widgets/jupyterlab-manager", "anywidget"]),
        lab.opened(browser, server, "disabled") as notebook,
    ):
        found = list(lab.problems(notebook, notebook.run_all()))
        assert not [text for text in found if NOBODY_LISTENS not in text]
        assert not notebook.page.locator(".course-root").count()
        cells = notebook.page.locator(".jp-CodeCell")
        shown = [cells.nth(number).locator("img") for number in range(1, len(PICTURES) + 1)]
        widths = [picture.evaluate("image => image.naturalWidth") for picture in shown]
        assert min(widths) > 400, widths
        assert "Prediction 3.1" in cells.nth(len(PICTURES) + 1).inner_text()
        assert "In synchronous SGD" in cells.nth(len(PICTURES) + 2).inner_text()
