"""Without a network, on a machine whose name nobody knows: other tests once more, with only loopback there.

That site and slides ask for nothing from elsewhere: browser/test_published.py, which hears every request.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from browser.lab import find_browser
from lab_network import new_network
from processes_helper import environment_of_another_pytest

ROOT = Path(__file__).resolve().parents[1]
LIMIT, IN_ALL = 120, 500  # seconds: of one test and of all, on a machine that is very busy
CUT = """
import os, socket, subprocess, sys
socket.sethostname("nobody-knows-me")
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
WITHOUT_BROWSER = [
    "tests/test_launch.py::test_a_launch_joins_the_torchrun_job_that_it_is_in",
    "tests/test_publish.py::test_notes_are_kept_for_the_speaker",
    "notebooks/01_visual_demo.ipynb",
]
IN_A_BROWSER = ["tests/browser/test_widgets_live.py::test_every_fast_press_counts"]


@pytest.fixture(scope="module")
def cut():
    """Runs Python with these arguments without a network; skips where that is refused."""

    def python(*arguments, **options):
        command = [*new_network(), "--uts", sys.executable, "-c", CUT, *arguments]
        environment = environment_of_another_pytest()
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, **options)

    try:
        tried = python("-c", "import socket; print(*[name for _, name in socket.if_nameindex()])", timeout=60)
    except FileNotFoundError as error:
        pytest.skip(f"there are no network namespaces here: {error}")
    if tried.returncode:
        pytest.skip(f"no network namespace is allowed here: {tried.stderr.strip().splitlines()[-1]}")
    assert tried.stdout.split() == ["lo"]
    return python


@pytest.mark.timeout(IN_ALL + 100)
@pytest.mark.parametrize("tests", [WITHOUT_BROWSER, IN_A_BROWSER], ids=["library", "browser"])
def test_what_works_without_a_network(cut, tests):
    if tests is IN_A_BROWSER and (not find_spec("playwright") or not find_browser()):
        pytest.skip("no Playwright, or no Chromium")
    pytest_ = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--timeout={LIMIT}"]
    nbval = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=60"]
    done = cut(*pytest_, *nbval, *tests, timeout=IN_ALL)
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout + done.stderr
