"""notebooks/several_machines: the worker file alone, and under two agents of torchrun as on two machines."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.regression import make_regression, sync_sgd

FOLDER = Path(__file__).resolve().parents[1] / "notebooks" / "several_machines"
LIMIT = 60  # seconds for two agents with two ranks each, which import torch six times


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


def two_agents():
    """What two agents of torchrun print; ended after LIMIT."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=2"]
    place = ["--master-addr=127.0.0.1", f"--master-port={port}"]
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    options = {"cwd": FOLDER, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    options["env"] = {**os.environ, "GLOO_SOCKET_IFNAME": loopback, "OMP_NUM_THREADS": "1"}
    agents = [
        subprocess.Popen([*command, *place, f"--node-rank={node}", "worker.py"], **options)
        for node in range(2)
    ]
    try:
        texts = [agent.communicate(timeout=LIMIT)[0] for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()
    return texts, [agent.returncode for agent in agents]


@pytest.mark.timeout(2 * LIMIT + 30)
def test_under_two_agents_of_torchrun():
    try:
        texts, codes = two_agents()
    except subprocess.TimeoutExpired:  # torchrun takes its port later than we looked; somebody may have it
        texts, codes = two_agents()
    assert codes == [0, 0], "\n".join(texts)
    assert report(texts[0]) == (4, expected())


def test_the_slurm_script_is_sound():
    subprocess.run(["bash", "-n", "run.slurm"], cwd=FOLDER, check=True)
    text = (FOLDER / "run.slurm").read_text(encoding="utf-8")
    assert "worker.py" in text and "#SBATCH --nodes" in text
