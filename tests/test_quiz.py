"""The questions of chapter 12: the bank, its links, how answers are graded, and what a browser may know."""

import json
import math
import re
import warnings
from collections import Counter
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import jsonschema
import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import data, laws, progress, simulate
from course_lib.collectives import weighted_mean
from course_lib.labels import label
from course_lib.pictures.quiz import guessing, question_map, reread_map
from course_lib.pictures.wording import number_text
from course_lib.planner import transformer
from course_lib.planner.job import Job
from course_lib.planner.memory import memory
from course_lib.quiz import Question, example, grade, load_questions, mark, question
from course_lib.quiz.guessing import blind_answer, guessing_law
from course_lib.quiz.order import own_seed, shuffled
from course_lib.quiz.reading import read_number, read_numbers
from course_lib.widgets import quiz

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS = load_questions()
ARTICLE, NUMBERS, OPEN = QUESTIONS[:10], QUESTIONS[10:20], QUESTIONS[20:]
RIGHT = dict(zip([f"Q{n}" for n in range(1, 11)], "B B C B C B ABD ABC ABC C".split(), strict=True))
CHAPTERS = """01_visual_demo 02_why_parallel 03_sync_sgd 04_gradient_aggregation 05_allreduce 06_sync_vs_async
07_engineering 08_tools 09_applications 10_python_demo 11_misconceptions 12_interview_questions""".split()
BANK = json.loads(data.path("questions.json").read_text(encoding="utf-8"))

each_question = pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.id)
each_choice = pytest.mark.parametrize("asked", ARTICLE, ids=lambda asked: asked.id)
each_number = pytest.mark.parametrize("asked", NUMBERS, ids=lambda asked: asked.id)


# --- the bank


def schema():
    return json.loads(data.path("questions.schema.json").read_text(encoding="utf-8"))


def test_the_bank_keeps_its_schema():
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.Draft202012Validator(schema()).validate(BANK)


@pytest.mark.parametrize(
    ("place", "spoil"),
    [
        (0, lambda asked: asked.update(answer=["E"])),
        (0, lambda asked: asked.update(answer=["A", "B"])),
        (6, lambda asked: asked.update(answer=["A"])),
        (0, lambda asked: asked.pop("proof")),
        (0, lambda asked: asked["options"].pop("D")),
        (0, lambda asked: asked.update(typo=1)),
        (10, lambda asked: asked["answer"].update(tolerance=0)),
        (20, lambda asked: asked.update(guide=[])),
        (20, dict.clear),
    ],
)
def test_the_schema_finds_what_is_spoilt(place, spoil):
    bank = deepcopy(BANK)
    spoil(bank["questions"][place])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(bank)


def test_the_schema_counts_the_questions():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(BANK | {"questions": BANK["questions"][:-1]})


def test_the_articles_ten_come_first():
    assert [each.id for each in ARTICLE] == list(RIGHT)
    assert [each.kind for each in ARTICLE] == ["single"] * 6 + ["multiple"] * 3 + ["single"]
    assert [each.difficulty for each in ARTICLE] == "easy easy easy mid mid mid hard mid hard extreme".split()
    assert {each.kind for each in NUMBERS} == {"number"} and {each.kind for each in OPEN} == {"open"}
    assert (len(NUMBERS), len(OPEN), len({each.id for each in QUESTIONS})) == (10, 3, 23)
    assert {each.chapters[0] for each in NUMBERS} >= {2, 3, 4, 5, 6, 7, 9}


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("Q1", "equal as soon as they are initialised, too"),
        ("Q2", "dealt anew in each epoch"),
        ("Q4", "does not cure a slow worker"),
        ("Q5", "MAX is an operation"),
        ("Q7", "The ring sums"),
        ("Q8", "does hold a replica"),
        ("Q10", "the reducer"),
    ],
)
def test_what_can_be_argued_about_is_said(id, words):
    assert words in question(id).arguable


