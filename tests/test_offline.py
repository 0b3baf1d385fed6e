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
from waiting import limit

ROOT = Path(__file__).resolve().parents[1]
IN_ALL = limit(2000)
CUT = """
import os, socket, subprocess, sys
socket.sethostname("nobody-knows-me")
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
TESTS = [
    "tests/test_launch.py::test_a_launch_joins_the_torchrun_job_that_it_is_in",
    "tests/test_publish.py::test_notes_are_kept_for_the_speaker",
    "notebooks/12_interview_questions.ipynb",
]
IN_A_BROWSER = "tests/browser/test_quiz_live.py::test_nothing_chosen_gets_a_hint"


@pytest.fixture(scope="module")
def cut():
    """Runs Python with these arguments without a network; skips where that is refused."""

    def python(*arguments, **options):
        command = [*new_network(), "--uts", sys.executable, "-c", CUT, *arguments]
        environment = environment_of_another_pytest()
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, **options)

    try:
        tried = python(
            "-c", "import socket; print(*[name for _, name in socket.if_nameindex()])", timeout=limit(300)
        )
    except FileNotFoundError as error:
        pytest.skip(f"there are no network namespaces here: {error}")
    if tried.returncode:
        pytest.skip(f"no network namespace is allowed here: {tried.stderr.strip().splitlines()[-1]}")
    assert tried.stdout.split() == ["lo"]
    return python


@pytest.mark.timeout(IN_ALL)
def test_what_works_without_a_network(cut):
    tests = [*TESTS, IN_A_BROWSER] if find_spec("playwright") and find_browser() else TESTS
    done = cut("-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env", *tests)
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout + done.stderr
