"""notebooks/fault_tolerance: a rank is killed under torchrun, and nothing is lost but time."""

import io
import os
import signal
import subprocess
from pathlib import Path

import pytest
from processes_helper import IN_USE, TORCHRUN, nothing_left, write_script
from waiting import limit

from course_lib.pictures.recovery import recovery_timeline
from course_lib.training.job_log import Event, JobLog, read_log
from course_lib.training.recovery import JobRun, Recovery, recovery, run_job

SCRIPT = Path(__file__).resolve().parents[1] / "notebooks" / "fault_tolerance" / "train.py"
STEPS, KILLED, SAVED = 18, 10, 8  # of the script; checkpoints after every 4 steps


@pytest.fixture(scope="module")
def both():
    return recovery(SCRIPT, kill_rank=1, kill_step=KILLED, timeout=limit(450))


def test_a_killed_rank_costs_time_and_nothing_else(both):
    job = both.disturbed
    assert both.same and len(job.digests) == len(both.undisturbed.digests) == 2
    assert (both.undisturbed.restarts, job.restarts) == (0, 1)
    assert both.undisturbed.steps_twice == () and job.steps_twice == (SAVED, SAVED + 1)
    assert [(event.rank, event.step) for event in job.of("kill")] == [(1, KILLED)]
    assert {(event.attempt, event.step) for event in job.of("start")} == {(0, 0), (1, SAVED)}
    for rank in range(2):
        assert [event.step for event in both.undisturbed.of("step", rank)] == list(range(STEPS))
        steps = [event.step for event in job.of("step", rank)]
        assert steps == [*range(KILLED), *range(SAVED, STEPS)]
    assert 0 < job.lost < job.seconds
    assert nothing_left()


@pytest.mark.slow
def test_the_command_does_the_same(both, tmp_path):
    """As the script's own text says: torchrun, and ranks that start from nothing."""
    command = [*TORCHRUN, "--max-restarts=3", f"--log-dir={tmp_path}", "--nproc-per-node=2"]
    command += [SCRIPT, "--folder", tmp_path]
    settings = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "OMP_NUM_THREADS": "1"}
    options = {"env": {**os.environ, **settings}, "stdout": subprocess.DEVNULL, "timeout": limit(450)}
    subprocess.run([*command, "--kill", "1", str(KILLED)], stderr=subprocess.DEVNULL, check=True, **options)
    job = JobRun(tuple(read_log(tmp_path)))
    assert job.restarts == 1 and job.steps_twice == both.disturbed.steps_twice
    assert job.digests == both.disturbed.digests


def test_its_picture(both):
    from matplotlib.image import imread

    picture = recovery_timeline(both)
    image = imread(io.BytesIO(picture.png))[..., :3]
    assert all((edge > 0.99).all() for edge in (image[0], image[-1], image[:, 0], image[:, -1]))
    assert "Killed at step 10, resumed at 8: the same parameters" in picture.numbers[0]
    assert "rank 1 is killed at step 10" in picture.alt and "2 steps are done twice" in picture.alt


def test_the_script_is_short_enough_to_be_read():
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) <= 85


# Jobs that go wrong


def test_a_job_that_takes_too_long_is_ended(tmp_path):
    script = write_script(
        tmp_path,
        f"""
        import time
        print("here I stay", flush=True)
        open({str(tmp_path)!r} + "/begun", "w").close()
        time.sleep(600)
        """,
    )
    begun = tmp_path / "begun"
    for starts in (25, 100, 300):  # until torchrun has come so far as to start its ranks
        with pytest.raises(TimeoutError, match="did not end in time"):
            recovery(script, ranks=1, kill_rank=0, timeout=limit(starts))
        assert nothing_left()
        if begun.exists():
            return
    pytest.fail("torchrun did not start its ranks")


