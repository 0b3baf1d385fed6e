"""What a run of the masked-language model can be told, checked at once."""

import os
from dataclasses import asdict, dataclass

from course_lib.arguments import one_of, real_number, whole_number
from course_lib.training.mlm.text import read_text

DTYPES = ("float32", "float64")


@dataclass(frozen=True, kw_only=True)
class MlmConfig:
    """One run. Raises TypeError, ValueError or FileNotFoundError for a setting that cannot be.

    text: a file in data/, or the absolute path of one. vocabulary: tokens that the model has room for, the
    text's different characters and [MASK]. context: characters of a sample. mask_share: of them, masked.
    layers, width, heads: of the encoder; heads divides width. dropout: with any, ranks draw noise of their
    own, and K of them no longer do exactly what one process does. global_batch: samples behind an update, of
    all ranks together. lr: reached after `warmup` of the `steps` updates, gone down to 0 over the last third.
    evaluate_every: updates between two looks at the held-out part. checkpoint: a folder; the run goes on from
    what is there, and saves at each look.
    """

    text: str = "alice.txt"
    vocabulary: int = 128
    context: int = 32
    mask_share: float = 0.15
    layers: int = 2
    width: int = 64
    heads: int = 4
    dropout: float = 0.0
    global_batch: int = 64
    steps: int = 500
    lr: float = 5e-3
    warmup: int = 50
    seed: int = 0
    dtype: str = "float32"
    evaluate_every: int = 50
    checkpoint: str | None = None

    def __post_init__(self):
        at_least_one = "context", "layers", "width", "heads", "global_batch", "steps", "evaluate_every"
        for name in (*at_least_one, "vocabulary"):
            self._set(name, whole_number(name, getattr(self, name), 1))
        self._set("warmup", whole_number("warmup", self.warmup, 0))
        self._set("seed", whole_number("seed", self.seed, 0, 2**63 - 1))
        self._set("lr", real_number("lr", self.lr, inclusive=False))
        for name in ("mask_share", "dropout"):
            self._set(name, _share(name, getattr(self, name)))
        one_of("dtype", self.dtype, DTYPES)
        self._set("text", _path("text", self.text, "a file"))
        if self.checkpoint is not None:
            self._set("checkpoint", _path("checkpoint", self.checkpoint, "a folder"))
        if self.width % self.heads:
            raise ValueError(f"heads must divide width; got heads={self.heads}, width={self.width}")
        self._check_text()

    def _check_text(self):
        text = read_text(self.text)
        tokens = len(text.characters) + 1
        if tokens > self.vocabulary:
            raise ValueError(
                f"{self.text} has {tokens - 1} different characters: with [MASK] vocabulary must be at least "
                f"{tokens}; got {self.vocabulary}"
            )
        if self.context > len(text.held_out):
            raise ValueError(
                f"context must be at most {len(text.held_out)}, for {self.text} has no more characters held "
                f"out; got {self.context}"
            )

    def share(self, rank, ranks):
        """The numbers, in each global batch, of this rank's samples; ValueError if K does not divide it."""
        rank, ranks = whole_number("rank", rank, 0), whole_number("ranks", ranks, 1)
        batch, rest = divmod(self.global_batch, ranks)
        if rest:
            raise ValueError(
                f"global_batch must be a multiple of the number of ranks, so that each has as many samples; "
                f"got global_batch={self.global_batch} for {ranks} ranks"
            )
        return range(rank * batch, (rank + 1) * batch)

    def rate(self, step):
        """Learning rate of update `step`, from 0."""
        up = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        down = min(1.0, 3 * (self.steps - step) / self.steps)
        return self.lr * up * down

    def lasting(self):
        """The settings that a run keeps when it goes on from a checkpoint: all but where it is."""
        return {name: value for name, value in asdict(self).items() if name != "checkpoint"}

    def _set(self, name, value):
        object.__setattr__(self, name, value)  # the dataclass is frozen once this is done


def _path(name, value, kind):
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise TypeError(f"{name} must be the path of {kind}; got {value!r}")
    return os.fspath(value)


def _share(name, value):
    value = real_number(name, value)
    if value >= 1:
        raise ValueError(f"{name} must be a share from 0 to below 1; got {value!r}")
    return value
