"""Questions one at a time, graded in Python: the browser learns an answer when it has been given."""

from contextlib import suppress

import traitlets

from course_lib.labels import label
from course_lib.pictures.wording import exact_text
from course_lib.quiz import Question, Score, grade, load_questions
from course_lib.quiz.order import own_seed, shuffled
from course_lib.widgets.base import CourseWidget
from course_lib.widgets.page import script


class Quiz(CourseWidget):
    """See `quiz`. submit(id, answer) does what the button does; grades is {id: Grade}; score() sums up."""

    _esm = script("quiz")
    about = ("quiz_",)
    stateful = ("current",)

    title = traitlets.Unicode().tag(sync=True)
    questions = traitlets.List().tag(sync=True)  # what may be known before an answer
    current = traitlets.Int(0).tag(sync=True)
    results = traitlets.Dict().tag(sync=True)  # {id: what may be known after it}
    hints = traitlets.Dict().tag(sync=True)  # {id: why an answer was not graded}
    guides = traitlets.Dict().tag(sync=True)  # {id: points of an open question's guide, once asked for}
    points = traitlets.Unicode().tag(sync=True)

    def __init__(self, questions, title="", seed=None):
        self.asked = {each.id: each for each in questions}
        self.grades = {}
        seed = own_seed() if seed is None else seed
        shown = [each.public(shuffled(each, seed)) for each in questions]
        super().__init__(title=title, questions=shown, points=self._points())
        self.on_msg(self._told)

    @traitlets.validate("current")
    def _within(self, proposal):
        return max(0, min(proposal.value, len(self.questions) - 1))

    def submit(self, id, answer):
        """Grade `answer` to the question `id`, and return the Grade. The first that can be read counts."""
        if id in self.grades:
            return self.grades[id]
        graded = grade(self.asked[id], answer)
        if not graded.understood:
            self.hints = {**self.hints, id: graded.feedback}
            return graded
        self.grades[id] = graded
        self.hints = {key: hint for key, hint in self.hints.items() if key != id}
        self.results = {**self.results, id: _result(graded)}
        self.points = self._points()
        return graded

    def show_guide(self, id):
        """Show the marking guide of the open question `id`."""
        points = [label("quiz_worth", point=point, worth=worth) for point, worth in self.asked[id].guide]
        self.guides = {**self.guides, id: points}

    def score(self):
        """Points so far, and what to read again."""
        return Score(dict(self.grades), tuple(self.asked))

    def reset(self):
        """Forget all answers."""
        super().reset()
        self.grades.clear()
        self.results, self.hints, self.guides, self.points = {}, {}, {}, self._points()

    def __repr__(self):
        return label("quiz_repr", count=len(self.asked), answered=len(self.grades))

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        data["text/markdown"] = "\n\n".join(each._repr_markdown_() for each in self.asked.values())
        data["text/plain"] = "\n".join([repr(self), *map(repr, self.asked.values())])
        return data, metadata

    def _points(self):
        points = f"{sum(each.points for each in self.grades.values()):.3g}"
        return label("quiz_points", points=points, answered=len(self.grades), count=len(self.asked))

    def _told(self, _, content, buffers):
        """A message of the browser: anything may be in it, and what makes no sense is left alone."""
        with suppress(KeyError, TypeError, AttributeError):
            if content["do"] == "submit":
                self.submit(content["id"], content["answer"])
            elif content["do"] == "guide":
                self.show_guide(content["id"])
            elif content["do"] == "reset":
                self.reset()


def _result(graded):
    """A Grade for the browser."""
    question, proof, given = graded.question, graded.proof, graded.given
    why = question.why if isinstance(question.why, dict) else {}
    return {
        "correct": graded.correct,
        "points": graded.points,
        "feedback": graded.in_words,
        "given": sorted(given) if isinstance(given, frozenset) else exact_text(given),
        "right": sorted(question.right) if why else [],
        "why": why,
        "working": "" if why else graded.explanation[0],
        "note": graded.note,
        "proof": repr(proof) if proof else "",
        "link": proof.link if proof else "",
    }


def quiz(questions=None, title="", seed=None):
    """Ask `questions` (all of the bank if None), one at a time. Without a browser: course_lib.quiz.grade.

    seed: of the order of the options; None takes the learner's own, which stays the same.
    """
    questions = load_questions() if questions is None else list(questions)
    for each in questions:
        if not isinstance(each, Question):
            raise TypeError(f"questions must be Questions, such as question('Q1'); got {each!r:.40}")
    return Quiz(questions, title, seed)
