"""A chapter as a learner meets it: opened in JupyterLab, Run All, every cell looked at; both themes."""

import axe
import lab
import pytest
from waiting import limit

OFTEN = {"01_visual_demo", "04_gradient_aggregation"}  # short ones with many widgets, and with many processes
CHAPTERS = [
    pytest.param(path.stem, marks=[] if path.stem in OFTEN else pytest.mark.slow)
    for path in sorted(lab.NOTEBOOKS.glob("[0-9]*.ipynb"))
]


@pytest.mark.timeout(limit(2 * lab.RUN))
@pytest.mark.parametrize("name", CHAPTERS)
def test_run_all(name, server, browser):
    with lab.opened(browser, server, name) as notebook:
        cells = notebook.run_all()
        barriers = axe.violations(notebook.page, axe.OUTPUTS)
        notebook.change_theme("dark")
        barriers += axe.violations(notebook.page, axe.OUTPUTS, axe.COLOURS)
        notebook.change_theme("light")
        assert not list(lab.problems(notebook, cells))
        assert barriers == []
