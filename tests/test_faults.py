"""Whatever goes wrong in a rank or around it: named, in time, and nothing stays behind."""

import ctypes
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from processes_helper import descendants, nothing_left, run_script, start_script, write_script
from waiting import limit, until, within

from course_lib import RankError, launch, simulate
from course_lib.processes import server
from course_lib.processes.folder import OUTPUT_LIMIT, PREFIX

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="tells of the forked ranks of Linux"
)


@pytest.fixture(autouse=True, scope="module")
def warm():
    launch(lambda comm: None, 1)


@contextmanager
def failing(reason, rank, *words, starts=15):
    """The block must raise RankError of this kind, whose text has these words in this order, in time."""
    with within(starts), pytest.raises(RankError) as caught:
        yield caught
    text = str(caught.value)
    assert (caught.value.reason, caught.value.rank) == (reason, rank), text
    place = 0
    for word in words:
        assert word in text[place:], f"{word!r} is not in\n{text[place:]}"
        place = text.index(word, place) + len(word)
    assert nothing_left()


@pytest.fixture
def seconds():
    """A time limit for ranks that wait in vain: long enough for all to do so."""
    return limit(5)


# A rank fails


@pytest.mark.fast
def test_a_rank_raises():  # C06
    def worker(comm):
        if comm.rank == 1:
            raise ValueError("boom")
        comm.barrier()

    with failing(
        "raised", 1, "rank 1 raised ValueError: boom", "in worker", 'raise ValueError("boom")'
    ) as caught:
        launch(worker, 4)
    assert "course_lib/processes/" not in str(caught.value)


@pytest.mark.fast
def test_the_first_to_raise_is_the_cause(tmp_path):
    sign = tmp_path / "sign"

    class First(RuntimeError):
        def __str__(self):  # asked for once it is noted when
            sign.touch()
            return "by 2"

    def worker(comm):
        if comm.rank == 2:
            raise First
        while not sign.exists():
            time.sleep(0.01)
        raise RuntimeError(f"by {comm.rank}")

    with failing("raised", 2, "rank 2 raised First: by 2", "soon after, failed too: rank"):
        launch(worker, 4)


@pytest.mark.fast
def test_errors_that_cannot_be_pickled_or_printed():
    class Odd(Exception):
        def __init__(self, lock):
            self.lock = lock

        def __str__(self):
            return "odd"

    def worker(comm):
        import threading

        raise Odd(threading.Lock())

    with failing("raised", 0, "Odd: odd"):
        launch(worker, 1)
    with failing("left", 0, "exit code 3"):
        launch(lambda comm: sys.exit(3), 1)


@pytest.mark.fast
@pytest.mark.parametrize("others", ["all_reduce", "recv", "torch", "computing"])
def test_a_rank_is_killed(others):
    def worker(comm):
        if comm.rank == 1:
            print("last words")
            os.kill(os.getpid(), signal.SIGKILL)
        if others == "all_reduce":
            comm.all_reduce(np.ones(1))
        elif others == "recv":
            comm.recv(source=1)
        elif others == "torch":
            torch.distributed.all_reduce(torch.ones(1))
        else:
            time.sleep(60)

    with failing("killed", 1, "rank 1 was killed by SIGKILL (signal 9)", "last words"):
        launch(worker, 3)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("die", "reason", "words"),
    [
        (lambda: ctypes.string_at(0), "killed", "killed by SIGSEGV"),
        (lambda: os.abort(), "killed", "killed by SIGABRT"),
        (lambda: os._exit(0), "left", "rank 0 left without a result (exit code 0)"),
        (lambda: os._exit(7), "left", "rank 0 left without a result (exit code 7)"),
    ],
)
def test_a_rank_ends_by_itself(die, reason, words):
    def worker(comm):
        if comm.rank == 0:
            die()
        comm.barrier()

    with failing(reason, 0, words):
        launch(worker, 2)