@each_choice
def test_prose_names_options_by_their_words(asked):
    """The widget shows no letters."""
    texts = [asked.text, *secrets(asked), *asked.options.values()]
    assert [text for text in texts if re.search(r"\b[B-D]\b|\bA(?= (?:is|and|or)\b)", text)] == []


@each_question
def test_links_lead_to_a_heading(asked):
    notebook, heading = asked.proof.notebook, asked.proof.heading
    assert notebook.removesuffix(".ipynb") in CHAPTERS[:11]
    if heading is None:
        assert asked.proof.link == notebook
        return
    source = ROOT / "notebooks" / "source" / notebook.replace(".ipynb", ".md")
    headings = re.findall(r"^#{2,4} (.+)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings.count(heading) == 1
    assert asked.proof.link == f"{notebook}#{heading.replace(' ', '-')}"
    # A browser would escape other characters, and JupyterLab not find them.
    assert re.fullmatch(r"[\w ,:'-]+", heading, re.ASCII)


@each_question
def test_a_question_that_is_shown_keeps_its_answer(asked):
    shown = repr(asked) + asked._repr_markdown_() + json.dumps(asked.public(), ensure_ascii=False)
    assert [secret for secret in secrets(asked) if secret in shown] == []


def secrets(asked):
    """What must not be seen before the answer."""
    if asked.kind == "open":
        return [point for point, _ in asked.guide] + [asked.model]
    why = [asked.why] if asked.kind == "number" else list(asked.why.values())
    return [*why, *([asked.arguable] if asked.arguable else []), *(hint for _, hint in asked.slips)]


SECRETS = [secret for asked in QUESTIONS for secret in secrets(asked)]


def test_questions_are_found_whatever_the_case():
    assert question(" q1 ") is question("Q1")
    assert mark({"q1": "B"}).points == 1 and list(mark({"q1": "B"}).grades) == ["Q1"]


@pytest.mark.parametrize("id", [None, [], 1, "", "Q11"])
def test_nothing_else_is_a_question(id):
    with pytest.raises(ValueError, match="id must be one of Q1, .*; got"):
        question(id)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: mark(["B"]), TypeError, "answers must be a dict.*got list"),
        (lambda: grade("Q1", "B"), TypeError, "such as question"),
        (lambda: quiz(["Q1"]), TypeError, "questions must be Questions.*got 'Q1'"),
        (lambda: guessing_law([question("N1")]), ValueError, "N1 has none"),
    ],
)
def test_other_arguments_are_refused(call, error, told):
    with pytest.raises(error, match=told):
        call()


# --- the numbers, from the laws


def weighted():
    losses, counts = (2.0, 5.0), (30, 10)

    def worker(comm):
        return weighted_mean(comm, np.array([losses[comm.rank]]), counts[comm.rank])

    return float(simulate(worker, 2).values[1][0])


def gap():
    theta = np.array([1.0, 1.8])
    for step in range(10):
        theta = theta - 0.5 * (math.sin(step) + 0.1 * theta)
    return theta[1] - theta[0]


def zero2():
    model = transformer(40, 5120)
    job = Job(model, ranks=16, strategy="zero2", precision="mixed", optimiser="adam")
    return memory(job).states / model.parameters * 13


COMPUTED = {
    "N1": lambda: laws.amdahl_speedup(0.92, 64),
    "N7": lambda: laws.best_ranks(2.0, 400e6, 2.5e9, 20e-6),
    "N2": gap,
    "N3": weighted,
    "N4": lambda: 1e3 * laws.ring_time(4 * 350e6, 16, 25e9 / 8, 30e-6),
    "N8": lambda: laws.staleness_limit(3) / 20,
    "N9": lambda: 100 * laws.expected_backup(8, 2),
    "N5": lambda: laws.scaled_learning_rate(0.1, 256, 32 * 48 * 4),
    "N10": lambda: 100 * laws.wire_saving(0.05 * 8 / 4, 16, "all_gather"),
    "N6": zero2,
}


