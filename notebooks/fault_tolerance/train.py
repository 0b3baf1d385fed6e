"""A training job that survives the loss of a rank: torchrun starts all anew, the rest is up to this file.

export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1   # else a restarted rank may look for a dead one
torchrun --standalone --max-restarts=3 --nproc-per-node=2 train.py --folder A
torchrun --standalone --max-restarts=3 --nproc-per-node=2 train.py --folder B --kill 1 10
"""

import argparse
import os
import random
import signal
import time
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DistributedSampler

from course_lib.digits import load_digits
from course_lib.training import checkpoint
from course_lib.training.job_log import JobLog

EPOCHS, BATCH, EVERY, PAUSE = 3, 128, 4, 0.1  # samples a rank; steps a checkpoint; seconds to see a step


def main(options):
    dist.init_process_group("gloo")
    train(options)
    # By now the model is gone. If DDP held the group last, it could wait forever (pytorch issue 56297).
    dist.destroy_process_group()


def train(options):
    log = JobLog(options.folder)
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(dist.get_rank())  # each rank has noise of its own
    digits, _ = load_digits()
    images, labels = torch.tensor(digits.images, dtype=torch.float32), torch.tensor(digits.labels)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
    model = DistributedDataParallel(net)  # starts from rank 0's parameters
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    sampler = DistributedSampler(range(len(images)), seed=0)
    batches = BatchSampler(sampler, BATCH, drop_last=True)
    # After its first backward pass DDP rearranges its buckets. On more than two ranks this changes the order
    # in which gloo adds up, so let it happen before the first step.
    model(images[:1]).sum().backward()
    first, skip = checkpoint.resume(options.folder, model, optimizer)
    log.write("start", first * len(batches) + skip)
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)  # the order of an epoch follows from the seed and its number
        for step, rows in enumerate(islice(batches, skip, None), skip):
            number = epoch * len(batches) + step
            fail_once(options, number, log)
            time.sleep(PAUSE)
            noise = np.random.normal(0, 0.1, (len(rows), 64)).astype(np.float32)
            noisy = random.uniform(0.9, 1.1) * images[rows] + torch.from_numpy(noise)
            loss = nn.functional.cross_entropy(model(noisy), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write("step", number)
            if (number + 1) % EVERY == 0:
                checkpoint.save(options.folder, model, optimizer, epoch=epoch, step=step + 1)
        skip = 0
    log.write("done", EPOCHS * len(batches), checkpoint.digest(model))


def fail_once(options, number, log):
    """The accident: SIGKILL, the first time that this rank comes to this step."""
    mark = options.folder / "accident"
    if [dist.get_rank(), number] == options.kill and not mark.exists():
        mark.touch()
        log.write("kill", number)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--kill", nargs=2, type=int, metavar=("RANK", "STEP"))
    main(parser.parse_args())
