"""notebooks/several_machines: the worker file alone, and under two agents of torchrun as on two machines."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.regression import make_regression, sync_sgd
from course_lib.training.agents import run_agents

FOLDER = Path(__file__).resolve().parents[1] / "notebooks" / "several_machines"
LIMIT = 100  # seconds for two agents with two ranks each, which import torch six times


def report(text):
    """(ranks, loss) of the line that the worker file prints."""
    (ranks, loss) = re.findall(r"^(\d+) ranks, loss ([\d.]+), equal on all: True$", text, re.MULTILINE)[0]
    return int(ranks), float(loss)


def expected():
    return round(sync_sgd(*make_regression(), epochs=20).losses[-1], 6)


def test_on_this_machine_alone():
    done = subprocess.run(
        [sys.executable, "worker.py"], cwd=FOLDER, capture_output=True, text=True, timeout=LIMIT
    )
    assert report(done.stdout) == (4, expected()), done.stderr


@pytest.mark.timeout(2 * LIMIT + 30)
def test_under_two_agents_of_torchrun():
    try:
        texts = run_agents(FOLDER / "worker.py", timeout=LIMIT)
    except (TimeoutError, RuntimeError):  # torchrun takes its port later than we looked: somebody may have it
        texts = run_agents(FOLDER / "worker.py", timeout=LIMIT)
    assert report(texts[0]) == (4, expected())


def test_the_slurm_script_is_sound():
    subprocess.run(["bash", "-n", "run.slurm"], cwd=FOLDER, check=True)
    text = (FOLDER / "run.slurm").read_text(encoding="utf-8")
    assert "worker.py" in text and "#SBATCH --nodes" in text
    assert '--cpus-per-task="$SLURM_CPUS_PER_TASK"' in text
