"""Chapter 11: each bug of the gallery is rejected as found and accepted mended; the experiments decide."""

import os
from types import SimpleNamespace

import gallery
import numpy as np
import pytest
from attempts import accepts, rejected, rejects, untouched
from waiting import limit

from course_lib import RankError, launch, simulate
from course_lib.collectives import parameter_server_all_reduce, ring_all_reduce
from course_lib.exercises import chapter11, chapter11_real
from course_lib.exercises.chapter11_timelines import (
    _CASES,
    CAUSES,
    TIMELINES,
    anonymous_run,
    check_diagnosis,
    healthy_run,
    signs,
)
from course_lib.pictures import verdicts
from course_lib.training.averaging import Averaged, averaging_worker, digits_read, distance

SIMULATED = {
    chapter11.check_summed_step: (gallery.STEP_RIGHT, gallery.STEP_WRONG),
    chapter11.check_epoch_loss: (gallery.LOSS_RIGHT, gallery.LOSS_WRONG),
    chapter11.check_last_batch: (gallery.LAST_RIGHT, gallery.LAST_WRONG),
}
REAL = {
    chapter11_real.check_train_step: (gallery.TRAIN_RIGHT, gallery.TRAIN_WRONG),
    chapter11_real.check_orders: (gallery.ORDERS_RIGHT, gallery.ORDERS_WRONG),
    chapter11_real.check_hooks: (gallery.HOOKS_RIGHT, gallery.HOOKS_WRONG),
    chapter11_real.check_mean_gradient: (gallery.DTYPE_RIGHT, gallery.DTYPE_WRONG),
}


def cases(checks):
    """(check, attempt, hint) for every attempt; a right one has no hint."""
    hints = {check: dict.fromkeys(right) | wrong for check, (right, wrong) in checks.items()}
    return [(check, *each) for check in checks for each in hints[check].items()]


def decided(report, hint):
    """It says what it should."""
    if hint is None:
        assert report.passed, report
    else:
        rejected(report, hint)


@pytest.mark.parametrize(("check", "attempt", "hint"), cases(SIMULATED))
def test_simulated_loops_are_told_apart(check, attempt, hint):
    decided(check(attempt), hint)


class Asked(BaseException):
    """Ends a checker at its first launch whose values are not known yet."""


def asks_or_says(check, attempt, known):
    """(None, its report), or the number of ranks and the worker that the checker wants to launch next."""
    values = iter(known)

    def launch(worker, ranks, **_):
        for each in values:
            return SimpleNamespace(values=each)
        raise Asked(ranks, worker)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chapter11_real, "launch", launch)
        try:
            return None, check(attempt)
        except Asked as asked:
            return asked.args


def in_turn(workers):
    """A worker that is each of these, one after the other, and returns all their values."""

    def worker(comm):
        import torch.distributed as dist

        original, values = dist.all_reduce, []
        for each in workers:
            values.append(each(comm))
            dist.all_reduce = original  # the checkers put a counting one in its place
        return values

    return worker


@pytest.fixture(scope="module")
def reports():
    """What the checkers say of every attempt. All launches of a number of ranks are one: they are dear."""
    known, said = {(check, attempt): [] for check, attempt, _ in cases(REAL)}, {}
    while len(said) < len(known):
        wanted = {}
        for (check, attempt), values in known.items():
            ranks, found = asks_or_says(check, attempt, values)
            if ranks is None:
                said[check, attempt] = found
            else:
                wanted.setdefault(ranks, {})[check, attempt] = found
        for ranks, workers in wanted.items():
            run = launch(in_turn(workers.values()), ranks, timeout=limit(100), threads=1)
            for each, values in zip(workers, zip(*run.values, strict=True), strict=True):
                known[each].append(values)
    return said


@pytest.mark.parametrize(("check", "attempt", "hint"), cases(REAL))
def test_real_loops_are_told_apart(reports, check, attempt, hint):
    decided(reports[check, attempt], hint)