@each_number
def test_the_right_number_is_what_the_laws_say(asked):
    assert asked.right == pytest.approx(COMPUTED[asked.id](), rel=1e-9)
    given = grade(asked, f"{COMPUTED[asked.id]():.3g}")  # three digits are enough
    assert given.correct and given.points == 1 and given.feedback.startswith("Right")


@each_number
@pytest.mark.parametrize("sign", [1, -1])
def test_the_tolerance_has_two_ends(asked, sign):
    assert grade(asked, asked.right * (1 + sign * 0.98 * asked.tolerance)).correct
    assert not grade(asked, asked.right * (1 + sign * 1.02 * asked.tolerance)).correct


SLIPS = [(asked, *slip) for asked in NUMBERS for slip in asked.slips]


@pytest.mark.parametrize(("asked", "wrong", "hint"), SLIPS, ids=[f"{asked.id}-{n}" for asked, n, _ in SLIPS])
def test_a_slip_is_wrong_and_explained(asked, wrong, hint):
    given = grade(asked, wrong)
    assert not given.correct and given.points == 0 and hint in given.feedback


@pytest.mark.parametrize("factor", [-1, 1000, 1e6, 1e9, 100, 8, 2])
@pytest.mark.parametrize("power", [1, -1])
def test_a_wrong_sign_or_unit_is_recognised(factor, power):
    asked = Question("N0", "number", "easy", (2,), "How many?", right=3.0, tolerance=0.01)
    known = label("quiz_sign") if factor < 0 else label("quiz_factor", factor=number_text(factor))
    assert known in grade(asked, 3.0 * factor**power).feedback


def test_slips_are_what_they_say():
    wrong = {id: [value for value, _ in question(id).slips] for id in COMPUTED}
    assert wrong["N1"][:2] == pytest.approx([laws.amdahl_limit(0.92), laws.gustafson_speedup(0.92, 64)])
    assert wrong["N8"][2] == pytest.approx(laws.staleness_limit(2) / 20)
    assert wrong["N9"][:2] == pytest.approx([100 * laws.expected_slowest(k) for k in (8, 10)])
    assert wrong["N9"][3] == 175  # chapter 6's prediction 6.12 comes out as 1.75 means
    assert wrong["N4"][-1] == pytest.approx(1e3 * 2 * 4 * 350e6 / (25e9 / 8))
    assert wrong["N5"][1] == pytest.approx(laws.square_root_learning_rate(0.1, 256, 6144))


CLOTHES = {
    "N1": ["10.6×", "10,596"],
    "N3": ["2,750"],
    "N4": ["0.8409 s", "840,9 ms", "8.409e5 us"],
    "N5": ["12/5", Fraction(12, 5), Decimal("2.4"), np.float32(2.4), "2,400"],
    "N6": ["37375 MB", "37.4 gb", "299 Gbit", "37,375", "37,375 MB", "37"],
    "N7": ["205 GPUs", np.int64(205), " ≈ 205. "],
    "N9": ["１４３ｍｓ", "1.43×10²", "2.383e-3 min", "142,897 ms"],
    "N10": ["20 percent", "+20"],
}


@pytest.mark.parametrize(("id", "given"), [(id, each) for id, all in CLOTHES.items() for each in all])
def test_a_number_in_other_clothes(id, given):
    assert grade(question(id), given).correct


MARKS = {
    1000: ["1e3", "1 000", "1\u202f000", "1,000", "1'000", "1’000", "1_000"],
    1234.5: ["1.234,5", "1,234.5", "1 234,5"],
    0.5: ["½", ".5", ",5", "0,5"],
    3: ["３", "٣", "+3", "3.", "3!", "= 3"],
    -3: ["−3", "–3", "-3"],
    1234567: ["1.234.567", "1,234,567"],
    0.125: ["0,125"],
    300: ["3·10^2", "3×10²", "3 * 10**2", "3 10^{2}"],
    0.03: ["3x10^-2"],
    2.5: ["10/4", "5⁄2", "2,5"],
}