def test_an_interrupt_leaves_nothing(tmp_path):
    """Of a rank that does not listen to torchrun either."""
    script = write_script(
        tmp_path,
        f"""
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.kill({os.getpid()}, signal.SIGINT)
        time.sleep(600)
        """,
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background job
    try:
        with pytest.raises(KeyboardInterrupt):
            run_job(script, ranks=1, timeout=limit(300))
    finally:
        signal.signal(signal.SIGINT, before)
    assert nothing_left()


def test_a_job_that_fails_shows_what_it_printed(tmp_path):
    script = write_script(tmp_path, "raise SystemExit('no such data set')")
    with pytest.raises(RuntimeError, match=r"the job failed \(exit code 1\); it printed(.|\n)*FAILED"):
        recovery(script, ranks=1, kill_rank=0, timeout=limit(450))


def test_a_job_whose_port_was_taken_is_done_again(tmp_path):
    """torchrun chooses the ranks' port, and starts them anew where they cannot have it: no accident."""
    script = write_script(
        tmp_path,
        """
        import os, socket, sys
        from pathlib import Path
        import torch.distributed as dist
        from course_lib.training.job_log import JobLog

        tries = Path(__file__).with_name("tries")
        first, _ = not tries.exists(), tries.open("a").write(os.environ["TORCHELASTIC_RESTART_COUNT"])
        with socket.socket() as taken:
            if first:
                taken.bind(("127.0.0.1", int(os.environ["MASTER_PORT"])))
                taken.listen()
            dist.init_process_group("gloo")
        JobLog(sys.argv[2]).write("done", 1, "a")
        dist.destroy_process_group()
        """,
    )
    job = run_job(script, ranks=1, timeout=limit(450))
    assert (tmp_path / "tries").read_text() == "010"  # restarted by torchrun, and once more as new
    assert (job.restarts, job.digests) == (0, ("a",)) and job.seconds > 0
    assert nothing_left()


def test_a_port_that_is_taken_every_time_is_named(monkeypatch):
    ports = []

    class Agent:
        def __init__(self, *script, output, **options):
            ports.append(4000 + len(ports))
            Path(output).write_text(IN_USE.format(port=ports[-1]))

        def wait(self, seconds):
            return 1

        def poll(self):
            return 1

        def close(self):
            pass

    monkeypatch.setattr("course_lib.training.recovery.start_agent", Agent)
    with pytest.raises(RuntimeError, match="port taken 4 times, the last time 4003; "):
        run_job(SCRIPT)
    assert len(ports) == 4


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"script": "no/such/file.py"}, FileNotFoundError, "no/such/file.py"),
        ({"ranks": 0}, ValueError, "ranks must be a whole number of at least 1; got 0"),
        ({"kill_rank": 2}, ValueError, "kill_rank must be a whole number from 0 to 1; got 2"),
        ({"kill_step": -1}, ValueError, "kill_step must be a whole number of at least 0; got -1"),
        ({"timeout": 0}, ValueError, "timeout must be a finite number above 0; got 0"),
    ],
)
def test_bad_arguments_start_nothing(options, error, message):
    with pytest.raises(error, match=message):
        recovery(**{"script": SCRIPT, **options})


@pytest.mark.parametrize("kill", [1, (1,), (0, 1, 2), "ab"[:1]])
def test_an_accident_is_a_rank_and_a_step(kill):
    with pytest.raises(TypeError, match="kill must be "):
        run_job(SCRIPT, kill=kill)


# The log


def test_the_log_is_read_in_order_of_time(tmp_path, monkeypatch):
    assert read_log(tmp_path / "none") == []
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    for rank in ("1", "0"):
        monkeypatch.setenv("RANK", rank)
        JobLog(tmp_path / "new").write("step", 3)
    events = read_log(tmp_path / "new")
    assert [(event.rank, event.attempt, event.step, event.pid) for event in events] == [
        (1, 2, 3, os.getpid()),
        (0, 2, 3, os.getpid()),
    ]


def made_up(*rows):
    """A JobRun of (kind, rank, attempt, seconds, step[, digest])."""
    return JobRun(tuple(Event(*row, *[""] * (6 - len(row)), 1) for row in rows))


def test_what_a_log_says():
    job = made_up(
        ("start", 0, 0, 1.0, 0),
        ("step", 0, 0, 2.0, 0),
        ("step", 0, 0, 3.0, 1),
        ("kill", 1, 0, 3.5, 2),
        ("start", 0, 1, 7.0, 1),
        ("step", 0, 1, 8.0, 1),
        ("step", 0, 1, 9.0, 2),
        ("step", 1, 1, 9.5, 2),
        ("done", 1, 1, 10.0, 3, "b"),
        ("done", 0, 1, 11.0, 3, "a"),
    )
    assert (job.steps_twice, job.restarts, job.digests, job.seconds, job.lost) == ((1,), 1, ("a", "b"), 11, 6)
    same = made_up(("done", 0, 0, 1.0, 3, "a"))
    assert Recovery(same, same).same and not Recovery(same, job).same
