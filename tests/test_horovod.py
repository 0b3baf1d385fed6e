"""Horovod beside DDP: what was recorded, and what is said where Horovod is not there."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import limit

from course_lib import data, launch
from course_lib.training import DigitsConfig, digits_worker

FOLDER = Path(__file__).resolve().parents[1] / "notebooks" / "with_horovod"
KEYS = set(
    """machine date horovod torch ranks steps largest_parameter_difference final_loss_ddp final_loss_horovod
seconds_ddp seconds_horovod""".split()
)


def run(*command, **environment):
    options = {"capture_output": True, "text": True, "timeout": limit(300)}
    return subprocess.run(command, env={**os.environ, **environment}, **options)


def test_the_recording_shows_equal_results():
    recorded = data.horovod()
    assert recorded.keys() == KEYS
    assert recorded["horovod"] == "0.28.1"
    assert 0 <= recorded["largest_parameter_difference"] <= 1e-6
    assert recorded["final_loss_horovod"] == pytest.approx(recorded["final_loss_ddp"], abs=1e-6)
    assert min(recorded["seconds_ddp"], recorded["seconds_horovod"]) > 0


def test_it_was_the_training_that_the_course_runs():
    recorded = data.horovod()
    result = launch(digits_worker(DigitsConfig()), recorded["ranks"], threads=1).values[0]
    assert len(result.losses) == recorded["steps"]
    assert result.training_loss == pytest.approx(recorded["final_loss_ddp"], rel=1e-3)


@pytest.mark.skipif(importlib.util.find_spec("horovod") is not None, reason="Horovod is installed here")
def test_without_horovod_it_says_how_to_get_it():
    done = run(sys.executable, str(FOLDER / "compare.py"))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "needs Horovod" in done.stderr and "`make horovod`" in done.stderr


def test_without_a_compiler_nothing_is_installed(tmp_path):
    environment = tmp_path / "environment"
    found = {"PYTHON": sys.executable, "CXX": "no-such-compiler"}
    done = run("sh", str(FOLDER / "install.sh"), str(environment), **found)
    assert done.returncode == 1 and not environment.exists()
    assert "there is no C++ compiler (no-such-compiler)" in done.stderr and "build-essential" in done.stderr


def test_the_compiler_is_told_cxx17():
    done = run(str(FOLDER / "cxx17"), "-g", "-O3", "-std=c++14", "-DA=b c", "x.cc", CXX17="echo")
    assert done.stdout == "-O3 -std=c++17 -DA=b c x.cc\n"