@pytest.mark.parametrize(("value", "text"), [(value, each) for value, all in MARKS.items() for each in all])
def test_marks_of_many_countries(value, text):
    assert read_number(text, "") == pytest.approx(value)


def test_a_comma_has_two_readings():
    assert read_numbers("2,750", "") == (2750, 2.75) and read_numbers("2,75", "") == (2.75,)
    assert read_numbers("1,500/1,250", "") == (1.2,) and read_numbers("1,500 s", "ms") == (1.5e6, 1500)
    wrong = grade(question("N3"), "3,500")  # a slip in one of the two
    assert not wrong.correct and wrong.given == 3.5 and "mean of the means" in wrong.feedback
    assert grade(question("N3"), "9,999").given == 9999


IN_MS, WITHOUT = {"unit": " in ms, or without a unit"}, {"unit": " without a unit"}
HINTS = [
    ("Q1", "quiz_empty", {}, [None, "", " \t", [], "()"]),
    ("Q1", "quiz_letters", {}, [5, ["A", 2], ["A"] * 31, {"A": 1}, b"A"]),
    ("Q1", "quiz_one_letter", {}, ["AB", {"A", "B"}, "A and C"]),
    ("Q7", "quiz_not_option", {"strange": "'E'", "listed": "A, B, C, D"}, ["E", "AE", {"A", "E"}]),
    ("Q7", "quiz_not_option", {"strange": "'1'", "listed": "A, B, C, D"}, ["1", "A1", "1E"]),
    ("Q7", "quiz_no_range", {}, ["A-D", "a – d", "A—D", "A..D", "A…D", "A~D", "A-B, D"]),
    ("Q1", "quiz_too_long", {"most": 200}, ["A" * 201]),
    ("N4", "quiz_too_long", {"most": 200}, ["1" * 201]),
    ("O1", "quiz_too_long", {"most": 200}, ["1" * 201]),
    ("N4", "quiz_empty", {}, [None, "", " ≈ . "]),
    ("N4", "quiz_not_number", {"unit": " in ms"}, [True, 1j, [5], b"5", "ten", "--5", "1,2,3", "e5"]),
    ("N3", "quiz_not_number", {"unit": ""}, ["1.2.3", "1,2.3", "1.234,5,6", "12 34 5,6"]),
    ("N4", "quiz_infinite", {}, [math.inf, math.nan, 10**400, "1e999", "1/0", Decimal("nan")]),
    ("N4", "quiz_strange_unit", IN_MS | {"given": "'parsecs'"}, ["5 parsecs"]),
    ("N3", "quiz_strange_unit", WITHOUT | {"given": "'parsecs'"}, ["5 parsecs"]),
    ("N4", "quiz_other_unit", IN_MS | {"given": "'GB'"}, ["5 GB"]),
    ("N3", "quiz_other_unit", WITHOUT | {"given": "'ms'"}, ["5 ms"]),
    ("O1", "quiz_empty", {}, [None]),
    ("O1", "quiz_mark_yourself", {"count": 6}, ["", "It depends", "1 to 3", {0}, {7}, {"a"}, {1.5}, {True}]),
    ("O1", "quiz_mark_yourself", {"count": 6}, [{1: 2}, [1] * 31, 2.5, True]),
    ("O1", "quiz_no_range", {}, ["1-3", "1 – 3", "1..3"]),
]


@pytest.mark.parametrize(
    ("id", "key", "values", "answer"), [(*hint, answer) for *hint, answers in HINTS for answer in answers]
)
def test_what_cannot_be_read_gets_its_hint(id, key, values, answer):
    graded = grade(question(id), answer)
    assert graded.feedback == label(key, **values)
    check_that_it_tells_nothing(graded)


def check_that_it_tells_nothing(given):
    assert (given.understood, given.correct, given.points) == (False, False, 0)
    assert (given.explanation, given.note, given.proof) == ((), "", None)
    shown = repr(given) + given._repr_markdown_()
    assert [secret for secret in secrets(given.question) if secret in shown] == []


