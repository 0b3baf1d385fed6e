"""A job of several machines, played on this one: an agent of torchrun for each."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from course_lib.arguments import real_number, whole_number


def run_agents(script, *, nodes=2, ranks=2, timeout=60):
    """Run `script` under `nodes` agents of torchrun with `ranks` each; returns what each agent printed.

    Raises RuntimeError, with the output, if one fails, TimeoutError for a job that takes more than `timeout`
    seconds; no process outlives the call.
    """
    script, limit = Path(script).resolve(), real_number("timeout", timeout, inclusive=False)
    if not script.is_file():
        raise FileNotFoundError(f"there is no script {script}")
    nodes, ranks = whole_number("nodes", nodes, 1, 8), whole_number("ranks", ranks, 1, 16)
    port, agents, end = _free_port(), [], time.monotonic() + limit
    try:
        for node in range(nodes):
            agents.append(_start(script, nodes, ranks, node, port))
        texts = [agent.communicate(timeout=max(0.1, end - time.monotonic()))[0] for agent in agents]
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"the job of {nodes} agents did not end within {timeout} s") from None
    finally:
        for agent in agents:
            agent.terminate()  # it ends its ranks first
        for agent in agents:
            try:
                agent.wait(10)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()
    if any(agent.returncode for agent in agents):
        raise RuntimeError("the job has failed:\n" + "\n".join(texts))
    return texts


def _start(script, nodes, ranks, node, port):
    command = [sys.executable, "-m", "torch.distributed.run"]
    command += [f"--nnodes={nodes}", f"--nproc-per-node={ranks}", f"--node-rank={node}"]
    command += ["--master-addr=127.0.0.1", f"--master-port={port}", str(script)]
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=script.parent,
        env={**os.environ, "GLOO_SOCKET_IFNAME": loopback, "OMP_NUM_THREADS": "1"},
    )


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
