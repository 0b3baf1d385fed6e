"""The process group: how ranks find each other, on which backend and device."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

MARGIN = 60  # seconds that the group's own limit exceeds the launcher's, which knows more


def join(task):
    """Join the group of this run; returns this rank's torch.device."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    os.environ.update(RANK=str(task.rank), WORLD_SIZE=str(task.size), LOCAL_RANK=str(task.rank))
    dist.set_debug_level_from_env()
    # A file of this run alone: no port to be taken, no clash between launches.
    store = dist.FileStore(str(Path(task.folder) / "store"), task.size)
    dist.init_process_group(
        "gloo",
        store=store,
        rank=task.rank,
        world_size=task.size,
        timeout=timedelta(seconds=task.timeout + MARGIN),
    )
    return torch.device("cpu")