TYPED = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates too
TYPED |= st.text("0123456789.,'’ /-−–+eE½²×^ABCDА%msGB()&\u202e", max_size=12)
ANSWERS = st.one_of(
    *(TYPED, st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.binary()),
    *(st.lists(TYPED), st.frozensets(TYPED), st.dictionaries(TYPED, st.integers()), st.lists(st.integers())),
    *(st.fractions(), st.decimals(), st.sampled_from([object(), np.array([1, 2]), lambda: 1, "x" * 10**6])),
)


@pytest.mark.parametrize("id", ["Q1", "Q7", "N3", "N4", "O1"])
@given(answer=ANSWERS)
def test_any_answer_is_graded_or_gets_a_hint(id, answer):
    graded = grade(question(id), answer)
    if graded.understood:
        assert 0 <= graded.points <= 1 and graded.correct <= (graded.points > 0)
    else:
        assert 10 < len(graded.feedback) < 250
        check_that_it_tells_nothing(graded)


# --- letters


@each_choice
def test_the_article_s_answer_is_right(asked):
    graded = grade(asked, RIGHT[asked.id])
    assert graded.correct is True and graded.points == 1 and graded.understood
    assert graded.proof is asked.proof and len(graded.explanation) == 4
    assert asked.proof.link in graded._repr_markdown_()


def points(asked, given):
    """By the rules on the page; None for what is not graded."""
    right = set(RIGHT[asked.id])
    if asked.kind == "single":
        return float(given == right) if len(given) == 1 else None
    return 1 if given == right else 0.5 if given < right else 0


@pytest.mark.parametrize("id", ["Q1", "Q7", "Q8"])
def test_every_choice_is_graded_by_the_rules(id):
    asked = question(id)
    subsets = [frozenset(letters) for size in range(1, 5) for letters in combinations("ABCD", size)]
    grades = {given: grade(asked, given) for given in subsets}
    wanted = {given: points(asked, given) for given in subsets}
    assert {given: each.points if each.understood else None for given, each in grades.items()} == wanted
    assert [given for given, each in grades.items() if each.correct] == [frozenset(RIGHT[id])]
    told = {each.feedback for given, each in grades.items() if each.understood and not each.correct}
    assert all(", ".join(RIGHT[id]) in feedback for feedback in told)


@each_choice
@pytest.mark.parametrize("given", ["A", "B", "ABD", "ABCD"])
def test_feedback_in_words_holds_no_letter(asked, given):
    graded = grade(asked, given if asked.kind == "multiple" else given[0])
    told = graded.in_words
    for text in asked.options.values():
        told = told.replace(text, "")
    assert not re.search(r"\b[ABCD]\b", told.removeprefix("A wrong").replace("A wrong one", ""))
    named = [letter for letter, text in asked.options.items() if f"“{text}”" in graded.in_words]
    assert named == ([] if graded.correct else sorted(asked.right))
    assert grade(question("N4"), 1).in_words == grade(question("N4"), 1).feedback


@pytest.mark.parametrize(
    "given",
    ["a,b", "A、B", "Ａ　Ｂ", "(A) (B)", "A+B", "B/A", "АВ", "ав", "αβ", "A和B", "AAB", "[A][B]", "a and B"]
    + [["A", "b"], {"A,B"}, ("A", "B")],
)
def test_letters_in_other_clothes(given):
    graded = grade(question("Q7"), given)
    assert graded.given == {"A", "B"} and graded.points == 0.5


# --- open questions


@pytest.mark.parametrize("asked", OPEN, ids=lambda asked: asked.id)
def test_an_open_question_is_marked_by_its_guide(asked):
    everything = grade(asked, list(range(1, len(asked.guide) + 1)))
    assert everything.correct and everything.points == 1 and everything.explanation == (asked.model,)
    first = grade(asked, 1)
    assert first.points == pytest.approx(asked.guide[0][1] / sum(each for _, each in asked.guide))
    assert not first.correct


@pytest.mark.parametrize("given", [{1}, [1], "1", "1.", (np.int64(1),), 1, np.int64(1), "(1)"])
def test_a_place_in_other_clothes(given):
    assert grade(question("O1"), given).given == {1}


