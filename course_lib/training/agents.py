"""A job of several machines, played on this one: an agent of torchrun for each."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from course_lib.arguments import real_number, whole_number
from course_lib.training.ports import ATTEMPTS, free_port, port_taken

LONGEST = 10_000  # characters of an agent's output in an error


def run_agents(script, *, nodes=2, ranks=2, timeout=60):
    """Run `script` under `nodes` agents of torchrun with `ranks` each; returns what each agent printed.

    Raises RuntimeError, with the output, as soon as one fails, TimeoutError for a job that takes more than
    `timeout` seconds; no process outlives the call. If somebody else takes the port at which the agents are
    to meet before they do, the job is started again, with another port, within the same time.
    """
    script, limit = Path(script).resolve(), real_number("timeout", timeout, inclusive=False)
    if not script.is_file():
        raise FileNotFoundError(f"there is no script {script}")
    nodes, ranks = whole_number("nodes", nodes, 1, 8), whole_number("ranks", ranks, 1, 16)
    end = time.monotonic() + limit
    for _ in range(ATTEMPTS):
        port = free_port()
        failed, texts = _run(script, nodes, ranks, port, end)
        if failed is None:
            told = _ends(texts)
            raise TimeoutError(
                f"the job of {nodes} agents did not end within {timeout} s; they printed:\n{told}"
            )
        if not failed:
            return texts
        told = _ends([texts[node] for node in failed])
        # The agent says so last, after all that its ranks may have printed.
        if port_taken(texts[0].rstrip().rpartition("\n")[2]) != port:
            raise RuntimeError("the job has failed:\n" + told)
    raise RuntimeError(f"the job has found its port taken {ATTEMPTS} times, the last time {port}:\n{told}")


def _run(script, nodes, ranks, port, end):
    """The numbers of the agents that failed first, or None if time was up, and what each has printed."""
    agents = []
    with ExitStack() as stack:
        logs = stack.enter_context(TemporaryDirectory())  # else torchrun makes a folder, and leaves it
        # Files, for a pipe that nobody reads is soon full, and then its agent waits.
        files = [stack.enter_context(TemporaryFile("w+", errors="replace")) for _ in range(nodes)]
        try:
            for node, file in enumerate(files):
                agents.append(_start(script, nodes, ranks, node, port, logs, file))
            failed = _wait(agents, end)
        finally:
            _stop(agents)
        return failed, [_text(file) for file in files]


def _wait(agents, end):
    """The numbers of the agents that failed first, if any, for the others wait for these; None: too late."""
    while True:
        codes = [agent.poll() for agent in agents]
        if any(codes) or None not in codes:
            return [node for node, code in enumerate(codes) if code]
        if time.monotonic() > end:
            return None
        time.sleep(0.05)


def _stop(agents):
    for agent in agents:
        agent.terminate()  # it ends its ranks first
    for agent in agents:
        try:
            agent.wait(10)
        except subprocess.TimeoutExpired:
            agent.kill()
            agent.wait()


def _text(file):
    file.seek(0)
    return file.read()


def _ends(texts):
    """What tells most of a long output."""
    return "\n".join(text[-LONGEST:] for text in texts)


def _start(script, nodes, ranks, node, port, logs, output):
    command = [sys.executable, "-m", "torch.distributed.run"]
    command += [f"--nnodes={nodes}", f"--nproc-per-node={ranks}", f"--node-rank={node}"]
    command += ["--master-addr=127.0.0.1", f"--master-port={port}", f"--log-dir={logs}", str(script)]
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=script.parent,
        env={**os.environ, "GLOO_SOCKET_IFNAME": loopback, "OMP_NUM_THREADS": "1"},
    )
