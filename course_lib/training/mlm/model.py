"""The encoder: PyTorch's own Transformer layers between an embedding and the same embedding again."""

import torch
from torch import nn


class Encoder(nn.Module):
    """Guesses masked characters from those on both sides; config: an MlmConfig."""

    def __init__(self, config):
        super().__init__()
        width = config.width
        self.embedding = nn.Embedding(config.vocabulary, width)
        self.position = nn.Parameter(_waves(config.context, width))
        layer = nn.TransformerEncoderLayer(
            width,
            config.heads,
            dim_feedforward=4 * width,
            dropout=config.dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,  # trains without a long warm-up (Xiong et al. 2020)
        )
        norm = nn.LayerNorm(width)
        self.layers = nn.TransformerEncoder(layer, config.layers, norm, enable_nested_tensor=False)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))
        nn.init.normal_(self.embedding.weight, std=width**-0.5)

    def forward(self, inputs, chosen):
        """Logits (tokens, vocabulary) of the `chosen` places of `inputs`; both (samples, context)."""
        hidden = self.layers(self.embedding(inputs) + self.position)
        return hidden[chosen] @ self.embedding.weight.T + self.bias


def _waves(context, width):
    """(context, width): sines and cosines (Vaswani et al. 2017), as large as the embedding, to start from.

    Learned from there on, as in BERT. From random numbers it takes several times as many steps until a model
    tells a neighbour from the rest, and until then it knows no more than how frequent each character is.
    """
    place, pair = torch.arange(context)[:, None], torch.arange(0, width, 2)
    angles = place / 100 ** (pair / width)
    return torch.cat([angles.sin(), angles.cos()], 1)[:, :width] * (2 / width) ** 0.5
