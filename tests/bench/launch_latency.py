"""How long it takes to start K = 4 ranks that do one tiny all-reduce: `launch`, and what others offer.

Prints a table; with --json also the figures in one line.
"""

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS = 4
WARM, OTHERS = 20, 3  # repetitions

WARM_SCRIPT = """
import sys, time
import numpy as np
from course_lib import launch

def worker(comm):
    return float(comm.all_reduce(np.ones(1))[0])

def seconds():
    start = time.perf_counter()
    assert launch(worker, {ranks}).values == [{ranks}.0] * {ranks}
    return time.perf_counter() - start

print(*[seconds() for _ in range({runs})])
"""

TORCHRUN_SCRIPT = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
tensor = torch.ones(1)
dist.all_reduce(tensor)
assert tensor.item() == dist.get_world_size()
dist.destroy_process_group()
"""

SPAWN_SCRIPT = """
import sys, tempfile, time
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(rank, ranks, path):
    dist.init_process_group("gloo", store=dist.FileStore(path, ranks), rank=rank, world_size=ranks)
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    assert tensor.item() == ranks
    dist.destroy_process_group()

if __name__ == "__main__":
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, ({ranks}, folder + "/store"), {ranks})
    print(time.perf_counter() - start)
"""


# Forks the process it is called in, which must have torch loaded and no threads busy.
ACCELERATE_SCRIPT = """
import time
import torch
import torch.distributed as dist
from accelerate import notebook_launcher

def worker():
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    assert tensor.item() == {ranks}

def seconds():
    start = time.perf_counter()
    notebook_launcher(worker, num_processes={ranks})
    return time.perf_counter() - start

print("seconds", *[seconds() for _ in range({runs})])
"""

# Starts engines once and keeps them; a later call finds torch loaded, and whatever else was left there.
IPYPARALLEL_SCRIPT = """
import tempfile, time
import ipyparallel

def worker(rank, path):
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo", store=dist.FileStore(path, {ranks}), rank=rank, world_size={ranks})
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    dist.destroy_process_group()
    return tensor.item()

def seconds(clients, path):
    start = time.perf_counter()
    assert clients[:].map_sync(worker, range({ranks}), [path] * {ranks}) == [{ranks}.0] * {ranks}
    return time.perf_counter() - start

begin = time.perf_counter()
with tempfile.TemporaryDirectory() as folder, ipyparallel.Cluster(n={ranks}, log_level=40) as clients:
    cold = time.perf_counter() - begin + seconds(clients, folder + "/0")
    print("seconds", cold, *[seconds(clients, folder + f"/{{run}}") for run in range(1, {runs})])
"""
OPTIONAL = {"accelerate": ACCELERATE_SCRIPT, "ipyparallel": IPYPARALLEL_SCRIPT}


def run(command):
    """What a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def own(folder):
    """Seconds of the first launch of a kernel, and of those after it."""
    script = folder / "own.py"
    script.write_text(WARM_SCRIPT.format(ranks=RANKS, runs=1 + WARM))
    cold, *warm = map(float, run([sys.executable, script]).split())
    return [cold], warm


def torchrun(folder):
    """Seconds of torchrun, whole; it has no state that could be warm."""
    script = folder / "with_torchrun.py"
    script.write_text(TORCHRUN_SCRIPT)
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--local-addr=localhost",
        f"--nproc-per-node={RANKS}",
        script,
    ]
    start = time.perf_counter()
    run(command)
    return time.perf_counter() - start


def spawn(folder):
    """Seconds of torch.multiprocessing.spawn within a script that has torch loaded already."""
    script = folder / "with_spawn.py"
    script.write_text(SPAWN_SCRIPT.format(ranks=RANKS))
    return float(run([sys.executable, script]))


def optional(folder, name):
    """Seconds of the first call of a peer and of those after it; empty if it is not installed."""
    if importlib.util.find_spec(name) is None:
        return [], []
    script = folder / f"with_{name}.py"
    script.write_text(OPTIONAL[name].format(ranks=RANKS, runs=1 + OTHERS))
    (line,) = [line for line in run([sys.executable, script]).splitlines() if line.startswith("seconds ")]
    cold, *warm = map(float, line.split()[1:])
    return [cold], warm


def main():
    figures = {"launch, cold": [], "launch, warm": [], "torchrun": [], "mp.spawn": []}
    figures |= {f"{name}, {when}": [] for name in OPTIONAL for when in ("cold", "warm")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(OTHERS):  # in turns, so that all see the same weather
            cold, warm = own(folder)
            figures["launch, cold"] += cold
            figures["launch, warm"] += warm
            figures["torchrun"].append(torchrun(folder))
            figures["mp.spawn"].append(spawn(folder))
            for name in OPTIONAL:
                cold, warm = optional(folder, name)
                figures[f"{name}, cold"] += cold
                figures[f"{name}, warm"] += warm
    medians = {name: statistics.median(seconds) for name, seconds in figures.items() if seconds}
    print(f"K = {RANKS} ranks, one all-reduce of one number; median seconds")
    for name, median in medians.items():
        ratio = median / medians["launch, warm"]
        print(f"{name:17} {median:7.3f} s  {ratio:5.1f} x  ({len(figures[name])} runs)")
    if "--json" in sys.argv:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
