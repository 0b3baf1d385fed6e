"""Training runs on torch.distributed; torch itself is imported by the ranks, never by a notebook's kernel."""

from course_lib.training.digits import DigitsConfig, digits_worker
from course_lib.training.sweep import train_each

__all__ = ["DigitsConfig", "digits_worker", "train_each"]
