"""torchrun's agent in a process of the fork server, where PyTorch is loaded already: the rest is the same.

Its ranks come from a fork server of its own, which loads PyTorch once for all of them and all restarts. (The
agent itself has threads by then, and a process forked beside threads may hang.)
"""

import multiprocessing
import os
import runpy
import sys
import uuid

from course_lib.processes import rank, server

MAX_RESTARTS = 3


def start_agent(script, options, *, ranks, folder, output, environment):
    """Start `torchrun --standalone SCRIPT OPTIONS`; returns the process's handle, as server.start_rank does.

    folder: where the agent keeps what it needs. output: the file for all that is printed.
    """
    arguments = ([str(script), *map(str, options)], ranks, str(folder), str(output), dict(environment))
    return server.start_rank(_agent, arguments, while_waiting=lambda: None)


def _agent(command, ranks, folder, output, environment):
    rank.become_leader()
    rank.redirect_output(output)
    os.environ.clear()
    os.environ.update(environment)
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    multiprocessing.set_forkserver_preload(["course_lib.processes.preload", __name__])
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=ranks,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=MAX_RESTARTS,
        logs_specs=DefaultLogsSpecs(log_dir=folder),
        start_method="forkserver" if server.FORKS else "spawn",
    )
    elastic_launch(config, _run_script)(*command)


def _run_script(*command):
    """What a rank does."""
    import torch

    torch.set_num_threads(1)
    sys.argv = list(command)
    runpy.run_path(command[0], run_name="__main__")