# --- the score


def test_the_score_says_what_to_read_again():
    score = mark({"Q1": "B", "Q7": "A", "N1": 12.5, "Q2": "?"})
    assert score.points == 1.5 and [each.question.id for each in score.again] == ["Q7", "N1"]
    assert "Points: 1.5. Answered: 3 of 4" in repr(score)
    assert "(05_allreduce.ipynb#Be-rank-2)" in score._repr_markdown_()
    assert "No answers yet" in repr(mark({}))


def test_an_open_answer_that_counts_as_right_is_not_read_again():
    score = mark({"O1": "1, 2, 3, 5", "O2": "1"})
    assert score.grades["O1"].points == 0.8 and [each.question.id for each in score.again] == ["O2"]
    assert "1 right, 1 with some points, 0 with none" in reread_map(QUESTIONS, score).alt


def test_the_law_of_guessing():
    law = guessing_law(ARTICLE)
    assert law.sum() == pytest.approx(1) and law[-1] == pytest.approx(0.25**7 / 15**3)
    assert law @ np.arange(21) / 2 == pytest.approx(7 / 4 + 3 * (1 + 6 / 2) / 15)
    rng = np.random.default_rng(0)
    earned = [sum(grade(each, blind_answer(each, rng)).points for each in ARTICLE) for _ in range(400)]
    assert np.mean(earned) == pytest.approx(2.55, abs=0.25)
    assert "2.55" in guessing(ARTICLE, earned).alt


def test_the_maps():
    assert "chapter 6, 6" in question_map(QUESTIONS).alt
    picture = reread_map(QUESTIONS, mark({"Q1": "B", "Q7": "A", "N1": 12.5}))
    assert "1 right, 1 with some points, 1 with none, 20 not answered" in picture.alt
    assert picture.numbers[0].startswith("To read again: chapters 2, 5")
    assert reread_map(QUESTIONS, mark({"Q1": "B"})).numbers[0].startswith("Nothing to read again")


# --- the order of the options


@pytest.fixture(scope="module")
def earned():
    """{(question, places): points on average over 1,000 seeds} for whoever always ticks those places."""
    found = {}
    for asked in ARTICLE:
        orders = Counter("".join(shuffled(asked, seed)) for seed in range(1000))
        for places in SINGLE if asked.kind == "single" else SEVERAL:
            each = {order: grade(asked, "".join(order[place] for place in places)).points for order in orders}
            found[asked.id, places] = sum(each[order] * count for order, count in orders.items()) / 1000
    return found


SINGLE = [(place,) for place in range(4)]
SEVERAL = [places for size in range(1, 5) for places in combinations(range(4), size)]


@pytest.mark.parametrize("alone", SINGLE)
@pytest.mark.parametrize("among", SEVERAL)
def test_no_place_is_an_answer(alone, among, earned):
    """Nor the same places each time where several may be right."""
    points = [earned[asked.id, alone if asked.kind == "single" else among] for asked in ARTICLE]
    assert sum(points) < 4.5


@each_choice
def test_each_option_comes_to_each_place(asked):
    orders = Counter("".join(shuffled(asked, seed)) for seed in range(2400))
    assert len(orders) == 24 and min(orders.values()) > 50  # of 100


def test_the_order_is_the_learners_own_and_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "mine.jsonl"))
    own = own_seed()
    assert own_seed() == own and [each["value"] for each in progress.events()] == [own]
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "another.jsonl"))
    assert own_seed() != own
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "mine.jsonl"))
    assert own_seed() == own
    orders = [[letter for letter, _ in each["options"]] for each in quiz(ARTICLE).questions]
    assert orders == [shuffled(each, own) for each in ARTICLE]
    assert progress.guesses() == {} and progress.solved() == {}


