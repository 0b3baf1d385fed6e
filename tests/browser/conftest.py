"""A failed test of an open notebook leaves a picture of it, and JupyterLab's log."""

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    # The fixture outlives its tests, so that it hears nothing of their errors.
    if report.failed and report.when != "teardown" and (notebook := item.funcargs.get("notebook")):
        notebook.keep(item.name)
    return report
