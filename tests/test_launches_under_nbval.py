"""A cell with a launch, run again and again as CI runs the notebooks: by nbval, outputs compared."""

import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output
from processes_helper import environment_of_another_pytest

ROOT = Path(__file__).resolve().parents[1]
TIMES, LIMIT = 20, 110  # seconds; a quiet machine needs about 8
WORKER = """\
import numpy as np
from course_lib import launch

def worker(comm):
    print(f"rank {comm.rank} begins")
    total = comm.all_reduce(np.array(comm.rank + 1.0))
    print(f"rank {comm.rank} has {total}")
    return float(total)"""
LAUNCH = "print(launch(worker, 3).values)"
PRINTED = "".join(f"rank {rank} begins\nrank {rank} has 6.0\n" for rank in range(3)) + "[6.0, 6.0, 6.0]\n"


def test_launches_print_the_same_every_time(tmp_path):  # C25
    stored = [new_output("stream", name="stdout", text=PRINTED)]
    cells = [new_code_cell(WORKER, execution_count=1)]
    cells += [new_code_cell(LAUNCH, execution_count=2 + time, outputs=stored) for time in range(TIMES)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "launches.ipynb")
    nbval = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--nbval", "--nbval-current-env"]
    done = subprocess.run(
        [*nbval, "launches.ipynb"],
        cwd=tmp_path,
        env={**environment_of_another_pytest(), "PYTHONPATH": str(ROOT)},  # where the course's conftest.py is
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (done.returncode, f"{TIMES + 1} passed" in done.stdout) == (0, True), done.stdout