@pytest.mark.parametrize("damage", ['{"kind": "quiz", "key": "seed", "when": "", "value": "x"}', "{"])
def test_a_damaged_seed_is_drawn_anew(damage, tmp_path, monkeypatch):
    (tmp_path / "mine.jsonl").write_text(damage)
    monkeypatch.setattr(progress, "_warned", {"progress_damaged"})
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "mine.jsonl"))
    assert own_seed() == own_seed() >= 0


def test_where_nothing_is_kept_the_order_stays_for_the_session(tmp_path, monkeypatch):
    assert own_seed() == own_seed()
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path))  # a folder: it can be neither read nor written
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert own_seed() == own_seed()


def test_whatever_the_order_letters_are_the_articles():
    widget = quiz(ARTICLE, seed=3)
    assert (
        [letter for letter, _ in widget.questions[0]["options"]]
        == shuffled(question("Q1"), 3)
        != list("ABCD")
    )
    assert widget.submit("Q1", "B").correct and widget.results["Q1"]["right"] == ["B"]
    plain = widget._repr_mimebundle_()[0]["text/plain"]
    assert plain == quiz(ARTICLE, seed=4)._repr_mimebundle_()[0]["text/plain"].replace(
        "0 answered", "1 answered"
    )
    assert "  A  As soon" in plain


# --- the widget without a browser


def sent(widget):
    """All that the browser gets."""
    state = {name: value for name, value in widget.get_state().items() if name not in ("_esm", "_css")}
    return json.dumps(state, ensure_ascii=False, default=repr)


def test_the_browser_knows_no_answer_before_it_is_given():
    widget = quiz()
    before = sent(widget)
    stored = "".join(map(str, widget._repr_mimebundle_()[0].values()))
    assert [secret for secret in SECRETS if secret in before or secret in stored] == []
    assert all(asked.text in stored for asked in QUESTIONS)
    public = {asked.id: json.dumps(asked.public()) for asked in QUESTIONS}
    assert not any('"answer"' in each or '"right"' in each for each in public.values())
    assert [asked.id for asked in NUMBERS if str(asked.right)[:5] in public[asked.id]] == []
    widget.submit("Q1", "A")
    after = sent(widget)
    assert question("Q1").arguable in after and question("Q2").arguable not in after


def test_the_first_answer_that_can_be_read_counts():
    widget = quiz(ARTICLE)
    assert not widget.submit("Q1", "").understood and not widget.results
    assert widget.hints == {"Q1": label("quiz_empty")}
    assert not widget.submit("Q1", "C").correct
    assert widget.submit("Q1", "B") is widget.grades["Q1"] and not widget.grades["Q1"].correct
    assert widget.hints == {} and widget.results["Q1"]["right"] == ["B"]
    assert widget.results["Q1"]["given"] == ["C"] and grade(question("N4"), "0.5 s").given == 500
    widget.submit("Q7", ["A", "B"])
    assert widget.points == "Points: 0.5. Answered: 2 of 10" and widget.score().points == 0.5
    widget._told(widget, {"do": "reset"}, [])
    assert (widget.grades, widget.results, widget.points) == ({}, {}, "Points: 0. Answered: 0 of 10")


def test_the_guide_comes_on_demand():
    widget = quiz(OPEN)
    assert widget.guides == {}
    widget._told(widget, {"do": "guide", "id": "O2"}, [])
    assert list(widget.guides) == ["O2"] and "holds a full replica" in widget.guides["O2"][0]
    widget._told(widget, {"do": "submit", "id": "O2", "answer": [1, 2, 3, 4]}, [])
    assert widget.results["O2"]["correct"] and widget.results["O2"]["points"] == pytest.approx(0.8)


@pytest.mark.parametrize("told", [{}, None, [], "x", {"do": 1}, {"do": "submit"}, {"do": "guide", "id": []}])
def test_nonsense_from_a_browser_changes_nothing(told):
    widget = quiz(ARTICLE)
    widget._told(widget, told, [])
    assert (widget.grades, widget.hints, widget.guides) == ({}, {}, {})


