"""What a learner's progress names keeps its meaning: predictions, exercises, claims, questions of 0.1.0.

tests/data/identifiers-0.1.0.json lists those of 0.1.0, with a prediction's choices and unit, an exercise's
checker and a question's kind, and as `retired` those that are gone since: their names are not used again.
tests/data/progress-0.1.0.jsonl was written by 0.1.0, by a learner who answered in chapters 3, 4 and 12.
"""

import json
import re
import shutil
import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import SimpleNamespace

import pytest
from build import chapters
from pages import ledger
from questions import asked

import course_lib.exercises
from course_lib import progress
from course_lib.calibration import calibration
from course_lib.course import chapter_progress
from course_lib.predict import predict
from course_lib.quiz import load_questions
from course_lib.quiz.order import own_seed

DATA = Path(__file__).parent / "data"
KEPT = json.loads((DATA / "identifiers-0.1.0.json").read_text(encoding="utf-8"))
RETIRED = KEPT.pop("retired")
KEPT["claims"] = {claim: claim for claim in KEPT["claims"]}
KINDS = ("predictions", "exercises", "claims", "questions")
SEPARATE = [(kind, name) for kind in KINDS for name in KEPT[kind]]
EVENTS = [json.loads(line) for line in (DATA / "progress-0.1.0.jsonl").read_text().splitlines() if line]


def predictions():
    """{prediction: its choices and unit} of all chapters."""
    for chapter in chapters():
        for call in re.findall(r"\bpredict\(.*\)", chapter.source.read_text(encoding="utf-8")):
            key, choices, unit = asked(SimpleNamespace(source=call))
            yield key, {"choices": choices, "unit": unit}


def exercises():
    """{exercise: the name of its checker} of all chapters."""
    there = set()
    for chapter in chapters():
        there |= set(
            re.findall(r"^### Exercise (\d+\.\d+) ", chapter.source.read_text(encoding="utf-8"), re.M)
        )
    for module in iter_modules(course_lib.exercises.__path__):
        for name, value in vars(import_module(f"course_lib.exercises.{module.name}")).items():
            if getattr(value, "exercise", None) in there:
                yield value.exercise, name


@pytest.fixture(scope="module")
def now():
    return {
        "predictions": dict(predictions()),
        "exercises": dict(exercises()),
        "claims": {claim.id: claim.id for claim in ledger()},
        "questions": {each.id: each.kind for each in load_questions()},
    }


@pytest.mark.parametrize(("kind", "name"), SEPARATE)
def test_what_had_a_name_keeps_it(kind, name, now):
    if name in RETIRED[kind]:
        assert name not in now[kind], "a retired name is used again"
    else:
        assert now[kind].get(name) == KEPT[kind][name]


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_there_was_is_retired(kind):
    assert set(RETIRED[kind]) <= set(KEPT[kind])


# --- progress of 0.1.0


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A learner's file, written by 0.1.0."""
    shutil.copy(DATA / "progress-0.1.0.jsonl", tmp_path / "mine.jsonl")
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "mine.jsonl"))
    monkeypatch.setattr(progress, "_warned", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield tmp_path / "mine.jsonl"


LAST = {event["key"]: event for event in EVENTS if event["kind"] != "solved"}


def test_the_old_learner_did_something_of_each_kind():
    assert {type(event["value"]) for event in LAST.values()} == {str, int, float}
    assert {event["kind"] for event in EVENTS} == {"guess", "comparison", "solved"}
    assert {event["kind"] for event in LAST.values()} == {"guess", "comparison"}


@pytest.mark.parametrize("key", LAST)
def test_a_guess_of_before_still_answers_its_question(key, old, now):
    question = predict(key, now["predictions"][key]["choices"] or None, now["predictions"][key]["unit"])
    assert question.guess == LAST[key]["value"]
    assert question.locked is (LAST[key]["kind"] == "comparison")
    assert progress.guesses()[key].measured == LAST[key].get("measured")


def test_what_was_solved_stays_solved(old):
    solved = [event["key"] for event in EVENTS if event["kind"] == "solved"]
    assert list(progress.solved()) == solved and len(solved) == 8
    assert chapter_progress(4, 3, 7).solved == ("4.1", "4.2")
    assert chapter_progress(12, 3, 2).solved == ("12.1", "12.3")
    assert (len(calibration().factors), len(calibration().choices)) == (5, 5)


def test_what_is_new_is_added_behind_it(old):
    before = old.read_bytes()
    own_seed()
    question = predict("4.5", unit="times")
    question.compare(2)
    assert question.locked and old.read_bytes().startswith(before)
    assert [event["kind"] for event in progress.events()[len(EVENTS) :]] == ["quiz", "comparison"]
    assert list(progress.solved()) == [event["key"] for event in EVENTS if event["kind"] == "solved"]
