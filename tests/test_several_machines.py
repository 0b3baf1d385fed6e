"""notebooks/several_machines: the worker file alone, and under two agents of torchrun as on two machines."""

import re
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes_helper import IN_USE, nothing_left, write_script
from waiting import limit, within

from course_lib.regression import make_regression, sync_sgd
from course_lib.training import agents
from course_lib.training.agents import run_agents
from course_lib.training.ports import free_port, port_taken

FOLDER = Path(__file__).resolve().parents[1] / "notebooks" / "several_machines"


def report(text):
    """(ranks, loss) of the line that the worker file prints."""
    (ranks, loss) = re.findall(r"^(\d+) ranks, loss ([\d.]+), equal on all: True$", text, re.MULTILINE)[0]
    return int(ranks), float(loss)


def expected():
    return round(sync_sgd(*make_regression(), epochs=20).losses[-1], 6)


@contextmanager
def occupied():
    """A port at which somebody else listens; who connects waits for an answer."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.fixture
def ports(monkeypatch):
    """The ports that run_agents is to find free first."""
    given = []
    monkeypatch.setattr(agents, "free_port", lambda: given.pop(0) if given else free_port())
    return given


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, empty in the end; torch in a rank may keep a cache there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield
    assert not list(folder.iterdir()) and nothing_left()


def test_on_this_machine_alone():
    done = subprocess.run(
        [sys.executable, "worker.py"], cwd=FOLDER, capture_output=True, text=True, timeout=limit(300)
    )
    assert report(done.stdout) == (4, expected()), done.stderr


def test_under_two_agents_of_torchrun_though_their_port_is_taken_at_first(ports):
    with occupied() as taken:
        ports.append(taken)
        one, other = run_agents(FOLDER / "worker.py", timeout=limit(400))
    assert report(one) == (4, expected()) and "loss" not in other
    assert ports == [] and nothing_left()


def test_a_port_that_is_taken_every_time_is_named(monkeypatch):
    tried = []

    def agent(script, nodes, ranks, node, port, logs, output):
        """In place of torchrun, which takes a second or two to say this."""
        tried.append(port)
        said = IN_USE.format(port=port)
        return subprocess.Popen(["sh", "-c", f"echo '{said}'; exit 1"], stdout=output)

    monkeypatch.setattr(agents, "_start", agent)
    with pytest.raises(RuntimeError, match="port taken 4 times, the last time ") as caught:
        run_agents(FOLDER / "worker.py", nodes=1)
    assert len(tried) == 4 and f"the last time {tried[-1]}:" in str(caught.value)
    assert port_taken(str(caught.value)) == tried[-1]


def test_a_failure_of_the_workers_own_is_not_tried_again(tmp_path):
    """Not even one that looks as if the agents' port was taken."""
    script = write_script(
        tmp_path,
        """
        import os
        from torch.distributed import TCPStore

        open("ran", "a").write(".")
        del os.environ["TORCHELASTIC_USE_AGENT_STORE"]  # for which PyTorch is content with the agent's
        TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), is_master=True)
        """,
    )
    with pytest.raises(RuntimeError, match="the job has failed:(.|\n)*EADDRINUSE(.|\n)*FAILED"):
        run_agents(script, nodes=1, ranks=1, timeout=limit(400))
    assert (tmp_path / "ran").read_text() == "."


def test_an_agent_that_fails_ends_the_job_at_once(temporary, tmp_path):
    """Though the other waits, and has nothing to say; after more than a pipe holds."""
    script = write_script(
        tmp_path,
        """
        import os, time
        if os.environ["RANK"] == "1":
            print("x" * 2**20, flush=True)
            raise SystemExit("no data here")
        time.sleep(600)
        """,
    )
    with within(300), pytest.raises(RuntimeError, match="x{1000}(.|\n)*no data here") as caught:
        run_agents(script, ranks=1, timeout=limit(600))
    assert len(str(caught.value)) < 2 * agents.LONGEST


def test_agents_end_when_their_time_is_up(temporary, tmp_path):
    script = write_script(tmp_path, "import time; time.sleep(600)")
    seconds = limit(15)
    with pytest.raises(TimeoutError, match=f"did not end within {seconds} s"):
        run_agents(script, nodes=1, ranks=1, timeout=seconds)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"script": "none.py"}, FileNotFoundError, "there is no script .*none.py"),
        ({"nodes": 0}, ValueError, "nodes must be a whole number from 1 to 8; got 0"),
        ({"nodes": 9}, ValueError, "nodes must be a whole number from 1 to 8; got 9"),
        ({"ranks": 0}, ValueError, "ranks must be a whole number from 1 to 16; got 0"),
        ({"ranks": 17}, ValueError, "ranks must be a whole number from 1 to 16; got 17"),
        ({"timeout": 0}, ValueError, "timeout must be a finite number above 0; got 0"),
    ],
)
def test_bad_arguments_start_no_agent(options, error, message):
    with pytest.raises(error, match=message):
        run_agents(**{"script": __file__, **options})


def test_the_slurm_script_is_sound():
    subprocess.run(["bash", "-n", "run.slurm"], cwd=FOLDER, check=True)
    text = (FOLDER / "run.slurm").read_text(encoding="utf-8")
    assert "worker.py" in text and "#SBATCH --nodes" in text
    assert '--cpus-per-task="$SLURM_CPUS_PER_TASK"' in text