@pytest.mark.parametrize(("id", "answer"), [("Q99", "B"), ("Q1", {"x": 1})])
def test_an_odd_answer_from_a_browser_changes_no_grade(id, answer):
    widget = quiz(ARTICLE)
    widget._told(widget, {"do": "submit", "id": id, "answer": answer}, [])
    assert widget.grades == {}


def test_the_place_stays_within():
    widget = quiz(ARTICLE)
    widget.current = 99
    assert widget.current == 9
    widget.current = -3
    assert widget.current == 0


# --- the stored notebook


def test_the_stored_notebook_holds_no_answers():
    text = (ROOT / "notebooks" / "12_interview_questions.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    shown = [cell.source for cell in notebook.cells]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            shown += [str(value) for value in output.get("data", {}).values()] + [output.get("text", "")]
    shown = "\n".join(shown)
    assert all(asked.text in shown for asked in QUESTIONS)
    unfolded = re.sub(r"<details>.*?</details>", "", shown, flags=re.DOTALL)
    assert [secret for secret in SECRETS if secret in unfolded] == []


FOLDED = re.compile(r"<details><summary>(\w+): answer and proof</summary>\n\n(.*?)\n\n</details>", re.DOTALL)
LINK = re.compile(r"\[[^]]+\]\((\w+)\.ipynb#([^)\s]+)\)(?: \(claims? ([\d., ]+)\))?")


@pytest.fixture(scope="module")
def answers():
    """{question: its folded answer} of the stored chapter."""
    notebook = nbformat.read(ROOT / "notebooks" / "12_interview_questions.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if "<details>" in cell.source]
    assert all(cell.cell_type == "markdown" for cell in cells)
    assert {cell.metadata.slideshow.slide_type for cell in cells} == {"skip"}  # not for the lecture's slides
    return dict(found for cell in cells for found in FOLDED.findall(cell.source))


@pytest.fixture(scope="module")
def notebooks():
    paths = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    return {path.stem: nbformat.read(path, as_version=4) for path in paths}


@each_question
def test_each_stored_question_has_its_folded_answer_with_proof(asked, answers, notebooks):
    text, links = answers[asked.id], LINK.findall(answers[asked.id])
    assert asked.arguable in text
    if asked.kind == "number":
        assert number_text(asked.right) in text and asked.why in text
    elif asked.kind == "open":
        assert asked.model in text and all(point in text for point, _ in asked.guide)
    else:
        told = [f"**{words}.** {asked.why[letter]}" in text for letter, words in asked.options.items()]
        assert told == [letter in asked.right for letter in asked.options]
    assert f"{links[0][0]}.ipynb#{links[0][1]}" == asked.proof.link
    assert {claim for *_, claims in links for claim in filter(None, claims.split(", "))} == set(
        asked.proof.claims
    )
    for name, anchor, claims in links:
        cells = section(notebooks[name], anchor)
        tags = {tag for cell in cells if cell.get("execution_count") for tag in cell.metadata.get("tags", [])}
        assert cells and {f"claim-{claim}" for claim in filter(None, claims.split(", "))} <= tags


def section(notebook, anchor):
    """The cells below a heading, up to the next one of its level."""
    found, inside = [], False
    for cell in notebook.cells:
        for heading in (
            re.findall(r"^##+ (.+)$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else ()
        ):
            inside = heading.replace(" ", "-") == anchor or (inside and f"## {heading}" not in cell.source)
        found += [cell] * inside
    return found


def test_the_rules_on_the_page_are_those_that_grade():
    even, minute = example("multiple"), example("number")
    points = {given: grade(even, given).points for given in ("A", "C", "AC", "AB", "ABC", "ABCD", "B", "BD")}
    assert points == {"A": 0.5, "C": 0.5, "AC": 1, "AB": 0, "ABC": 0, "ABCD": 0, "B": 0, "BD": 0}
    assert grade(minute, "1.5 min").correct and "Half a minute" in grade(minute, 150).feedback
    assert {each.tolerance for each in NUMBERS} <= {0.005, 0.01, 0.015, 0.02}  # as the page says
