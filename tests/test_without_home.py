"""Where nothing may be written below the home folder, or nothing is there yet; of launch: test_faults.py."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes_helper import run_script, write_script
from waiting import limit

ROOT = Path(__file__).resolve().parents[1]
# matplotlib speaks of its fonts after five seconds: here at once, for a machine that is slow.
LESSON = """
    import threading

    timer = threading.Timer
    threading.Timer = lambda seconds, call: timer(0, call)

    from course_lib import progress, simulate
    from course_lib.pictures import timeline

    picture = timeline(simulate(lambda comm: comm.compute(1), 2))
    print(len(picture.png) > 1000, picture.alt != "")
    progress.note("guess", "1.1", value=3)
    print(progress.guesses()["1.1"].guess)
"""


# The superuser may write everywhere but here.
@pytest.mark.parametrize("home", [None, "new", "/proc/self"])
def test_a_lesson_says_nothing_of_it(tmp_path, home):  # C26
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "MPLCONFIGDIR")}
    environment["COURSE_PROGRESS"] = str(tmp_path / "progress.jsonl")
    if home:
        environment["HOME"] = home if home.startswith("/") else str(tmp_path / home)
    printed = run_script(write_script(tmp_path, LESSON), env=environment)
    assert printed == "True True\n3\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_jupyterlab_says_what_it_needs():  # C26
    command = ["make", "-o", "install", "lab", f"BIN={Path(sys.executable).parent}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
    options = {"cwd": ROOT, "env": {**environment, "HOME": "/proc/self"}, "timeout": limit(300)}
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode and "HOME=" in done.stdout and "Traceback" not in done.stdout + done.stderr
