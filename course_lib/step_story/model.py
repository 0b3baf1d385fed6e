"""A network of three layers that tells digits apart: small, real, and one bucket of gradient a layer."""

import hashlib

import numpy as np

from course_lib.digits import CLASSES, PIXELS

LAYERS = 3


class Network:
    """64 pixels -> tanh(width) -> tanh(width) -> 10 classes, softmax and cross-entropy; float64.

    parameters: one flat array a layer, its weights and then its biases. Equal seeds give equal replicas.
    """

    def __init__(self, width, seed=5):
        sizes = [PIXELS, width, width, CLASSES]
        self.shapes = list(zip(sizes, sizes[1:], strict=False))
        rng = np.random.default_rng(seed)
        self.parameters = [
            np.append(rng.normal(size=into * out) * into**-0.5, np.zeros(out)) for into, out in self.shapes
        ]

    def forward(self, images, labels):
        """The mean loss in nats of `images` (n, 64); keeps what `backward` needs."""
        self._inputs, x = [], images
        for layer in range(LAYERS):
            weights, biases = self._split(layer)
            self._inputs.append(x)
            x = x @ weights + biases
            if layer < LAYERS - 1:
                x = np.tanh(x)
        scores = x - x.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        self._error = (np.exp(logs) - np.eye(CLASSES)[labels]) / len(labels)
        return float(-logs[np.arange(len(labels)), labels].mean())

    def backward(self, layer):
        """The flat gradient of `layer`; layers must be asked for from the last to the first."""
        inputs, error = self._inputs[layer], self._error
        gradient = np.append(inputs.T @ error, error.sum(axis=0))
        if layer:
            self._error = (error @ self._split(layer)[0].T) * (1 - inputs**2)
        return gradient

    def update(self, gradients, rate):
        """One step of SGD."""
        for parameters, gradient in zip(self.parameters, gradients, strict=True):
            parameters -= rate * gradient

    def fingerprint(self):
        """16 hexadecimal digits of the SHA-256 of the parameters.

        As float32: replicas that are equal bit by bit have one fingerprint, and processors that round the
        last bit of a float64 differently draw the same picture.
        """
        flat = np.concatenate(self.parameters).astype(np.float32)
        return hashlib.sha256(flat.tobytes()).hexdigest()[:16]

    def _split(self, layer):
        into, out = self.shapes[layer]
        flat = self.parameters[layer]
        return flat[: into * out].reshape(into, out), flat[into * out :]


def layer_bytes(width):
    """Bytes of gradient of each layer."""
    return tuple(parameters.nbytes for parameters in Network(width).parameters)
