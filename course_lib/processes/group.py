"""The process groups: how ranks find each other, on which backend and device.

All of this happens inside the ranks: the process that they are forked from must never touch CUDA.
"""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

GLOO, NCCL = "gloo", "cpu:gloo,cuda:nccl"  # NCCL cannot carry what lies in the host's memory
MARGIN = 60  # seconds that the groups' own limit exceeds the launcher's, which knows more


def join(rank, task, folder):
    """Join the default group of this run and another one for comm; returns (torch.device, that group)."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(task.size), LOCAL_RANK=str(rank))
    # A file of this run alone: no port to be taken, no clash between launches.
    store = dist.FileStore(os.path.join(folder, "store"), task.size)
    place = {"store": store, "rank": rank, "world_size": task.size}
    return connect(rank, task.size, task.backend, task.timeout + MARGIN, **place)


def connect(local_rank, local_size, backend, seconds, **place):
    """Make the default group and comm's; local: among the ranks on this machine. See join."""
    gpus = torch.cuda.device_count()
    if backend is None:
        backend = "nccl" if gpus >= local_size and dist.is_nccl_available() else "gloo"
    device = torch.device("cuda", local_rank % gpus) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    limit = timedelta(seconds=seconds)
    dist.set_debug_level_from_env()
    if not dist.is_initialized():
        dist.init_process_group(NCCL if backend == "nccl" else GLOO, timeout=limit, **place)
    return device, dist.new_group(timeout=limit)
