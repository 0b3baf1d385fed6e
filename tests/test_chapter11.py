"""Chapter 11: each bug of the gallery is rejected as found and accepted mended; the experiments decide."""

import gallery
import numpy as np
import pytest
from attempts import rejected, untouched

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
from course_lib.pictures.timeline import timeline
from course_lib.training.averaging import Averaged, averaging_worker, digits_read, distance

CHECKS = {
    "step": (chapter11.check_summed_step, gallery.STEP_RIGHT, gallery.STEP_WRONG),
    "train": (chapter11_real.check_train_step, (gallery.through_ddp,), gallery.TRAIN_WRONG),
    "orders": (
        chapter11_real.check_orders,
        (gallery.told, gallery.told_later_epochs, gallery.new_sampler),
        gallery.ORDERS_WRONG,
    ),
    "loss": (chapter11.check_epoch_loss, (gallery.over_all, gallery.over_all_twice), gallery.LOSS_WRONG),
    "last": (
        chapter11.check_last_batch,
        (gallery.by_samples, gallery.by_samples_at_once, gallery.by_library),
        gallery.LAST_WRONG,
    ),
    "hooks": (
        chapter11_real.check_hooks,
        (gallery.returns_the_mean, gallery.after_accumulation),
        gallery.HOOKS_WRONG,
    ),
    "dtype": (
        chapter11_real.check_mean_gradient,
        (gallery.full_precision, gallery.all_half, gallery.agreed),
        gallery.DTYPE_WRONG,
    ),
}
AS_FOUND = {name: next(iter(wrong)) for name, (_, _, wrong) in CHECKS.items()}


@pytest.mark.parametrize("name", CHECKS)
def test_as_found_it_is_rejected(name):
    check, _, wrong = CHECKS[name]
    rejected(check(AS_FOUND[name]), wrong[AS_FOUND[name]])


@pytest.mark.parametrize(
    ("name", "attempt"), [(name, each) for name, (_, right, _) in CHECKS.items() for each in right]
)
def test_mended_it_passes(name, attempt):
    report = CHECKS[name][0](attempt)
    assert report.passed, report


@pytest.mark.parametrize(
    ("name", "attempt"),
    [(name, each) for name, (_, _, wrong) in CHECKS.items() for each in list(wrong)[1:]],
)
def test_a_wrong_repair_is_rejected(name, attempt):
    check, _, wrong = CHECKS[name]
    rejected(check(attempt), wrong[attempt])


@pytest.mark.parametrize("name", ["train", "orders", "hooks", "dtype"])
def test_what_is_no_function_never_reaches_the_ranks(name):
    rejected(CHECKS[name][0](7), "a function is asked for; this is int")


@pytest.mark.parametrize("name", CHECKS)
def test_an_untouched_stub_is_not_a_failure(name):
    report = CHECKS[name][0](untouched)
    assert report.passed is None and "Not attempted yet" in repr(report)


# --- the capstone

RIGHT = dict(_CASES)


def test_the_right_diagnosis_passes():
    assert check_diagnosis(RIGHT).passed
    assert check_diagnosis({name: f" {letter.upper()} " for name, letter in RIGHT.items()}).passed


@pytest.mark.parametrize("name", TIMELINES)
@pytest.mark.parametrize("letter", "abcde")
def test_each_wrong_letter_is_told_where_to_look(name, letter):
    report = check_diagnosis(RIGHT | {name: letter})
    if letter == RIGHT[name]:
        assert report.passed
    else:
        rejected(report, f"timeline {name}: another cause")


@pytest.mark.parametrize("empty", [{}, dict.fromkeys(TIMELINES), dict.fromkeys(TIMELINES, ...)])
def test_no_diagnosis_yet(empty):
    assert check_diagnosis(empty).passed is None


@pytest.mark.parametrize(
    ("diagnosis", "hint"),
    [
        ("abcde", "a dict of five letters"),
        (RIGHT | {"B": None}, "timeline B: no letter yet"),
        (RIGHT | {"C": "straggler"}, "none of the letters"),
        (RIGHT | {"C": 3}, "none of the letters"),
        (RIGHT | {"C": "ab"}, "none of the letters"),
        (RIGHT | {"C": ""}, "none of the letters"),
        (RIGHT | {"C": "é"}, "none of the letters"),
    ],
)
def test_what_is_no_diagnosis(diagnosis, hint):
    rejected(check_diagnosis(diagnosis), hint)


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


def test_a_timeline_does_not_tell_its_name():
    for name in TIMELINES:
        told = repr(timeline(anonymous_run(name)))
        assert not any(word in told for word in CAUSES.values())
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
        launch(worker, 2, timeout=20)
