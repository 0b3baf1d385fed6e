"""The training loop: plain PyTorch, the same on one rank and on many. Imports torch: for ranks."""

import time

import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from course_lib.training import checkpoint
from course_lib.training.loop import sum_over_ranks
from course_lib.training.mlm.masking import held_out_samples, training_samples
from course_lib.training.mlm.model import Encoder
from course_lib.training.mlm.text import read_text
from course_lib.training.mlm.worker import MlmResult, Progress

EXAMPLES = 3  # held-out windows that a result shows


def train(config, rank, size, device, watch=None):
    """Train as rank `rank` of `size` in a process group; returns an MlmResult. See mlm_worker."""
    trainer = Trainer(config, rank, size, device)
    first, losses, held_out, watched = trainer.resume(), [], [], []
    start = time.perf_counter()
    for step in range(first, config.steps):
        losses.append(trainer.update(step))
        if (step + 1) % config.evaluate_every and step + 1 < config.steps:
            continue
        held_out.append((step + 1, trainer.held_out_loss()))
        trainer.save(step + 1)
        if watch is not None:
            mean = sum_over_ranks(losses[-1].clone(), size).item()
            watched.append(watch(Progress(step + 1, mean, held_out[-1][1], rank, size, trainer.model)))
    seconds = time.perf_counter() - start
    if not losses:  # all had been done before
        held_out.append((first, trainer.held_out_loss()))
    # What each rank adds to the mean of an update: summed only now, all updates at once.
    of_all = sum_over_ranks(torch.stack(losses), size) if losses else torch.zeros(0)
    return MlmResult(
        first,
        tuple(of_all.tolist()),
        tuple(held_out),
        trainer.text.unigram_loss(),
        seconds,
        checkpoint.digest(trainer.model),
        trainer.examples(),
        tuple(watched),
    )


class Trainer:
    """What one rank holds: its replica, its optimizer, its share of every global batch.

    wrap: wrap(model) → what is called in its place in training; DistributedDataParallel if there are several.
    """

    def __init__(self, config, rank, size, device, wrap=None):
        self.config, self.rank, self.size, self.device = config, rank, size, device
        self.share, self.text = config.share(rank, size), read_text(config.text)
        torch.manual_seed(config.seed)  # the same parameters everywhere ...
        self.model = Encoder(config).to(device, getattr(torch, config.dtype))
        torch.manual_seed(config.seed + 1 + rank)  # ... and, if there is dropout, noise of one's own
        wrap = wrap or (DistributedDataParallel if size > 1 else lambda model: model)
        self.net = wrap(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), betas=(0.9, 0.99))

    def update(self, step):
        """One update; returns what this rank adds to the mean loss over all masked characters, before it."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.rate(step)
        self.net.train()
        self.optimizer.zero_grad()
        samples = training_samples(self.text, self.config, step, self.share)
        loss = token_mean(*self.loss_sum(self.net, samples))
        loss.backward()
        self.optimizer.step()
        return loss.detach().double().cpu() / self.size

    def loss_sum(self, net, samples):
        """(sum of the cross-entropies of the masked characters, in nats; how many they are)."""
        inputs, targets, chosen = (torch.tensor(each, device=self.device) for each in samples)
        logits = net(inputs, chosen)
        return functional.cross_entropy(logits, targets[chosen], reduction="sum"), samples.tokens

    def held_out_loss(self):
        """Mean over all masked characters of the held-out part, nats; each counted once, whatever K."""
        samples = held_out_samples(self.text, self.config, self.rank, self.size)
        self.model.eval()
        with torch.no_grad():
            loss, tokens = self.loss_sum(self.model, samples)
        sums = torch.tensor([loss.item(), tokens], dtype=torch.float64)
        loss, tokens = sum_over_ranks(sums, self.size).tolist()
        return loss / tokens

    def examples(self):
        """(masked, guessed, original), as strings, of the first held-out windows."""
        samples = held_out_samples(self.text, self.config)
        inputs, targets, chosen = (each[:EXAMPLES] for each in samples)
        self.model.eval()
        with torch.no_grad():
            places = [torch.tensor(each, device=self.device) for each in (inputs, chosen)]
            logits = self.model(*places)[:, : self.text.mask]
        guessed = inputs.copy()
        guessed[chosen] = logits.argmax(1).cpu().numpy()
        rows = zip(inputs, guessed, targets, strict=True)
        return tuple(tuple(self.text.decode(each) for each in row) for row in rows)

    def resume(self):
        """The update to begin with, after what the checkpoint's folder holds, if there is one."""
        folder = self.config.checkpoint
        if not folder:
            return 0
        found = checkpoint.newest(folder, self.size)
        if found:
            checkpoint.expect_config(*found, self.config.lasting())
        return checkpoint.resume(folder, self.model, self.optimizer).step

    def save(self, step):
        if self.config.checkpoint:
            place = {"epoch": 0, "step": step, "config": self.config.lasting()}
            checkpoint.save(self.config.checkpoint, self.model, self.optimizer, **place)


def token_mean(loss_sum, tokens):
    """This rank's loss such that DDP's mean over the ranks is the mean over all ranks' tokens.

    loss_sum: over this rank's `tokens`. A mean of each rank's mean would count a token more where there are
    few: sums 6 over 3 tokens and 1 over 1 give 1.75, not 1.5.
    """
    ranks = dist.get_world_size()
    of_all = sum_over_ranks(torch.tensor(float(tokens), dtype=torch.float64), ranks).item()
    return loss_sum * (ranks / of_all)