@pytest.mark.fast
def test_a_dead_rank_is_noticed_though_its_children_hold_its_pipes():
    def worker(comm):
        if os.fork() == 0:
            time.sleep(60)
        os.kill(os.getpid(), signal.SIGKILL)

    with failing("killed", 0, "SIGKILL"):
        launch(worker, 1)


@pytest.mark.fast
@pytest.mark.parametrize("fails", [True, False])
def test_children_of_a_rank_end_with_the_run(fails):
    def worker(comm):
        child = subprocess.Popen(["sleep", "1000"])
        if fails:
            raise ValueError("boom")
        return child.pid

    if fails:
        with failing("raised", 0, "boom"):
            launch(worker, 1)
    else:
        (pid,) = launch(worker, 1).values
        assert until(lambda: not alive(pid), 10)


@pytest.mark.fast
def test_a_rank_that_ends_after_its_worker_returned():
    def worker(comm):
        if comm.rank == 0:
            import threading

            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        else:
            comm.compute(60)

    with failing("killed", 0, "rank 0 was killed by SIGKILL"):
        launch(worker, 2)


# Ranks wait in vain


@pytest.mark.fast
@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (lambda comm: comm.barrier(), "waits in barrier"),
        (lambda comm: comm.all_reduce(np.ones(3), op="mean"), "waits in all_reduce mean"),
        (lambda comm: comm.broadcast(np.ones(3), source=1), "waits in broadcast from 1"),
        (lambda comm: comm.recv(source=1), "waits in recv from rank 1"),
        (lambda comm: comm.all_reduce(np.ones(3), wait=False).wait(), "waits in all_reduce sum"),
    ],
)
def test_a_rank_returns_though_others_count_on_it(wait, words):  # C07
    def worker(comm):
        if comm.rank != 1:
            wait(comm)

    with failing("left", 1, "rank 1 returned, but rank", words):
        launch(worker, 3)


@pytest.mark.fast
def test_a_server_waits_for_anybody_but_all_have_returned():
    def worker(comm):
        if comm.rank > 0:
            comm.send(np.ones(1), to=0)
            return
        for _ in range(3):
            comm.recv_any()

    with failing("left", 1, "rank 1 returned, but rank 0 waits in recv_any"):
        launch(worker, 3)


@pytest.mark.fast
def test_who_returns_early_and_owes_nothing_does_no_harm():
    def worker(comm):
        if comm.rank == 1:
            comm.send(np.ones(3), to=0)
            return 0.0
        time.sleep(0.5)
        if comm.rank == 0:
            comm.send(comm.recv(source=1), to=2)
            return 1.0
        return float(comm.recv(source=0).sum())

    assert launch(worker, 3).values == [1.0, 0.0, 3.0]


@pytest.mark.fast
def test_a_rank_hangs(seconds):
    def worker(comm):
        def stuck():
            while True:
                time.sleep(0.1)

        if comm.rank == 1:
            stuck()
        comm.barrier()

    words = [
        f"no end within {seconds:g} s",
        "rank 0 waits in barrier",
        "rank 1 is in its own code",
        "rank 2 waits in barrier",
    ]
    with failing("timeout", 1, *words, "stacks of rank 1", "in stuck", starts=30) as caught:
        launch(worker, 3, timeout=seconds)
    assert "_leave_with_launcher" not in str(caught.value)


@pytest.mark.fast
def test_a_rank_hangs_and_holds_the_interpreter(seconds):
    def worker(comm):
        ctypes.PyDLL(None).sleep(100)

    with failing("timeout", 0, "rank 0 is in its own code", "in worker", starts=30):
        launch(worker, 1, timeout=seconds)


@pytest.mark.fast
def test_all_wait_for_a_message_that_nobody_sends(seconds):
    words = ["rank 0 waits in recv from rank 1", "rank 1 waits in recv from rank 0", "in worker"]

    def worker(comm):
        comm.recv(source=1 - comm.rank)

    with failing("timeout", 0, *words, starts=30):
        launch(worker, 2, timeout=seconds)


