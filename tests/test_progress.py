"""What the learner has guessed and solved is kept, and nothing that happens to its file disturbs a cell."""

import json
import os
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import nbformat
import pytest
from build import chapters
from waiting import limit

import course_lib.exercises
from course_lib import progress
from course_lib.exercises.credit import is_own
from course_lib.predict import predict


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A learner's file, not there yet."""
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "mine.jsonl"))
    monkeypatch.setattr(progress, "_warned", set())
    return tmp_path / "mine.jsonl"


def test_tests_and_builds_leave_the_learners_file_alone(monkeypatch):
    assert progress.path() is None
    assert progress.note("guess", "5.1", value=1) is None and progress.events() == []
    monkeypatch.delenv("COURSE_PROGRESS")
    root = Path(__file__).resolve().parents[1]
    assert progress.path() == root / "progress.jsonl"
    ignored = ["git", "check-ignore", "-q", "progress.jsonl"]
    assert not (root / ".git").exists() or subprocess.run(ignored, cwd=root).returncode == 0


def test_a_guess_is_there_after_a_restart(file):
    predict("5.3", unit="times").guess = 2.5
    again = predict("5.3", unit="times")
    assert again.guess == 2.5 and not again.locked
    again.guess = 3
    assert progress.guesses() == {"5.3": progress.Guess("5.3", 3)}
    again.guess = None
    assert progress.guesses() == {} and predict("5.3").guess is None


def test_the_first_comparison_stands(file):
    question = predict("5.3", unit="times")
    question.compare(7.9)
    assert not file.exists() and not question.locked  # without a guess there is nothing to keep
    question.guess = 4
    question.compare(7.9)
    assert question.locked
    question.guess = 7.9
    question.compare(7.9)
    kept = progress.guesses()["5.3"]
    assert (kept.guess, kept.measured, kept.right) == (4, 7.9, True)
    assert kept.factor == pytest.approx(1.975)
    again = predict("5.3", unit="times")
    assert again.guess == 4 and again.locked


@pytest.mark.parametrize(
    "guess, measured, right",
    [
        *(("a", "a", True), ("a", "b", False), (1, 2, True), (2, 1, True), (1, 2.1, False), (2.1, 1, False)),
        *((0, 0, True), (0, 1, False), (-1, 1, False), ("a", 1, False)),
    ],
)
def test_right_is_the_choice_or_within_a_factor_of_two(guess, measured, right):
    assert progress.Guess("1.1", guess, measured, "2026-01-01").right is right
    assert progress.Guess("1.1", guess).right is None


def test_a_guess_that_no_longer_answers_the_question_is_left(file):
    progress.note("guess", "5.1", value="d")
    assert predict("5.1", choices="abc").guess is None


def test_two_notebooks_at_once_lose_nothing(file):
    code = "from course_lib.progress import note\nfor n in range(300): note('solved', f'{name}.{n}')"
    jobs = [subprocess.Popen([sys.executable, "-c", f"name = {name}\n{code}"]) for name in (1, 2, 3)]
    assert [job.wait(limit(300)) for job in jobs] == [0, 0, 0]
    assert len(progress.solved()) == 900


