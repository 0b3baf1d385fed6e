"""The library's ring on `comm` against torch.distributed's all_reduce, in real processes on this machine.

Prints a table; with --json also the medians in one line.
"""

import json
import statistics
import sys
import time

import numpy as np
import torch
import torch.distributed

from course_lib import launch
from course_lib.collectives import ring_all_reduce

RANKS = (2, 4)
SIZES = [2**exponent for exponent in range(16, 27, 2)]  # bytes: 64 kB ... 64 MB
REPETITIONS = 20


def worker(comm):
    """{size: (seconds of ours, of torch's)} of each repetition on this rank, in turns."""
    return {nbytes: [measure(comm, nbytes) for _ in range(REPETITIONS + 2)][2:] for nbytes in SIZES}


def measure(comm, nbytes):
    """Seconds of one all-reduce by our ring, and of one by torch.distributed; both keep their input."""
    array = np.full(nbytes // 4, comm.rank, np.float32)
    tensor = torch.from_numpy(array)
    ours = seconds(comm, lambda: ring_all_reduce(comm, array))
    return ours, seconds(comm, lambda: torch.distributed.all_reduce(tensor.clone()))


def seconds(comm, function):
    comm.barrier()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def medians(values, nbytes):
    """Median over repetitions of the slowest rank's time: (ours, torch's)."""
    slowest = np.max([value[nbytes] for value in values], axis=0)
    return [statistics.median(column) for column in slowest.T]


def main():
    figures = []
    print(f"all-reduce of float32, medians of {REPETITIONS}, the slowest rank's time")
    print(" K     bytes   own ring   all_reduce   ratio")
    for ranks in RANKS:
        values = launch(worker, ranks, timeout=300).values
        for nbytes in SIZES:
            ours, theirs = medians(values, nbytes)
            figures.append({"ranks": ranks, "bytes": nbytes, "ours": ours, "torch": theirs})
            print(f"{ranks:2} {nbytes:9,} {ours * 1e3:7.2f} ms {theirs * 1e3:9.2f} ms {ours / theirs:7.2f}")
    if "--json" in sys.argv:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
