"""An answer graded by the rules that chapter 12 tells."""

from dataclasses import dataclass

from course_lib.labels import label
from course_lib.pictures.wording import number_text
from course_lib.quiz.bank import Question
from course_lib.quiz.reading import Unreadable, read_letters, read_numbers, read_places

PARTIAL = 0.5  # for some of the right letters and no wrong one
ENOUGH = 0.75  # of an open question's guide


@dataclass(frozen=True, repr=False)
class Grade:
    """correct: bool. points: 0 to 1. feedback: one or two sentences.

    understood: False if the answer could not be read; then feedback is a hint, and nothing is given away.
    given: the answer as it was read, a set of letters, a number in the question's unit, or a set of places.
    verdict: of a choice, which label its feedback is.
    """

    question: Question
    correct: bool
    points: float
    feedback: str
    understood: bool = True
    given: object = None
    verdict: str = ""

    @property
    def in_words(self):
        """The feedback with options by their words: for where they stand without letters."""
        if not self.verdict:
            return self.feedback
        named = [f"“{self.question.options[letter]}”" for letter in _right(self.question)]
        return label(self.verdict, right=", ".join(named))

    @property
    def explanation(self):
        """Why, as texts, one an option; none for an answer that could not be read."""
        if not self.understood:
            return ()
        if self.question.kind == "open":
            return (self.question.model,)
        if isinstance(self.question.why, str):
            return (self.question.why,)
        return tuple(f"{letter}: {why}" for letter, why in self.question.why.items())

    @property
    def note(self):
        """What can be argued about in the question, or in the article's own explanation."""
        return self.question.arguable if self.understood else ""

    @property
    def proof(self):
        """Where the course shows it, or None."""
        return self.question.proof if self.understood else None

    def __repr__(self):
        lines = [self.feedback, *(f"  {text}" for text in self.explanation)]
        lines += [label("quiz_note", note=self.note)] * bool(self.note)
        lines += [label("quiz_proof", proof=self.proof)] * bool(self.proof)
        return "\n".join(lines)

    def _repr_markdown_(self):
        lines = [f"**{self.feedback}**", "", *(f"- {text}" for text in self.explanation)]
        lines += ["", f"> {label('quiz_note', note=self.note)}"] * bool(self.note)
        proof = self.proof
        link = label("quiz_proof", proof=f"[{proof}]({proof.link})") if proof else ""
        return "\n".join([*lines, *(["", link] if link else [])])


def grade(question, answer):
    """Grade an answer: a letter; a set of letters; a number, or a text of it with its unit.

    For an open question: the numbers of the points of its guide that the learner's own answer had.
    """
    if not isinstance(question, Question):
        raise TypeError(f"question must be a Question, such as question('Q1'); got {type(question).__name__}")
    try:
        return _GRADED[question.kind](question, answer)
    except Unreadable as hint:
        return Grade(question, False, 0.0, str(hint), understood=False)


def _single(question, answer):
    given = read_letters(answer, question.options, single=True)
    right = given == question.right
    return _chosen(question, given, float(right), "quiz_right" if right else "quiz_wrong")


def _multiple(question, answer):
    given = read_letters(answer, question.options, single=False)
    if given == question.right:
        return _chosen(question, given, 1.0, "quiz_right")
    if given < question.right:
        return _chosen(question, given, PARTIAL, "quiz_partial")
    return _chosen(question, given, 0.0, "quiz_wrong_among")


def _chosen(question, given, points, verdict):
    """The Grade of letters."""
    feedback = label(verdict, right=", ".join(_right(question)))
    return Grade(question, points == 1, points, feedback, given=given, verdict=verdict)


def _right(question):
    return sorted(question.right)


def _number(question, answer):
    readings = read_numbers(answer, question.unit)
    shown = f"{number_text(question.right)} {question.unit}".strip()
    for given in readings:
        if _near(given, question.right, question.tolerance):
            return Grade(question, True, 1.0, label("quiz_right_number", right=shown), given=given)
    hints = [(given, _slip(given, question)) for given in readings]
    given, hint = next(((given, hint) for given, hint in hints if hint), (readings[0], ""))
    hint = hint or _looks_like(given, question)
    feedback = label("quiz_wrong_number", right=shown, hint=hint).strip()
    return Grade(question, False, 0.0, feedback, given=given)


def _open(question, answer):
    if isinstance(answer, str) and not any(letter.isdecimal() for letter in answer[:200]):
        raise Unreadable(label("quiz_mark_yourself", count=len(question.guide)))
    places = read_places(answer, len(question.guide))
    worth = [points for _, points in question.guide]
    share = sum(worth[place - 1] for place in places) / sum(worth)
    right = share >= ENOUGH
    return Grade(question, right, share, label("quiz_marked", share=share), given=places)


_GRADED = {"single": _single, "multiple": _multiple, "number": _number, "open": _open}


def _near(given, right, tolerance):
    return abs(given - right) <= tolerance * abs(right)


def _slip(given, question):
    """The hint for a wrong number that was expected, or nothing."""
    return next((hint for wrong, hint in question.slips if _near(given, wrong, question.tolerance)), "")


def _looks_like(given, question):
    """What a wrong number looks like: a factor that a unit explains, or a sign."""
    if _near(-given, question.right, question.tolerance):
        return label("quiz_sign")
    for factor in (1000, 1e6, 1e9, 100, 8, 2):
        for times in (factor, 1 / factor):
            if _near(given / times, question.right, question.tolerance):
                return label("quiz_factor", factor=number_text(factor))
    return ""
