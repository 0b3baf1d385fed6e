"""Chapter 12: its checkers, and how guesses are held against what came out. The quiz: test_quiz.py."""

import csv
import math
import sys
from fractions import Fraction
from pathlib import Path

import nbformat
import numpy as np
import pytest
from attempts import accepts, rejected, rejects

from course_lib import laws, progress
from course_lib.calibration import calibration, share_within, simulated_learner
from course_lib.exercises.chapter12 import (
    AUTOCAST,
    STAGES,
    check_least_ranks,
    check_ring_seconds,
    check_wire_saving,
)
from course_lib.pictures.calibration import within_factor
from course_lib.planner import transformer
from course_lib.planner.job import Job
from course_lib.planner.memory import memory
from course_lib.progress import Guess

ROOT = Path(__file__).resolve().parents[1]


# --- exercise 12.1


def ring(parameters, width, ranks, bandwidth, latency):
    return 2 * (ranks - 1) * (latency + parameters * width / ranks / bandwidth)


def ring_by_law(parameters, width, ranks, bandwidth, latency):
    return np.float64(laws.ring_time(parameters * width, ranks, bandwidth, latency))


def ring_exactly(parameters, width, ranks, bandwidth, latency):
    chunk = Fraction(int(parameters) * width, ranks)
    return 2 * (ranks - 1) * (Fraction(latency) + chunk / int(bandwidth))


def ring_by_rounds(parameters, width, ranks, bandwidth, latency):
    seconds = 0
    for _ in range(2):
        for _ in range(ranks - 1):
            seconds += latency + parameters * width / ranks / bandwidth
    return seconds


def ring_in_numpy(*arguments):
    parameters, width, ranks, bandwidth, latency = np.array(arguments)
    return np.sum(np.full(int(2 * (ranks - 1)), latency + parameters * width / (ranks * bandwidth)))


test_ring_seconds_accepts = accepts(
    check_ring_seconds, ring, ring_by_law, ring_exactly, ring_by_rounds, ring_in_numpy
)


def forgets_to_return(*arguments):
    ring(*arguments)


