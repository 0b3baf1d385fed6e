"""The course's chapters in their order, and how far the learner has come in one."""

import json
from dataclasses import dataclass

from course_lib import data, progress
from course_lib.labels import label


@dataclass(frozen=True)
class Chapter:
    """notebook: the file's name without ending. search: its title in a search engine.

    chinese: the article's heading. able: what one learns.
    """

    number: int
    notebook: str
    search: str
    title: str
    chinese: str
    able: str

    @property
    def link(self):
        """Markdown, for whatever lies beside the notebooks."""
        return f"[{self.number} · {self.title}]({self.notebook}.ipynb)"


@dataclass(frozen=True, repr=False)
class ChapterProgress:
    """What is there in a chapter, and how much of it the learner has done; shows both, and what is next.

    exercises, predictions: how many there are. solved: which exercises are. guesses: {key: progress.Guess}.
    kept: where progress is kept; None if it is not.
    """

    chapter: Chapter
    exercises: int
    predictions: int
    solved: tuple = ()
    guesses: tuple = ()
    kept: str | None = None
    following: Chapter | None = None

    def lines(self):
        """What is shown, as Markdown."""
        done = {"solved": len(self.solved), "guessed": len(self.guesses), "number": self.chapter.number}
        there = {"exercises": self.exercises, "predictions": self.predictions}
        if self.kept is None:
            yield label("progress_there", **done, **there)
        else:
            yield label("progress_done", **done, **there)
            yield from self._open()
            yield label("progress_kept", file=self.kept)
        if self.following:
            yield label("progress_next", link=self.following.link)

    def _open(self):
        compared = [guess for guess in self.guesses if guess.compared]
        if compared:
            right = sum(guess.right for guess in compared)
            yield label("progress_right", compared=len(compared), right=right, within=progress.WITHIN)
        keys = [f"{self.chapter.number}.{place}" for place in range(1, self.exercises + 1)]
        if left := [key for key in keys if key not in self.solved]:
            yield label("progress_left", exercises=", ".join(left))

    def _repr_markdown_(self):
        return "\n\n".join(self.lines())

    def __repr__(self):
        return "\n".join(self.lines())


def chapters():
    """The twelve Chapters."""
    listed = json.loads(data.path("course.json").read_text(encoding="utf-8"))
    return tuple(Chapter(number, **entry) for number, entry in enumerate(listed, start=1))


def chapter_progress(number, exercises, predictions):
    """The ChapterProgress of chapter `number`, which has so many exercises and predictions."""
    chapter, following = [*chapters(), None][number - 1 : number + 1]
    here = f"{number}."
    return ChapterProgress(
        chapter,
        exercises,
        predictions,
        tuple(key for key in progress.solved() if key.startswith(here)),
        tuple(guess for key, guess in progress.guesses().items() if key.startswith(here)),
        progress.path() and progress.path().name,
        following,
    )
