"""The order in which a learner sees a question's options: their own, and the same each time."""

import secrets
from functools import cache
from hashlib import sha256

from course_lib import progress


def own_seed():
    """The learner's seed: drawn once, and kept in the progress; where nothing is kept, the session's."""
    if _kept() is None and progress.path():
        progress.note("quiz", "seed", value=secrets.randbelow(2**32))
    kept = _kept()
    return _session() if kept is None else kept


def shuffled(question, seed):
    """The letters of the options in the order of `seed`: by a hash, which no version of a library changes."""
    return sorted(
        question.options, key=lambda letter: sha256(f"{seed} {question.id} {letter}".encode()).digest()
    )


def _kept():
    """The first seed of the progress file: with two notebooks at once it is the same for both."""
    noted = (
        event.get("value") for event in progress.events() if (event["kind"], event["key"]) == ("quiz", "seed")
    )
    return next((value for value in noted if type(value) is int), None)


@cache
def _session():
    return secrets.randbelow(2**32)
