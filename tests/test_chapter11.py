"""Chapter 11: each bug of the gallery is rejected as found and accepted mended; the experiments decide."""

import gallery
import pytest
from attempts import left_empty, rejected, untouched

from course_lib.exercises import chapter11, chapter11_real
from course_lib.exercises.chapter11_timelines import _CASES, TIMELINES, anonymous_run, check_diagnosis

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


def _seconds(run, kind, rank):
    return sum(span.stop - span.start for span in run.spans if span.kind == kind and span.rank == rank)