def test_a_checker_launches_its_own_processes():
    assert chapter11_real.check_train_step(gallery.through_ddp).passed


@pytest.mark.parametrize(
    ("check", "attempt", "hint"),
    [
        (chapter11_real.check_hooks, gallery.only_rank_0_reduces_gradients, "every rank call the same"),
        (chapter11_real.check_mean_gradient, gallery.other_size, "arrays of the same size|data size"),
        (chapter11_real.check_orders, lambda *_: 1 / 0, "ZeroDivisionError"),
        (chapter11_real.check_orders, lambda comm, *_: comm.rank or os._exit(0), "left|exit"),
    ],
)
def test_ranks_that_fail_end_the_check(check, attempt, hint, monkeypatch):
    monkeypatch.setattr(chapter11_real, "LIMIT", limit(20))
    rejected(check(attempt), hint)


@pytest.mark.parametrize("check", [*SIMULATED, *REAL])
@pytest.mark.parametrize("value", [7, "mean", [1.0], np.zeros(3)])
def test_what_is_no_function_never_reaches_the_ranks(check, value):
    rejected(check(value), f"a function is asked for; this is {type(value).__name__}")


@pytest.mark.parametrize("check", [*SIMULATED, *REAL, check_diagnosis])
@pytest.mark.parametrize("nothing", [None, ...])
def test_nothing_yet_is_not_attempted(check, nothing):
    report = check(nothing)
    assert report.passed is None and "Not attempted yet" in repr(report)


def test_an_untouched_stub_in_processes_is_not_a_failure():
    report = chapter11_real.check_train_step(untouched)
    assert report.passed is None and "Not attempted yet" in repr(report)


# --- the capstone

RIGHT = dict(_CASES)


test_the_right_diagnosis_passes = accepts(
    check_diagnosis, RIGHT, {name: f" {letter.upper()} " for name, letter in RIGHT.items()}
)


@pytest.mark.parametrize("name", TIMELINES)
def test_a_wrong_letter_is_told_where_to_look(name):
    wrong = next(letter for letter in CAUSES if letter != RIGHT[name])
    rejected(check_diagnosis(RIGHT | {name: wrong}), f"timeline {name}: another cause")


@pytest.mark.parametrize("empty", [{}, dict.fromkeys(TIMELINES), dict.fromkeys(TIMELINES, ...)])
def test_no_diagnosis_yet(empty):
    assert check_diagnosis(empty).passed is None


test_what_is_no_diagnosis = rejects(
    check_diagnosis,
    ("abcde", "a dict of five letters"),
    (RIGHT | {"B": None}, "timeline B: no letter yet"),
    (RIGHT | {"C": "straggler"}, "none of the letters"),
    (RIGHT | {"C": 3}, "none of the letters"),
    *((dict.fromkeys(TIMELINES, letter), "another cause") for letter in CAUSES),
    (dict(zip(TIMELINES, "abcde", strict=True)), "another cause"),
    (["c", "e", "a", "d", "b"], "a dict of five letters"),
    (7, "a dict of five letters"),
    (RIGHT | {"C": np.zeros(2)}, "none of the letters"),
)


def test_each_timeline_has_its_sign():
    well, found = signs(healthy_run()), {RIGHT[name]: signs(anonymous_run(name)) for name in TIMELINES}
    sure = {
        "a": ("pace", 2),
        "b": ("message", 3),
        "c": ("receives", 10),
        "d": ("hungry", 10),
        "e": ("apart", 4),
    }
    for cause, (name, factor) in sure.items():
        others = [getattr(each, name) for other, each in found.items() if other != cause]
        assert getattr(found[cause], name) > factor * max(*others, getattr(well, name))


