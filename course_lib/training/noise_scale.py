"""The gradient noise scale, from what K workers hold anyway: their local gradients, and the mean of these."""

import math
from dataclasses import dataclass

import numpy as np

from course_lib.arguments import whole_number


@dataclass(frozen=True)
class NoiseScale:
    """squared_norm: |G|² of the true gradient. variance: tr Σ, of one sample's gradient, summed over
    parameters. Both are unbiased estimates, so that of |G|² may come out negative."""

    squared_norm: float
    variance: float

    @property
    def samples(self):
        """The batch at which the gradient's noise is as strong as itself: tr Σ / |G|², B_simple of the paper.

        Infinite where |G|² is estimated at 0 or less: more measurements are needed.
        """
        return self.variance / self.squared_norm if self.squared_norm > 0 else math.inf


def noise_scale(gradients, batch):
    """NoiseScale estimated from the gradients (…, K, p) of K >= 2 workers, of `batch` samples each.

    From E|g|² = |G|² + tr Σ / B at B = batch and, for the workers' mean, B = K * batch (McCandlish et al.
    2018, appendix A.1). Leading axes are repeated measurements at the same parameters: they are averaged
    before the ratio is taken, which alone would be biased.
    """
    gradients = np.asarray(gradients, dtype=float)
    if gradients.ndim < 2 or gradients.shape[-2] < 2 or not gradients.size:
        raise ValueError(f"gradients must be (…, K, p) with at least 2 workers; got {gradients.shape}")
    if not np.isfinite(gradients).all():
        raise ValueError("gradients must be finite; got NaN or infinity")
    small = whole_number("batch", batch, 1)
    big = small * gradients.shape[-2]
    of_small = np.mean(np.sum(gradients**2, axis=-1))
    of_big = np.mean(np.sum(gradients.mean(axis=-2) ** 2, axis=-1))
    squared_norm = (big * of_big - small * of_small) / (big - small)
    variance = (of_small - of_big) / (1 / small - 1 / big)
    return NoiseScale(float(squared_norm), float(variance))


@dataclass(frozen=True)
class LocalGradients:
    """`watch` for a training worker: `repeats` gradients of this rank, of `batch` samples each: (repeats, p).

    Samples are drawn anew for each gradient, with replacement, so that there can be as many gradients as it
    takes. Nothing is updated.
    """

    batch: int
    repeats: int

    def __post_init__(self):
        whole_number("batch", self.batch, 1)
        whole_number("repeats", self.repeats, 1)

    def __call__(self, progress):
        import torch

        data, parameters = progress.task.training, list(progress.model.parameters())
        generator = torch.Generator().manual_seed(progress.epoch * progress.size + progress.rank)
        drawn = torch.randint(len(data[0]), (self.repeats, self.batch), generator=generator)
        gradients = []
        for rows in drawn:
            loss = progress.task.loss(progress.model, *(tensor[rows] for tensor in data))
            gradients.append(torch.cat([each.flatten() for each in torch.autograd.grad(loss, parameters)]))
        return torch.stack(gradients).double().cpu().numpy()


def exact_noise_scale(progress):
    """`watch` for a training worker: the NoiseScale of all training data, from each sample's own gradient."""
    import torch
    from torch.func import functional_call, grad, vmap

    parameters = {name: each.detach() for name, each in progress.model.named_parameters()}

    def loss(parameters, *sample):
        rows = (tensor.unsqueeze(0) for tensor in sample)
        return progress.task.loss(lambda images: functional_call(progress.model, parameters, images), *rows)

    samples = progress.task.training
    each = vmap(grad(loss), (None, *(0 for _ in samples)))(parameters, *samples)
    gradients = torch.cat([part.flatten(1) for part in each.values()], dim=1).double()
    true = gradients.mean(dim=0)
    return NoiseScale(float(true @ true), float(((gradients - true) ** 2).sum(dim=1).mean()))


def noise_scales(results, batch):
    """A NoiseScale for each look of LocalGradients(batch, …): before the first epoch and after each.

    results: the TrainingResults of all ranks of one run.
    """
    looks = zip(*(result.watched for result in results), strict=True)
    return [noise_scale(np.stack(look, axis=1), batch) for look in looks]