def test_damaged_lines_cost_no_other_and_are_told_of_once(file):
    progress.note("guess", "5.1", value="a")
    with open(file, "ab") as stream:
        stream.write(b'\n{"kind": "guess", "key": "5.2", "val\n\xff\xfe\n[1]\n{"kind": 3}\n{"kind": "gu')
    with pytest.warns(UserWarning, match="damaged"):
        progress.note("guess", "5.3", value=1)
        assert set(progress.guesses()) == {"5.1", "5.3"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(progress.guesses()) == {"5.1", "5.3"}


def test_a_file_that_cannot_be_used_disturbs_nothing(file):
    file.mkdir()  # refuses to be read and written, to root too
    with pytest.warns(UserWarning) as told:
        question = predict("5.3", unit="times")
        question.guess = 4
        question.compare(5)
        question.guess = 5
        progress.solved()
    assert len(told) == 2 and "read" in str(told[0].message) and "kept" in str(told[1].message)


@pytest.mark.parametrize("special", ["/dev/full", "pipe", "huge"])
def test_what_would_never_end_is_not_read(file, special, monkeypatch):
    if special == "pipe":
        os.mkfifo(file)  # to open it waits for another program
    elif special == "huge":
        file.touch()
        os.truncate(file, progress.LARGEST + 1)
    else:
        monkeypatch.setenv("COURSE_PROGRESS", special)
    with pytest.warns(UserWarning, match="cannot be (read|kept)") as told:
        predict("5.3", unit="times").guess = 4
    assert len(told) == 2 and progress.guesses() == {}


@pytest.mark.parametrize("name", [" off ", "OFF", "~nobody-of-that-name/mine.jsonl"])
def test_odd_names_disturb_nothing(name, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", name)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not kept is told of, once a kernel
        predict("5.3", unit="times").guess = 4
    assert progress.guesses() == {} and not list(tmp_path.iterdir())


def test_an_editor_s_byte_order_mark_is_no_damage(file):
    progress.note("guess", "5.1", value="a")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(progress.guesses()) == {"5.1"}


def test_a_guess_too_large_for_a_float_is_refused(file):
    with pytest.raises(ValueError, match="a finite number, or None"):
        predict("5.3", unit="times").guess = 10**400
    file.write_text(f'{{"kind": "guess", "key": "5.3", "when": "", "value": 1{"0" * 400}}}')
    assert predict("5.3", unit="times").guess is None


def test_a_full_disk_disturbs_nothing(file, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("builtins.open", full)
    with pytest.warns(UserWarning, match="No space left"):
        progress.note("solved", "5.2")


@pytest.mark.parametrize("value", [10**400, float("nan"), float("inf"), True, None, "ä", [1, "b"], object()])
def test_any_value_can_be_kept(file, value):
    progress.note("other", "1.1", value=value)
    (event,) = progress.events()
    assert json.loads(file.read_text())["when"] == event["when"]


# --- whose answer it is

STUB = "passed_on = [None]"
OWN = "passed_on = [300]"
CHECK = "from course_lib.exercises.chapter5 import check_rank\n\ncheck_rank(2, passed_on)"
SOLUTION = (
    "# One solution\npassed_on = [300, 200 + 20, 100 + 10 + 1, 400 + 40 + 4 + 4000]\ncheck_rank(2, passed_on)"
)
TIMED = "get_ipython().run_cell_magic('time', '', 'check_rank(2, passed_on)\\n')"
LOCAL = "def other():\n    passed_on = 3\n    return passed_on"


@pytest.mark.parametrize(
    "cells, own",
    [
        ([OWN, CHECK], True),
        ([STUB, CHECK, SOLUTION], False),
        ([STUB, CHECK, SOLUTION, CHECK], False),  # run all, then the check alone
        ([STUB, CHECK, SOLUTION, LOCAL, CHECK], False),
        ([STUB, CHECK, SOLUTION, OWN, "1 +", CHECK], True),
        ([f"{OWN}\ncheck_rank(2, passed_on)"], True),
        (["check_rank(2, [300])"], True),
        ([], False),
        ([OWN, TIMED], True),
        ([STUB, SOLUTION, TIMED], False),
        ([OWN, "1 +"], False),  # the check itself is not in the history
        ([OWN, "other = 1"], False),
    ],
)
def test_only_what_was_not_made_by_the_solution_counts(cells, own):
    assert is_own("check_rank", "5.1", cells) is own


def test_without_the_notebook_nobody_gets_the_credit():
    assert not is_own("check_rank", "99.1", [OWN, CHECK])


def checkers():
    """{exercise: its checker's name} of the library."""
    for module in iter_modules(course_lib.exercises.__path__):
        for name, value in vars(import_module(f"course_lib.exercises.{module.name}")).items():
            if hasattr(value, "exercise") and value.__module__.endswith(f".{module.name}"):
                yield value.exercise, name


def exercises():
    """(exercise, the text of its check cell) of all notebooks."""
    for chapter in chapters():
        cells = nbformat.read(chapter.notebook, as_version=4).cells
        headers, checks = (
            [cell.source for cell in cells if tag in cell.metadata.get("tags", [])]
            for tag in ("exercise", "check")
        )
        keys = [re.search(r"Exercise (\d+\.\d+) ", header)[1] for header in headers]
        yield from zip(keys, checks, strict=True)


def test_each_exercise_has_a_checker_that_notes_it():
    known = dict(checkers())
    assert [key for key, check in exercises() if f"{known[key]}(" not in check] == []
