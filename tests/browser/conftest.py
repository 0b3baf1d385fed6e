"""One JupyterLab and one Chromium for all here; what fails leaves a picture of its notebook, and the log."""

from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import lab
import pytest

HERE, RUNNING = Path(__file__).parent, ExitStack()


@cache
def chromium():
    if not find_spec("playwright"):
        pytest.skip("playwright is not installed")
    path = lab.find_browser() or pytest.skip("no Chromium: install one, or name it in CHROMIUM")
    return RUNNING.enter_context(lab.chromium(path))


@cache
def jupyter_lab():
    return RUNNING.enter_context(lab.jupyter_lab())


@pytest.fixture(scope="module")
def browser():
    return chromium()


@pytest.fixture(scope="module")
def server(browser):  # which comes first: without one, none is needed
    return jupyter_lab()


@pytest.hookimpl(trylast=True)  # when all fixtures are done
def pytest_runtest_teardown(nextitem):
    """Both end with the last of their tests here, for tests elsewhere look whether a process is left."""
    if nextitem is None or HERE not in nextitem.path.parents:
        RUNNING.close()
        chromium.cache_clear()
        jupyter_lab.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    # The fixture outlives its tests, so that it hears nothing of their errors.
    if report.failed and report.when != "teardown" and (notebook := item.funcargs.get("notebook")):
        notebook.keep(item.name)
    return report
