"""Every notebook as a learner meets it: opened in JupyterLab, Run All, every cell looked at; both themes."""

from importlib.util import find_spec

import axe
import lab
import pytest

BROWSER = lab.find_browser()
NAMES = [path.stem for path in sorted(lab.NOTEBOOKS.glob("[0-9]*.ipynb"))]

pytestmark = [
    pytest.mark.skipif(not find_spec("playwright"), reason="playwright is not installed"),
    pytest.mark.skipif(not BROWSER, reason="no Chromium: install one, or name it in CHROMIUM"),
    pytest.mark.timeout(lab.START + lab.OPEN + lab.RUN + 120),
]


@pytest.fixture(scope="module")
def server():
    with lab.jupyter_lab() as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with lab.chromium(BROWSER) as browser:
        yield browser


@pytest.mark.parametrize("name", NAMES)
def test_run_all(name, server, browser):
    with lab.opened(browser, server, name) as notebook:
        cells = notebook.run_all()
        barriers = axe.violations(notebook.page, axe.OUTPUTS)
        notebook.pictures(lab.ARTIFACTS, name)
        barriers += axe.violations(notebook.page, axe.OUTPUTS, axe.COLOURS)
        assert not list(lab.problems(notebook, cells))
        assert barriers == []
