"""What somebody earns who knows nothing: the law, and answers to grade."""

import numpy as np

from course_lib.quiz.grading import PARTIAL


def blind_answer(question, rng):
    """Letters drawn at random: one of the options, or any set of them but the empty one, all as likely."""
    letters = list(question.options)
    if question.kind == "single":
        return letters[rng.integers(len(letters))]
    picked = rng.integers(1, 2 ** len(letters))
    return {letter for place, letter in enumerate(letters) if picked >> place & 1}


def guessing_law(questions):
    """The probabilities of 0, ½, 1 … len(questions) points for blind answers, as an array."""
    law = np.ones(1)
    for question in questions:
        law = np.convolve(law, _one(question))
    return law


def _one(question):
    """The probabilities of 0, ½ and 1 point."""
    if not question.options:
        raise ValueError(f"questions must have options to guess among; {question.id} has none")
    count, right = len(question.options), len(question.right)
    sets = count if question.kind == "single" else 2**count - 1
    full = 1 / sets
    half = 0.0 if question.kind == "single" else (2**right - 2) / sets
    assert PARTIAL == 0.5
    return np.array([1 - full - half, half, full])