@pytest.mark.fast
def test_one_is_not_in_the_collective_of_torch_itself(seconds):
    def worker(comm):
        if comm.rank != 2:
            torch.distributed.all_reduce(torch.ones(1))

    words = ["rank 2 has returned", "stacks of rank 0", "all_reduce", "in worker"]
    with failing("timeout", 0, *words, starts=30):
        launch(worker, 3, timeout=seconds)


# Ranks disagree


@pytest.mark.fast
@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (
            lambda comm: comm.all_reduce(np.ones(3)),
            lambda comm: comm.all_reduce(np.ones(4)),
            ["(3,)", "(4,)"],
        ),
        (
            lambda comm: comm.all_reduce(np.ones(3)),
            lambda comm: comm.all_reduce(np.ones(3, np.float32)),
            ["float64", "float32"],
        ),
        (
            lambda comm: comm.all_reduce(np.ones(3)),
            lambda comm: comm.all_reduce(np.ones(3), op="mean"),
            ["all_reduce sum", "all_reduce mean"],
        ),
        (
            lambda comm: comm.all_reduce(np.ones(3)),
            lambda comm: comm.all_reduce(torch.ones(3, dtype=torch.float64)),
            ["array", "tensor"],
        ),
        (lambda comm: comm.barrier(), lambda comm: comm.broadcast(np.ones(1), 0), ["barrier", "broadcast"]),
        (
            lambda comm: comm.broadcast(np.ones(1), 0),
            lambda comm: comm.broadcast(np.ones(1), 1),
            ["broadcast from 0", "broadcast from 1"],
        ),
        (
            lambda comm: comm.all_reduce(np.ones(3)),
            lambda comm: comm.all_reduce(np.ones((3, 1)), wait=False).wait(),
            ["(3,)", "(3, 1)"],
        ),
    ],
)
def test_ranks_that_disagree_about_a_collective(one, other, words):
    def worker(comm):
        comm.barrier()
        return one(comm) if comm.rank != 1 else other(comm)

    first, second = words
    with failing(
        "mismatch", 1, "rank 0 asked for", first, "rank 1 asked for", second, "rank 2 asked for", first
    ):
        launch(worker, 3)


def test_ranks_that_disagree_about_a_collective_of_torch():
    def worker(comm):
        torch.distributed.all_reduce(torch.ones(3 + comm.rank))

    with pytest.raises(RankError, match="mismatch between collectives") as caught:
        launch(worker, 2, debug=True)
    for word in ("TensorShape=[3]", "TensorShape=[4]", "in worker"):
        assert word in str(caught.value)
    assert nothing_left()


# Results and output


@pytest.mark.fast
def test_a_result_that_cannot_be_pickled():
    with failing(
        "raised", 0, "rank 0 finished, but the worker's result, a generator, cannot be sent back"
    ) as caught:
        launch(lambda comm: (i for i in range(3)) if comm.rank == 0 else None, 2)
    assert "Traceback" not in str(caught.value)


def test_a_result_of_200_megabytes():
    run = launch(lambda comm: np.full(25_000_000, float(comm.rank)), 2)
    assert [(value.nbytes, value[-1]) for value in run.values] == [(200_000_000, 0.0), (200_000_000, 1.0)]


@pytest.mark.fast
def test_ten_megabytes_of_prints_are_cut(capfd):
    def worker(comm):
        for i in range(100_000):
            print(f"{i:99}")

    run = launch(worker, 2)
    for text in run.output:
        assert text.startswith(f"{0:99}\n")
        assert text.endswith(f"… cut after {OUTPUT_LIMIT:,} bytes\n")
        assert len(text) < OUTPUT_LIMIT + 100
    capfd.readouterr()