test_ring_seconds_rejects = rejects(
    check_ring_seconds,
    (lambda p, w, k, b, a: 2 * (k - 1) * (a + p * w / k / (b / 8)), "bytes a second already"),
    (lambda p, w, k, b, a: ring(p, w, k, b, a) / 2, "one phase of two"),
    (lambda p, w, k, b, a: 1e3 * ring(p, w, k, b, a), "those are milliseconds"),
    (lambda p, w, k, b, a: 2 * (k - 1) * (a + p * w / b), "sends a chunk"),
    (lambda p, w, k, b, a: ring(p, 1, k, b, a), "M is bytes"),
    (lambda p, w, k, b, a: ring(p, w, k, b, 0), "a latency for each"),
    (lambda p, w, k, b, a: 2 * k * (a + p * w / k / b), "K − 1 rounds a phase"),
    (lambda p, w, k, b, a: f"{ring(p, w, k, b, a)} s", "not a number"),
    (lambda p, w, k, b, a: ring(p, w, k, b, a) / (k - 1), "it raised ZeroDivisionError"),
    (forgets_to_return, "is a return missing?"),
    (lambda p, w, k, b, a: Fraction(1, 3), "0.333"),
    (lambda p, w, k, b, a: sys.exit(3), "it raised SystemExit"),
    (lambda p, w, k, b, a: 10**400, "too large"),
    # what somebody in a hurry may write
    (lambda p, w, k, b, a: 0.0, "it returned 0, not"),
    (lambda p, w, k, b, a: ring(p, w, k, 1.25e9, a), "5e+10 bytes a second"),
    (lambda p, w, k, b, a: ring(p, w, min(k, 100), b, a), "1024 workers"),
    (lambda p, w, k, b, a: (k > 1) * 2 * p * w / b, "each round sends a chunk"),
    (lambda p, w, k, b, a: 2 * (k - 1) * (a + p * w // k / b), "it returned 0.0002042656, not"),
    (lambda p, w, k, b, a: round(ring(p, w, k, b, a), 6), "it returned 0.106667, not 0.106666666667"),
    (lambda p, w, k, b, a: ring(p, 4 if p < 1e9 else 2, k, b, a), "10 parameters of 1 bytes"),
)


# --- exercise 12.2


def least(parameters, stage, memory):
    whole, cut = (each * parameters for each in STAGES[stage])
    if memory < whole or memory == whole and cut:
        return None
    return max(1, math.ceil(cut / (memory - whole))) if cut else 1


def bounded(most):
    """A search among 1 … most GPUs."""

    def least_by_search(parameters, stage, memory):
        whole, cut = STAGES[stage]
        return next((n for n in range(1, most + 1) if parameters * (whole + cut / n) <= memory), None)

    return least_by_search


def least_by_counting(parameters, stage, memory):
    whole, cut = STAGES[stage]
    if parameters * whole > memory or (cut and parameters * whole == memory):
        return None
    count = 1
    while parameters * (whole + cut / count) > memory:
        count += 1
    return np.int64(count)


def least_exactly(parameters, stage, memory):
    whole, cut = (each * Fraction(parameters) for each in STAGES[stage])
    room = Fraction(memory) - whole
    return None if room < 0 or (cut and not room) else float(max(1, math.ceil(cut / room) if cut else 1))


test_least_ranks_accepts = accepts(
    check_least_ranks, least, bounded(200_000), least_by_counting, least_exactly
)


def of_needed(change):
    """A wrong solution: change(n) where n GPUs are enough."""

    def changed(parameters, stage, memory):
        needed = least(parameters, stage, memory)
        return needed and change(needed)

    return changed


def by_division(p, stage, m):
    return math.ceil(STAGES[stage][1] * p / (m - STAGES[stage][0] * p))


test_least_ranks_rejects = rejects(
    check_least_ranks,
    (lambda p, stage, m: math.ceil(16 * p / m), "what is not cut is 1.12e+11 bytes already: return None"),
    (lambda p, stage, m: least(p, min(stage, 2), m), "more than needed; enough are 5"),
    (of_needed(lambda needed: needed + 1), "more than needed"),
    (of_needed(lambda needed: max(1, needed - 1)), "too few"),
    (of_needed(lambda needed: needed + 0.5), "whole numbers"),
    (lambda p, stage, m: least(p, stage, m) or math.inf, "return None"),
    (by_division, "it raised ZeroDivisionError; nothing is cut here, and nothing is left"),
    (lambda p, stage, m: least(p, stage, m) if least(p, stage, 0.999 * m) else None, "it fits exactly"),
    (lambda p, stage, m: by_division(p, stage, m) if stage else 1, "what is not cut"),
    # what somebody in a hurry may write
    *((bounded(most), "it returned None, but it fits") for most in (8, 14, 64, 1000, 10_000)),
    (lambda p, stage, m: 1, "return None"),
    (of_needed(lambda needed: min(needed, 1024)), "too few"),
    (of_needed(lambda needed: 2 ** math.ceil(math.log2(needed))), "more than needed"),
    (of_needed(lambda needed: 8 * math.ceil(needed / 8)), "more than needed"),
    (lambda p, stage, m: by_rounding(p, stage, m, round), "it returned 134, too few"),
    (lambda p, stage, m: by_rounding(p, stage, m, lambda n: int(n) + 1), "more than needed"),
    (lambda p, stage, m: least_under_autocast(p, stage, m), "as under autocast"),
)


def by_rounding(p, stage, m, rule):
    needed = least(p, stage, m)
    whole, cut = STAGES[stage]
    return needed and max(1, rule(cut * p / (m - whole * p)) if cut else 1)


def least_under_autocast(p, stage, m):
    whole, cut = AUTOCAST[stage]
    if m < whole * p or (m == whole * p and cut):
        return None
    return max(1, math.ceil(cut * p / (m - whole * p))) if cut else 1


@pytest.mark.parametrize(("stage", "strategy"), [(0, "ddp"), (1, "zero1"), (2, "zero2"), (3, "zero3")])
def test_the_stages_are_the_planners(stage, strategy):
    model = transformer(24, 2048)
    whole, cut = STAGES[stage]
    states = memory(Job(model, ranks=8, strategy=strategy)).states
    assert states == pytest.approx(model.parameters * (whole + cut / 8))


# --- exercise 12.3


def saving(share, ranks, collective):
    if ranks == 1:
        return 0.0
    return 1 - share if collective == "ring" else 1 - share * ranks / 2


def saving_by_law(share, ranks, collective):
    return laws.wire_saving(share, ranks, collective) if ranks > 1 else 0


def saving_counted(share, ranks, collective):
    plain = sum(1 / ranks for _ in range(2 * (ranks - 1)))
    sent = plain * share if collective == "ring" else sum(share for _ in range(ranks - 1))
    return (plain - sent) / plain if plain else 0


def saving_exactly(share, ranks, collective):
    share = Fraction(share)
    return Fraction(0) if ranks == 1 else 1 - share * (1 if collective == "ring" else Fraction(ranks, 2))


test_wire_saving_accepts = accepts(check_wire_saving, saving, saving_by_law, saving_counted, saving_exactly)

test_wire_saving_rejects = rejects(
    check_wire_saving,
    (lambda s, k, c: 1 - s, "one worker sends nothing"),
    (lambda s, k, c: 1 - s if k > 1 else 0, "that is the payload"),
    (lambda s, k, c: 1 - saving(s, k, c) if k > 1 else 0, "the share sent"),
    (lambda s, k, c: max(0, saving(s, k, c)), "it may be negative"),
    (lambda s, k, c: 1 - s * (k - 1) / (k - 1), "it raised ZeroDivisionError; one worker sends"),
    (lambda s, k, c: saving(s * (1 + (c == "all_gather") * (1 - 2 / k)), k, c), "a plain ring sends"),
    (lambda s, k, c: saving(s, k, "ring" if c == "all-gather" else c) * 2, "it returned"),
    (lambda s, k, c: print(end=""), "is a return missing?"),
    # what somebody in a hurry may write
    (lambda s, k, c: 0, "it returned 0, not"),
    (lambda s, k, c: max(-1, saving(s, k, c)), "it returned -1, not -4"),
    (lambda s, k, c: saving(s, min(k, 8), c), "1000 workers"),
    (lambda s, k, c: saving(min(s, 1), k, c), "a payload of 1.2"),
    (lambda s, k, c: round(saving(s, k, c), 2), "it returned"),
    (lambda s, k, c: saving(s, k, "ring"), "all_gather"),
    (lambda s, k, c: 1 - s * (k - 1) / 2 if k > 1 and c != "ring" else saving(s, k, "ring"), "all_gather"),
)


# --- what is no attempt


@pytest.mark.parametrize("check", [check_ring_seconds, check_least_ranks, check_wire_saving])
@pytest.mark.parametrize("nothing", [None, ...])
def test_nothing_is_not_attempted_yet(check, nothing):
    report = check(nothing)
    assert report.passed is None and "Not attempted yet" in repr(report)


@pytest.mark.parametrize("check", [check_ring_seconds, check_least_ranks, check_wire_saving])
@pytest.mark.parametrize(
    ("odd", "told"),
    [(3, "a function"), ("x", "a function"), (lambda: 1, "takes 0 positional"), (print, "it returned None")],
)
def test_what_answers_nothing_is_told_plainly(check, odd, told):
    rejected(check(odd), told)


# --- calibration


def test_nothing_predicted_yet():
    mine = calibration([])
    assert "No predictions yet" in repr(mine) and math.isnan(mine.middle) and math.isnan(mine.within(2))
    assert within_factor(mine).numbers[0].startswith("No predictions yet")
    assert repr(calibration()) == repr(mine)  # the tests read no progress file


def test_choices_and_numbers():
    mine = calibration([
        Guess("2.1", "a", "a"), Guess("2.2", "b", "a"), Guess("2.3", 50, 100), Guess("2.4", 8.0, 1),
        Guess("2.5", -1, 3), Guess("2.6", 4, None), Guess("2.7", None, 3), Guess("2.8", 10**400, 1),
        Guess("2.9", "b or c", "b or c"), Guess("3.1", 3, math.inf), Guess("3.2", math.nan, 2),
    ])  # fmt: skip
    assert mine.choices == {"2.1": True, "2.2": False, "2.9": True}
    assert mine.factors == {"2.3": 2.0, "2.4": 8.0}
    assert mine.within(2) == 0.5 and mine.middle == 5
    assert "Choices: 2 of 3 right." in repr(mine) and "1 of 2 within a factor of 2" in repr(mine)
    picture = within_factor(mine)
    assert picture.numbers[0].startswith("50% of 2 guesses") and "2 guesses: 2 8 | 0.5 1" in repr(picture)


def test_from_the_progress_file(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))
    progress.note("comparison", "5.1", value=30, measured=40.0)
    progress.note("comparison", "5.2", value="b", measured="b")
    progress.note("guess", "5.3", value=3)
    mine = calibration()
    assert mine.choices == {"5.2": True} and list(mine.factors) == ["5.1"]


@pytest.mark.parametrize("typical", [1.5, 2, 5])
def test_a_lawful_learner_follows_the_law(typical):
    found = calibration(simulated_learner(4000, typical, seed=1))
    assert share_within(typical, typical) == pytest.approx(0.5) and share_within(1, typical) == 0
    factors = (1.2, typical, 4)
    shares = [float(share_within(factor, typical)) for factor in factors]
    assert [found.within(factor) for factor in factors] == pytest.approx(shares, abs=0.03)


@pytest.mark.parametrize("typical", [1, -2, math.nan, math.inf])
@pytest.mark.parametrize(
    "asked", [lambda typical: simulated_learner(3, typical, 0), lambda typical: share_within(2, typical)]
)
def test_a_typical_factor_is_above_1(asked, typical):
    with pytest.raises(ValueError, match="typical must be a finite number above 1"):
        asked(typical)


def test_learners_are_counted():
    with pytest.raises(ValueError, match="count must be a whole number"):
        simulated_learner(-1, 2, 0)


# --- the claims


def test_each_claim_has_its_cell():
    rows = list(csv.DictReader((ROOT / "data/claims/12.csv").open(encoding="utf-8")))
    found = [nbformat.read(path, as_version=4) for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")]
    ran = [cell for notebook in found for cell in notebook.cells if cell.get("execution_count")]
    tags = {tag for cell in ran for tag in cell.metadata.get("tags", [])}
    assert {f"claim-{row['id']}" for row in rows} == {tag for tag in tags if tag.startswith("claim-12.")}
    assert {row["verdict"] for row in rows} <= {"holds", "holds if", "wrong"}
    assert all(row["note"] for row in rows if row["verdict"] != "holds")
