"""What goes wrong with DistributedDataParallel, small: each a worker for `launch` that shows it and its cure.

Most return a dict of both, by name, and train w of the loss w * x, whose gradient is x, so that every
number can be worked out in the head. On the CPU always; torch is loaded in the ranks.
"""

from course_lib.training.pitfalls.batch_norm import batch_norm_means
from course_lib.training.pitfalls.clipping import clip, clipped_mean, ddp_clipped_gradient
from course_lib.training.pitfalls.data import padding, sampler_epochs, without_padding
from course_lib.training.pitfalls.gradients import (
    accumulation,
    inner_module,
    unequal_batches,
    unused_layer,
)
from course_lib.training.pitfalls.state import half_weights, loss_scaling, same_noise, saving

__all__ = [
    "accumulation",
    "batch_norm_means",
    "clip",
    "clipped_mean",
    "ddp_clipped_gradient",
    "half_weights",
    "inner_module",
    "loss_scaling",
    "padding",
    "same_noise",
    "sampler_epochs",
    "saving",
    "unequal_batches",
    "unused_layer",
    "without_padding",
]
