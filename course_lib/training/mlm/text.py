"""A text as numbers, one a character, in two parts: to train on, and held out."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from course_lib import data

HELD_OUT = 0.1  # share of the text, at its end


@dataclass(frozen=True, eq=False)
class Text:
    """characters: all that occur, as a str in order. training, held_out: (n,) int64, places in it; read-only.

    The number after the last character's stands for what is masked.
    """

    characters: str
    training: np.ndarray
    held_out: np.ndarray

    @property
    def mask(self):
        """The number of [MASK]."""
        return len(self.characters)

    def encode(self, string):
        """Numbers of the characters of `string`, (n,) int64; ValueError names those that the text lacks."""
        unknown = sorted(set(string) - set(self.characters))
        if unknown:
            raise ValueError(f"the text has no {', '.join(map(repr, unknown))}: the model cannot know them")
        return np.array([self.characters.index(each) for each in string], np.int64)

    def decode(self, numbers, mask="_"):
        """The str of these numbers, with `mask` where [MASK] is."""
        return "".join(mask if each == self.mask else self.characters[each] for each in numbers)

    def unigram_loss(self, numbers=None):
        """Nats a character: the cross-entropy of who knows how frequent each character is, and no more.

        Frequencies are those of the training part, each count raised by one (Laplace), so that a new
        character is no surprise without end. numbers: whose characters to guess, the held-out part if None.
        """
        counts = np.bincount(self.training, minlength=len(self.characters)) + 1
        frequencies = counts / counts.sum()
        return float(-np.log(frequencies[self.held_out if numbers is None else numbers]).mean())


@cache
def read_text(name="alice.txt"):
    """The Text of data/`name`, or of the file with that absolute path, in UTF-8.

    Raises FileNotFoundError if there is none, ValueError for a file that is no text.
    """
    path = Path(name) if Path(name).is_absolute() else data.path(name)
    if path.is_dir():
        raise FileNotFoundError(f"text must be the path of a file; {path} is a folder")
    try:
        string = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}") from None
    characters = "".join(sorted(set(string)))
    places = {character: place for place, character in enumerate(characters)}
    numbers = np.array([places[character] for character in string], np.int64)
    numbers.setflags(write=False)
    cut = len(numbers) - round(HELD_OUT * len(numbers))
    return Text(characters, numbers[:cut], numbers[cut:])