def test_who_waits_for_the_one_that_left_waits_until_the_end():
    run = anonymous_run(next(name for name in TIMELINES if RIGHT[name] == "e"))
    waits = [span for span in run.spans if span.kind == "wait" and span.stop == run.seconds]
    assert sorted(span.rank for span in waits) == [0, 1, 2] and run.seconds == 0.06
    assert max(span.stop for span in run.spans if span.rank == 3) < 0.02


@pytest.mark.parametrize("name", TIMELINES)
def test_a_timeline_does_not_tell_its_name(name):
    run = anonymous_run(name)
    told = repr([run, *((span.kind, span.label) for span in run.spans)])
    assert not any(word in told for word in CAUSES.values())


def test_there_are_five_timelines():
    with pytest.raises(ValueError, match="name must be one of"):
        anonymous_run("F")


# --- averaging


def test_averaged_after_each_step_there_is_one_network():
    runs = [
        launch(averaging_worker(1, 3, batch=batch), ranks, threads=1) for ranks, batch in ((2, 8), (1, 8))
    ]
    assert runs[0].values[0].different == (1, 1, 1) and runs[1].values[0].different == (1, 1, 1)
    assert runs[0].values[0].mean == runs[0].values[1].mean


def test_a_network_of_numpy_reads_as_torch_does():
    one, other = launch(averaging_worker(4, 4, own_start=True), 2, threads=1).values
    assert digits_read(one.weights) == pytest.approx(one.own, abs=0.005)
    middle = [(a + b) / 2 for a, b in zip(one.weights, other.weights, strict=True)]
    assert digits_read(middle) == pytest.approx(one.mean, abs=0.005)
    assert 0 < one.moved < distance(one.weights, other.weights)


def test_steps_must_be_whole_periods():
    with pytest.raises(ValueError, match="steps must be a multiple of every; got 10 and 3"):
        averaging_worker(3, 10)
    with pytest.raises(ValueError, match="seed must be a whole number"):
        averaging_worker(3, 9, seed=-1)
    with pytest.raises(RankError, match="batch must be at most .* this rank's samples; got 10000"):
        launch(averaging_worker(1, 1, batch=10_000), 2, threads=1)


# --- pictures


def test_pictures_say_what_was_found():
    same = {1: 2 * [Averaged(0.9, 0.91, ())], 8: [Averaged(0.88, 0.9, ()), Averaged(0.85, 0.9, ())]}
    own = {1: 2 * [Averaged(0.9, 0.92, ())], 8: [Averaged(0.87, 0.2, ()), Averaged(0.8, 0.2, ())]}
    told = repr(verdicts.averaged_every(same, own))
    assert "Own starts, averaged at the end: 20 %; sync: 91 %" in told
    assert "8: 20% (80% to 87% alone)" in told and "8: 90% (85% to 88% alone)" in told
    runs = {
        name: simulate(lambda comm, way=way: way(comm, np.ones(1200)), 4)
        for name, way in (("server", parameter_server_all_reduce), ("ring", ring_all_reduce))
    }
    assert "Ring: 28.8 kB, each the same. Server: 57.6 kB through rank 0" in repr(verdicts.port_bytes(runs))
    assert "falls to 0.25" in repr(verdicts.averaged_noise({1: 8.0, 2: 4.0, 4: 2.0}, 8))
    held = verdicts.held_bytes({1: 400e3, 4: 400e3}, {1: 400e3, 4: 100e3})
    assert "4 ranks: DDP holds 400 kB on each, FSDP2 100 kB" in repr(held)


@pytest.mark.parametrize(("one", "other"), [("float32", "float64"), ("float64", "float32")])
def test_dtypes_of_different_size_end_the_processes(one, other):
    """What the text says beside exercise 11.7; of equal size they pass, and the checker shows the numbers."""

    def worker(comm):
        import torch

        torch.distributed.all_reduce(torch.ones(4, dtype=getattr(torch, (one, other)[comm.rank])))

    with pytest.raises(RankError, match="Received data size doesn't match expected size"):
        launch(worker, 2, timeout=limit(100))