@pytest.mark.fast
def test_a_flood_of_errors_from_c(capfd):
    def worker(comm):
        libc, flood = ctypes.CDLL(None), b"flood\n" * 10_000
        for _ in range(2000):  # 120 MB
            libc.write(2, flood, len(flood))
        libc.printf(b"%s", b"in C's buffer")

    run = launch(worker, 1)
    assert run.output[0].startswith("flood\n")
    assert len(run.output[0]) < OUTPUT_LIMIT + 100
    capfd.readouterr()
    assert launch(lambda comm: ctypes.CDLL(None).printf(b"in C's buffer") and None, 1).output == [
        "in C's buffer"
    ]


# The kernel is interrupted, or dies


INTERRUPTED = """
    import signal, sys, time
    from pathlib import Path
    from course_lib import launch
    from course_lib.processes import server

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it

    def worker(comm):
        Path(f"running-{comm.rank}").touch()
        time.sleep(1000)

    for _ in sys.stdin:
        try:
            launch(worker, 2)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(launch(lambda comm: comm.size, 2).values, server._server._forkserver_pid, flush=True)
"""


def loads_torch(process):
    """True if a process below this one, the fork server, has begun to load torch."""
    for child in process.children():
        with suppress(psutil.Error, OSError):
            if "/libtorch" in Path(f"/proc/{child.pid}/maps").read_text():
                return True
    return False


def test_the_kernel_is_interrupted(tmp_path, subtests):
    process = start_script(
        write_script(tmp_path, INTERRUPTED), cwd=tmp_path, stdin=subprocess.PIPE, start_new_session=True
    )
    kernel, servers = psutil.Process(process.pid), set()
    for when, moment in {
        "preloading": lambda: loads_torch(kernel),
        "starting": lambda: descendants(kernel),
        "running": lambda: all((tmp_path / f"running-{rank}").exists() for rank in range(2)),
    }.items():
        with subtests.test(when):
            process.stdin.write("go\n")
            process.stdin.flush()
            assert until(moment, 150)
            with within(10):
                os.killpg(process.pid, signal.SIGINT)  # as a terminal and Jupyter do: to all of the group
                assert process.stdout.readline() == "interrupted\n"
            values, _, server_pid = process.stdout.readline().rpartition(" ")
            assert values == "[2, 2]" and nothing_left(kernel)
            servers.add(server_pid)
    printed, _ = process.communicate(timeout=limit(100))
    assert (printed, process.returncode, len(servers)) == ("", 0, 1)


