"""What is learned of clicks: data, models, loss, AUC. Imports torch: for ranks."""

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from course_lib.clicks import auc, make_clicks

SPREAD = 0.1  # standard deviation of an embedding at the start


class ClicksTask:
    """training and held_out: (rows (samples, F), labels (samples,)) on `device`.

    All fields share one table of weights and one of embeddings: rows are the values' places in it.
    """

    def __init__(self, config, device):
        self.config, self.device, self.dtype = config, device, getattr(torch, config.dtype)
        training, held_out = make_clicks(config.training, config.held_out, seed=config.data_seed)
        self.vocabularies, self.best_auc = training.vocabularies, held_out.best_auc
        self.training, self.held_out = map(self._tensors, (training, held_out))

    def _tensors(self, clicks):
        labels = torch.tensor(clicks.labels, dtype=self.dtype, device=self.device)
        return torch.tensor(clicks.rows, device=self.device), labels

    def model(self):
        """A new model; torch's generator decides which."""
        values = sum(self.vocabularies)
        if self.config.model == "logistic":
            model = LogisticRegression(values)
        else:
            model = DeepFM(values, len(self.vocabularies), self.config.embedding, self.config.hidden)
        return model.to(self.device, self.dtype)

    def loss(self, model, rows, labels):
        """Mean cross-entropy of a batch."""
        return functional.binary_cross_entropy_with_logits(model(rows), labels)

    def scores(self, model, rows, labels):
        """(sum of cross-entropies, number of right answers, a click being what is likelier than not)."""
        logits = model(rows)
        loss = functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
        return loss, ((logits > 0) == (labels > 0)).sum()


class LogisticRegression(nn.Module):
    """Log-odds of a click, (samples,): a bias, and a weight for each of `values`. Takes rows (samples, F)."""

    def __init__(self, values):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(()))
        self.weights = nn.Embedding(values, 1)
        nn.init.zeros_(self.weights.weight)

    def forward(self, rows):
        return self.bias + self.weights(rows).sum((1, 2))


class DeepFM(LogisticRegression):
    """Guo et al. 2017: the same, and products of embeddings in pairs (Rendle 2010), and a network on all."""

    def __init__(self, values, fields, embedding, hidden):
        super().__init__(values)
        self.embeddings = nn.Embedding(values, embedding)
        nn.init.normal_(self.embeddings.weight, std=SPREAD)
        widths, layers = (fields * embedding, *hidden), []
        for inputs, outputs in zip(widths, widths[1:], strict=False):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.deep = nn.Sequential(*layers, nn.Linear(widths[-1], 1))

    def forward(self, rows):
        vectors = self.embeddings(rows)
        pairs = (vectors.sum(1) ** 2 - (vectors**2).sum(1)).sum(1) / 2  # over all f < g, in linear time
        return super().forward(rows) + pairs + self.deep(vectors.flatten(1)).squeeze(1)


def held_out_auc(progress):
    """AUC over the held-out clicks, the same on every rank: each scores its share, and all get all scores."""
    rows, labels = progress.task.held_out
    progress.model.eval()
    with torch.no_grad():
        mine = progress.model(rows[progress.rank :: progress.size]).cpu().numpy()
    parts = [mine]
    if progress.size > 1:
        parts = [None] * progress.size
        dist.all_gather_object(parts, mine)  # shares may differ by one, which tensors could not
    scores = np.empty(len(labels))
    for rank, part in enumerate(parts):
        scores[rank :: progress.size] = part
    return auc(labels.cpu().numpy(), scores)
