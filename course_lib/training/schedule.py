"""Learning rates that change with the step, as PyTorch schedulers. Imports torch: for ranks."""

from torch.optim.lr_scheduler import LambdaLR

from course_lib.arguments import real_number, whole_number


def gradual_warmup(optimizer, steps, start=None):
    """Scheduler: from start * lr up to lr along a line over `steps` updates, then lr (Goyal et al. 2017).

    start: 1 / steps if None; n_base / n_new begins at the small batch's rate, as the paper does. steps: 0 for
    none.
    """
    steps = whole_number("steps", steps, 0)
    start = 1 / max(steps, 1) if start is None else real_number("start", start)
    return LambdaLR(optimizer, lambda step: _up(step, steps, start))


def scheduler(config, optimizer, steps_per_epoch, rate=None):
    """Scheduler of a run: warm-up, config.lr, then down to 0 along a line over the last decay_epochs.

    rate: rate(epoch) → learning rate, in place of warm-up and config.lr; epoch is a float.
    """
    warmup = round(config.warmup_epochs * steps_per_epoch)
    total, decay = config.epochs * steps_per_epoch, round(config.decay_epochs * steps_per_epoch)

    def factor(step):
        if rate is None:
            up = _up(step, warmup, 1 / max(warmup, 1))
        else:
            epoch = step / steps_per_epoch
            up = real_number(f"rate({epoch:g})", rate(epoch)) / config.lr
        return up * _down(step, total, decay)

    return LambdaLR(optimizer, factor)


def _up(step, steps, start):
    return 1.0 if step >= steps - 1 else start + (1 - start) * step / (steps - 1)


def _down(step, total, steps):
    return 1.0 if step <= total - steps else (total - step) / steps
