"""Cells with launches, run again and again as CI runs the notebooks: by nbval, outputs compared."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from processes_helper import environment_of_another_pytest
from waiting import limit

ROOT = Path(__file__).resolve().parents[1]
SETUP = """\
import numpy as np
from course_lib import launch

class Point:
    def __init__(self, x):
        self.x = x

def worker(comm):
    print(f"rank {comm.rank} begins")
    total = comm.all_reduce(np.array(comm.rank + 1.0))
    print(f"rank {comm.rank} has {total}")
    return Point(float(total))"""
LAUNCH = "print([point.x for point in launch(worker, 3).values])"
PRINTED = "".join(f"rank {rank} begins\nrank {rank} has 6.0\n" for rank in range(3)) + "[6.0, 6.0, 6.0]\n"
ANOTHER = """\
def worker(comm):
    print("rank", comm.rank)

_ = launch(worker, 2)"""
FAILING = """\
def worker(comm):
    wrong = 1 / comm.rank

try:
    launch(worker, 2)
except RuntimeError as error:
    for said in ("rank 0 raised ZeroDivisionError", "Cell In[", "wrong = 1 / comm.rank"):
        print(said in str(error))"""


@pytest.mark.parametrize("times", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_launches_print_the_same_every_time(tmp_path, times):  # C01, C02, C25
    """What their cells define comes along; an error shows the line of its cell."""
    pairs = [(SETUP, ""), (FAILING, "True\n" * 3), (ANOTHER, "rank 0\nrank 1\n"), (SETUP, "")]
    pairs += [(LAUNCH, PRINTED)] * times
    cells = [
        new_code_cell(
            code,
            execution_count=number,
            outputs=[new_output("stream", name="stdout", text=text)] if text else [],
        )
        for number, (code, text) in enumerate(pairs, 1)
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "launches.ipynb")
    nbval = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--nbval", "--nbval-current-env"]
    done = subprocess.run(
        [*nbval, "launches.ipynb"],
        cwd=tmp_path,
        env={**environment_of_another_pytest(), "PYTHONPATH": str(ROOT)},  # where the course's conftest.py is
        capture_output=True,
        text=True,
        timeout=limit(400),
    )
    assert (done.returncode, f"{len(cells)} passed" in done.stdout) == (0, True), done.stdout
