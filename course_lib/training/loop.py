"""The training loop: plain PyTorch, the same on one rank and on many. Imports torch: for ranks."""

import math
import time
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DistributedSampler

from course_lib.training import checkpoint, hooks
from course_lib.training.result import Progress, TrainingResult
from course_lib.training.schedule import scheduler

_OPTIMIZERS = {
    "sgd": optim.SGD,
    "momentum": lambda parameters, lr: optim.SGD(parameters, lr, momentum=0.9),
    "adam": optim.Adam,
}


def train(task, config, rank=0, size=1, rate=None, watch=None, attach=None):
    """Train task.model() as rank `rank` of `size`; returns a TrainingResult. See TrainingWorker.

    task: `training` and `held_out`, tuples of tensors with a row a sample; `model()`; `loss(model, *rows)`,
    the mean over a batch; `scores(model, *rows)`, the sum of losses and the number of right answers.
    """
    trainer = Trainer(task, config, rank, size, rate, attach)
    watched = []

    def look(loss):
        if watch is not None:
            watched.append(watch(Progress(trainer.epoch, loss, rank, size, trainer.model, task)))

    trainer.restore()
    look(math.nan)
    while not trainer.finished():
        loss = trainer.run_epoch()
        trainer.save()
        look(loss)
    return trainer.result(watched)


class Trainer:
    """What one rank holds: its replica, optimizer, schedule and share of the data, and the record so far.

    Whoever communicates otherwise than DistributedDataParallel overrides replica, make_optimizer and total.
    """

    def __init__(self, task, config, rank, size, rate=None, attach=None):
        self.task, self.config, self.rank, self.size = task, config, rank, size
        self.epoch, self.losses, self.rates, self.seconds = 0, [], [], []
        samples = len(task.training[0])
        steps = config.steps_per_epoch(samples, size)
        torch.manual_seed(config.seed)
        self.model = task.model()
        self.net = self.replica(attach)
        torch.manual_seed(config.seed + rank)  # from here on each rank has noise of its own (dropout)
        self.optimizer = self.make_optimizer()
        self.schedule = scheduler(config, self.optimizer, steps, rate)
        # It deals one permutation out like cards: together the ranks' batches are the batch of one process.
        self.sampler = DistributedSampler(range(samples), size, rank, seed=config.seed, drop_last=True)
        self.batches = BatchSampler(self.sampler, config.batch * config.accumulation, drop_last=True)

    def replica(self, attach):
        """What the forward pass calls: the model, in DDP if there are others. Ranks begin equal after it."""
        config = self.config
        if self.size == 1 and not (config.comm_hook or attach):
            return self.model
        bucket = {"bucket_cap_mb": config.bucket_cap_mb} if config.bucket_cap_mb else {}
        net = DistributedDataParallel(self.model, **bucket)
        if config.checkpoint:
            # DDP fills its buckets anew after the first backward pass, and adds up in another order then. Let
            # that be done before the first step, or a run that goes on would differ in the last bits.
            self.task.loss(net, *(tensor[:1] for tensor in self.task.training)).backward()
        if config.comm_hook:
            hooks.attach(net, config.comm_hook)
        if attach:
            attach(net)
        return net

    def make_optimizer(self):
        return _OPTIMIZERS[self.config.optimizer](self.model.parameters(), lr=self.config.lr)

    def total(self, tensor):
        """The sum of the ranks' `tensor`, which may be changed."""
        return sum_over_ranks(tensor, self.size)

    def finished(self):
        return self.epoch >= self.config.epochs or len(self.losses) >= self._most_steps()

    def run_epoch(self):
        """One pass over the data, or what is left of config.steps; returns the mean loss over all ranks."""
        self.sampler.set_epoch(self.epoch)
        self.model.train()
        most, losses = self._most_steps() - len(self.losses), []
        for picked in self.batches:
            if len(losses) == most:
                break
            self.rates.append(self.optimizer.param_groups[0]["lr"])
            start = time.perf_counter()
            losses.append(self._update(torch.tensor(picked)))
            self.seconds.append(time.perf_counter() - start)
            self.schedule.step()
        self.epoch += 1
        # All ranks' batches are of one size, so the plain mean counts every sample once.
        of_all = self.total(torch.tensor(losses, dtype=torch.float64)) / self.size
        self.losses += of_all.tolist()
        return of_all.mean().item()

    def _update(self, picked):
        """One update by the mean gradient of all ranks and micro-batches; returns this rank's mean loss."""
        self.optimizer.zero_grad()
        micro, total = picked.split(self.config.batch), 0.0
        for number, rows in enumerate(micro, 1):
            # Until the last one gradients only add up here; then DDP reduces the sum.
            waits = number < len(micro) and self.net is not self.model
            with self.net.no_sync() if waits else nullcontext():
                loss = self.task.loss(self.net, *(tensor[rows] for tensor in self.task.training))
                (loss / len(micro)).backward()
            total += loss.item()
        self.optimizer.step()
        return total / len(micro)

    def _most_steps(self):
        return math.inf if self.config.steps is None else self.config.steps

    def restore(self):
        """Go on from the newest checkpoint, if the configuration names a folder that has one."""
        folder = self.config.checkpoint
        found = checkpoint.newest(folder, self.size) if folder else None
        if found:
            _, state = found
            checkpoint.expect_config(*found, self.config.lasting())
            self.epoch, _ = checkpoint.resume(folder, self.model, self.optimizer)
            self.schedule.load_state_dict(state["schedule"])
            self.losses, self.rates = state["losses"], state["rates"]

    def save(self):
        """Write a checkpoint after a whole epoch, if the configuration names a folder for it."""
        if self.config.checkpoint and len(self.losses) == self.epoch * len(self.batches):
            record = {"schedule": self.schedule.state_dict(), "losses": self.losses, "rates": self.rates}
            record["config"] = self.config.lasting()
            place = {"epoch": self.epoch, "step": 0}  # the epoch tells the sampler its order
            checkpoint.save(self.config.checkpoint, self.model, self.optimizer, **place, **record)

    def result(self, watched):
        training_loss, _ = evaluate(self.model, self.task, self.task.training, self.rank, self.size)
        held_out_loss, accuracy = evaluate(self.model, self.task, self.task.held_out, self.rank, self.size)
        record = tuple(self.losses), training_loss, held_out_loss, accuracy, tuple(self.rates)
        return TrainingResult(*record, tuple(self.seconds), checkpoint.digest(self.model), tuple(watched))


def evaluate(model, task, data, rank=0, size=1):
    """(mean loss, share of right answers) over `data`, every sample counted once.

    A sampler would pad the last round so that all ranks get as many, and count some samples twice. Here rank
    r takes samples r, r + K, r + 2K …, as many as there are, and the sums are added up.
    """
    mine = [tensor[rank::size] for tensor in data]
    model.eval()
    with torch.no_grad():
        loss, right = task.scores(model, *mine)
    sums = torch.tensor([loss.item(), right.item(), len(mine[0])], dtype=torch.float64)
    loss, right, count = sum_over_ranks(sums, size).tolist()
    return loss / count, right / count


def sum_over_ranks(tensor, size):
    """`tensor`, which is changed, summed over the ranks of the job if there are several."""
    if size > 1:
        dist.all_reduce(tensor)
    return tensor
