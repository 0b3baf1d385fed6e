"""A pytest plugin: one line says how far the tests are, and what has failed is named at once."""

import time

import pytest


class ProgressLine:
    """Stands in for the dots. Where a line cannot be written over, as in a log, it shows at each tenth."""

    def __init__(self, reporter, session):
        self.reporter, self.session, self.begin = reporter, session, time.monotonic()
        self.done = self.failed = self.tenths = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self):
        category, _, _ = yield
        return category, "", ""

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed += 1
            self.write(f"FAILED {report.nodeid}", red=True)
        if report.when == "teardown":
            self.done += 1
            self.show(report.nodeid.split("::")[0])

    def show(self, file):
        total, spent = self.session.testscollected, round(time.monotonic() - self.begin)
        text = f"{self.done:,} of {total:,}, {self.failed} failed, {spent // 60}:{spent % 60:02}; now {file}"
        tenths = 10 * self.done // max(total, 1)
        if self.reporter.isatty:
            self.reporter.rewrite(text, erase=True)
        elif tenths > self.tenths:
            self.write(text)
        self.tenths = tenths

    def write(self, text, **look):
        self.reporter.ensure_newline()
        self.reporter.write_line(text, **look)
