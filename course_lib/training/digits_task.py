"""What is learned in the digits run: data, network, loss, scores. Imports torch: for ranks."""

import torch
from torch import nn
from torch.nn import functional

from course_lib.digits import CLASSES, PIXELS, load_digits

# Standard deviation of a weight, times the square root of its layer's inputs. Half as large again as is usual
# for tanh (5/3): the sharper start makes plain what warm-up is for.
GAIN = 2.5


class DigitsTask:
    """training and held_out: (images (samples, 64), labels (samples,)) on `device`."""

    def __init__(self, config, device):
        self.config, self.device, self.dtype = config, device, getattr(torch, config.dtype)
        self.training, self.held_out = map(self._tensors, load_digits())

    def _tensors(self, digits):
        images = torch.tensor(digits.images, dtype=self.dtype, device=self.device)
        return images, torch.tensor(digits.labels, device=self.device)

    def model(self):
        """A new network; torch's generator decides which."""
        widths, layers = (PIXELS, *self.config.hidden), []
        for inputs, outputs in zip(widths, widths[1:], strict=False):
            layers += [nn.Linear(inputs, outputs), nn.Tanh()]
        model = nn.Sequential(*layers, nn.Linear(widths[-1], CLASSES))
        for layer in model[::2]:
            nn.init.normal_(layer.weight, std=GAIN / layer.in_features**0.5)
            nn.init.zeros_(layer.bias)
        return model.to(self.device, self.dtype)

    def loss(self, model, images, labels):
        """Mean cross-entropy of a batch."""
        return functional.cross_entropy(model(images), labels)

    def scores(self, model, images, labels):
        """(sum of cross-entropies, number of right answers)."""
        guesses = model(images)
        loss = functional.cross_entropy(guesses, labels, reduction="sum")
        return loss, (guesses.argmax(1) == labels).sum()
