"""How far a learner has come: points, and what to read again."""

from dataclasses import dataclass

from course_lib.labels import label
from course_lib.pictures.wording import number_text
from course_lib.quiz.bank import question
from course_lib.quiz.grading import grade


@dataclass(frozen=True, repr=False)
class Score:
    """grades: {id: Grade} of the answers that could be read. asked: the ids of all questions."""

    grades: dict
    asked: tuple

    @property
    def points(self):
        return sum(each.points for each in self.grades.values())

    @property
    def again(self):
        """The Grades that are not right, in the order of the questions."""
        return [self.grades[id] for id in self.asked if id in self.grades and not self.grades[id].correct]

    def __repr__(self):
        lines = [self.summary]
        lines += [
            label("quiz_again_one", id=each.question.id, proof=each.question.proof) for each in self.again
        ]
        return "\n".join(lines)

    def _repr_markdown_(self):
        links = [(each.question.id, each.question.proof) for each in self.again]
        lines = [label("quiz_again_one", id=id, proof=f"[{proof}]({proof.link})") for id, proof in links]
        return "\n".join([f"**{self.summary}**", "", *(f"- {line.strip()}" for line in lines)])

    @property
    def summary(self):
        if not self.grades:
            return label("quiz_no_score", asked=len(self.asked))
        points = number_text(self.points)
        return label("quiz_score", points=points, answered=len(self.grades), asked=len(self.asked))


def mark(answers):
    """Grade {id: answer}, such as {"Q1": "A", "N4": "12 ms"}, and return the Score."""
    if not isinstance(answers, dict):
        raise TypeError(f"answers must be a dict, such as {{'Q1': 'A'}}; got {type(answers).__name__}")
    grades = [grade(question(id), answer) for id, answer in answers.items()]
    graded = {each.question.id: each for each in grades}
    return Score({id: each for id, each in graded.items() if each.understood}, tuple(graded))
