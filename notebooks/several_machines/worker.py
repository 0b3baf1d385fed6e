"""One worker file for one machine or many.

Here:                    python worker.py
On each of two machines: torchrun --nnodes 2 --nproc-per-node 2 --node-rank 0 (or 1) \
                             --master-addr FIRST_MACHINE --master-port 29500 worker.py
Under Slurm:             sbatch run.slurm
"""

import os

import numpy as np

from course_lib import launch
from course_lib.regression import gradient, loss, make_regression, shards

STEPS, RATE = 20, 0.1


def worker(comm):
    X, y = make_regression()
    mine, w = shards(len(y), comm.size)[comm.rank], np.zeros(X.shape[1])
    for _ in range(STEPS):
        w = w - RATE * comm.all_reduce(gradient(w, X[mine], y[mine]), op="mean")
    return loss(w, X, y)


def main():
    ranks = int(os.environ.get("WORLD_SIZE", 4))  # torchrun says how many there are
    run = launch(worker, ranks)
    if os.environ.get("RANK", "0") == "0":
        print(f"{ranks} ranks, loss {run.values[0]:.6f}, equal on all: {len(set(run.values)) == 1}")


if __name__ == "__main__":
    main()