def test_a_rank_that_finds_no_folder_any_more_leaves_without_a_word(tmp_path):
    """The launcher was interrupted while it started."""
    code = "from course_lib.processes import rank, server; end, mine = server.pipe(); rank.run(0, {!r}, mine)"
    command = [sys.executable, "-c", code.format(str(tmp_path / "gone"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit(100))
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 1)


KILLED = """
    import ctypes, os, signal, time
    from pathlib import Path
    from course_lib import launch

    def worker(comm):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(f"pid-{comm.rank}").write_text(str(os.getpid()))
        if comm.rank == 1:
            ctypes.PyDLL(None).sleep(1000)
        if comm.rank == 2:
            while True:
                pass
        comm.barrier()

    launch(worker, 3)
"""


def test_the_kernel_is_killed(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    process = start_script(
        write_script(tmp_path, KILLED), cwd=tmp_path, env={**os.environ, "TMPDIR": str(folder)}
    )
    pids = [tmp_path / f"pid-{rank}" for rank in range(3)]
    assert until(lambda: all(path.exists() and path.read_text() for path in pids), 300)
    below = psutil.Process(process.pid).children(recursive=True)
    assert len(below) == 5  # the ranks, their server, and multiprocessing's tracker
    process.kill()
    process.wait()
    assert until(lambda: not any(alive(child.pid) for child in below), 10)
    assert list(folder.glob(f"{PREFIX}*"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert launch(lambda comm: comm.rank, 1).values == [0]
    assert not list(folder.glob(f"{PREFIX}*"))


# Others around us


@pytest.mark.fast
def test_the_fork_server_is_killed_between_launches():
    launch(lambda comm: None, 1)
    os.kill(server._server._forkserver_pid, signal.SIGKILL)
    assert launch(lambda comm: comm.rank, 2).values == [0, 1]


def test_the_fork_server_is_killed_during_a_launch():
    def worker(comm):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)

    with pytest.raises(RankError, match="perhaps the fork server, which starts the ranks, was killed"):
        launch(worker, 2)
    assert nothing_left()
    assert launch(lambda comm: comm.rank, 2).values == [0, 1]


def test_somebody_else_has_started_a_fork_server(tmp_path):
    script = write_script(
        tmp_path,
        """
        import multiprocessing, os, time
        from course_lib import launch

        if __name__ == "__main__":
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(["json"])
            process = context.Process(target=os.getpid)
            process.start()
            process.join()
            launch(lambda comm: None, 2)
            print(launch(lambda comm: comm.rank, 2).values)
            process = context.Process(target=os.getpid)
            process.start()
            process.join()
            print(process.exitcode)
        """,
    )
    assert run_script(script).splitlines() == ["[0, 1]", "0"]


@pytest.mark.fast
def test_three_launches_from_three_threads_one_of_which_fails():
    def attempt(i):
        try:
            return launch(worker_of(i), 2).values
        except RankError as error:
            return str(error)

    def worker_of(i):
        def worker(comm):
            if i == 1 and comm.rank == 1:
                os._exit(3)
            return float(comm.all_reduce(np.array(float(i))))

        return worker

    with ThreadPoolExecutor(3) as pool:
        first, second, third = pool.map(attempt, range(3))
    assert (first, third) == ([0.0, 0.0], [4.0, 4.0])
    assert second.startswith("rank 1 left without a result (exit code 3)")
    assert nothing_left()


def test_two_notebooks_at_once_one_with_a_long_path_for_temporary_files(tmp_path, subtests):
    """A socket's path may have 107 bytes, and the fork server listens at one."""
    text = """
        import os
        import numpy as np
        from course_lib import launch
        from course_lib.processes import server
        for _ in range(5):
            print(launch(lambda comm: float(comm.all_reduce(np.array(1.0))), 2).values)
        print(os.path.dirname(server._server._forkserver_address))
    """
    script, long = write_script(tmp_path, text), tmp_path / ("long" * 25)
    long.mkdir()
    with tempfile.TemporaryDirectory(dir="/tmp") as short, ThreadPoolExecutor(2) as pool:
        environments = [{**os.environ, "TMPDIR": str(folder)} for folder in (short, long)]
        both = list(pool.map(lambda each: run_script(script, env=each), environments))
        left = [*os.listdir(short), *os.listdir(long)]
    for printed, listens in zip(both, (f"{short}/pymp-", "/tmp/pymp-"), strict=True):
        with subtests.test(listens):
            *values, used = printed.splitlines()
            assert values == ["[2.0, 2.0]"] * 5 and used.startswith(listens)
            assert not os.path.exists(used) and not left


@pytest.mark.fast
def test_the_usual_port_is_taken():  # C05
    with socket.socket() as taken:
        try:
            taken.bind(("", 29500))
            taken.listen()
        except OSError:
            pass  # by somebody else: just as well
        assert launch(lambda comm: comm.size, 2).values == [2, 2]


def traces():
    """How much of what a launch could leave behind is there."""
    me, fork_server = psutil.Process(), psutil.Process(server._server._forkserver_pid)
    return {
        "descriptors": me.num_fds(),
        "descriptors of the fork server": fork_server.num_fds(),
        "threads": me.num_threads(),
        "processes": len(me.children(recursive=True)),
        "folders": len(glob.glob(os.path.join(tempfile.gettempdir(), f"{PREFIX}{os.getpid()}-*"))),
    }


def shared_memory():
    """The names of the shared memory that no live program but us maps: a browser does, beside us."""
    names = set(os.listdir("/dev/shm"))
    ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    for pid in set(psutil.pids()) - ours:
        with suppress(OSError):  # ended meanwhile, or another user's
            maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
            names -= {name for name in names if f"/dev/shm/{name}\n" in maps}
    return names


@pytest.mark.parametrize("launches", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_launches_in_a_row_leave_nothing(launches):
    """What leaks grows with each."""

    def worker(comm):
        if number % 10 == 0:
            raise ValueError("boom")
        return float(comm.all_reduce(np.array(1.0)))

    def run():
        try:
            assert launch(worker, 2).values == [2.0, 2.0]
        except RankError as error:
            assert "boom" in str(error)

    number = 0
    run()
    number = 1
    run()
    before, earlier = traces(), shared_memory()
    for number in range(launches):  # noqa: B007  run and worker look
        run()
    assert nothing_left()
    left = shared_memory() - earlier
    until(lambda: not left.intersection_update(shared_memory()) and not left, 150)  # others' come and go
    assert not left
    until(lambda: traces() == before, 25)  # a dead process is reaped in a moment
    assert traces() == before


# Folders and paths


def test_no_home_and_odd_paths(tmp_path):
    folder = tmp_path / "课程 目录"
    folder.mkdir()
    script = write_script(
        folder,
        """
        from course_lib import launch

        def worker(comm):
            print("好")
            return __import__("os").getcwd()

        print(launch(worker, 2).values[1])
        """,
        name="实验 1.py",
    )
    environment = {key: value for key, value in os.environ.items() if key != "HOME"}
    environment |= {"TMPDIR": str(folder), "PYTHONUTF8": "1"}
    assert run_script(script, cwd=folder, env=environment) == f"好\n好\n{folder}\n"
    assert [path.name for path in folder.iterdir()] == ["实验 1.py"]
    environment |= {"HOME": "/proc/self", "TMPDIR": str(folder / "missing")}
    assert run_script(script, cwd=folder, env=environment) == f"好\n好\n{folder}\n"


def test_a_full_folder_for_temporary_files(tmp_path):
    script = write_script(tmp_path, "from course_lib import launch\nlaunch(lambda comm: None, 2)")
    full = tmp_path / "full"
    full.mkdir()
    commands = f"mount -t tmpfs -o size=4k tmpfs {full} && TMPDIR={full} {sys.executable} {script}"
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode
    ):
        pytest.skip("needs a mount namespace")
    done = subprocess.run(["unshare", "-rm", "sh", "-c", commands], capture_output=True, text=True)
    if "mount:" in done.stderr:
        pytest.skip("mounts are not allowed here")
    assert done.returncode == 1
    assert "free some space or set TMPDIR to a folder that can be written" in done.stderr.splitlines()[-1]


# Inside a rank


def test_a_data_loader_with_workers_inside_a_rank():
    def worker(comm):
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.arange(8.0))
        totals = []
        for method in ("fork", "forkserver"):
            loader = DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context=method)
            totals.append(sum(batch.sum().item() for (batch,) in loader))
        kept = DataLoader(data, num_workers=1, persistent_workers=True)  # noqa: F841  ends with the run
        return totals

    assert launch(worker, 2).values == [[28.0, 28.0]] * 2
    assert nothing_left()


@pytest.mark.fast
def test_a_thread_pool_inside_a_rank():
    def worker(comm):
        with ThreadPoolExecutor(4) as pool:
            squares = sum(pool.map(lambda x: x * x, range(10)))
        weight = torch.randn(500, 500, requires_grad=True)
        (weight @ weight).sum().backward()
        return comm.all_reduce(np.array(squares)).item()

    assert launch(worker, 2, threads=2).values == [570, 570]


@pytest.mark.fast
def test_the_simulator_refuses_comm_in_a_backward_hook():
    def worker(comm):
        weight = torch.ones(2, requires_grad=True)
        weight.register_hook(lambda grad: comm.all_reduce(grad))
        weight.sum().backward()
        return weight.grad

    with pytest.raises(RankError, match="use launch"):
        simulate(worker, 2)
    assert [value.tolist() for value in launch(worker, 2).values] == [[2.0, 2.0]] * 2


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
