"""Tests and nbval: limits that suit the machine; a learner's progress left alone; no port lost to others."""

import os
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

import nbval.kernel
import pytest
from hypothesis import settings
from jupyter_client.manager import KernelManager

sys.path.insert(0, str(Path(__file__).parent / "tests"))
import waiting  # noqa: E402
from progress_line import ProgressLine  # noqa: E402

os.environ["COURSE_PROGRESS"] = "off"
TEST, CELL = 500, 250  # starts that one may take


@pytest.hookimpl(tryfirst=True)  # before pytest-timeout looks
def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # pytest-xdist's workers are given the same
        config.option.timeout = config.option.timeout or round(waiting.limit(TEST))
        config.option.nbval_cell_timeout = round(waiting.limit(CELL))


def pytest_sessionstart(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and session.config.option.verbose <= 0:
        line = ProgressLine(reporter, session)
        session.config.pluginmanager.register(line, "progress-line")


# The same examples in every run; a long run, --hypothesis-profile=long, draws others and more.
settings.register_profile("usual", max_examples=50, derandomize=True, database=None, deadline=None)
settings.register_profile("long", max_examples=1000, database=None, deadline=None, print_blob=True)
settings.load_profile("usual")


# A kernel's ports are chosen before it starts, and it dies if somebody takes one meanwhile, as launches may:
# https://github.com/jupyter/jupyter_client/issues/487. Sockets in a folder of ours cannot be taken.
if sys.platform.startswith("linux"):
    SOCKETS = tempfile.TemporaryDirectory(prefix="nbval-")

    def kernel_manager(**options):
        path = os.path.join(SOCKETS.name, f"{uuid4()}.json")
        return KernelManager(transport="ipc", connection_file=path, **options)

    nbval.kernel.KernelManager = kernel_manager
