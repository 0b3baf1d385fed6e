"""One JupyterLab and one Chromium for all here; what fails leaves a picture of its notebook, and the log."""

from importlib.util import find_spec

import lab
import pytest


@pytest.fixture(scope="package")
def browser():
    if not find_spec("playwright"):
        pytest.skip("playwright is not installed")
    path = lab.find_browser() or pytest.skip("no Chromium: install one, or name it in CHROMIUM")
    with lab.chromium(path) as browser:
        yield browser


@pytest.fixture(scope="package")
def server(browser):  # which comes first: without one, none is needed
    with lab.jupyter_lab() as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    # The fixture outlives its tests, so that it hears nothing of their errors.
    if report.failed and report.when != "teardown" and (notebook := item.funcargs.get("notebook")):
        notebook.keep(item.name)
    return report
