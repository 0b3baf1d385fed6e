"""The questions of chapter 12, and how answers are graded. Plain Python; answers stay in the kernel."""

from course_lib.quiz.bank import Question, example, load_questions, question
from course_lib.quiz.grading import Grade, grade
from course_lib.quiz.score import Score, mark

__all__ = ["Grade", "Question", "Score", "example", "grade", "load_questions", "mark", "question"]
