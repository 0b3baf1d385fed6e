"""Chapter 7's trainings over 15 seeds: the record is of what the course runs, and bears the text out."""

from dataclasses import replace

import numpy as np
import pytest

from course_lib import launch
from course_lib.training import digits_worker, train_each
from course_lib.training.experiments import GUESSING, SGD, sweep
from course_lib.training.forgetting import PARTS, leave_out_each
from course_lib.training.noise_scale import exact_noise_scale
from course_lib.training.seeds import (
    CODES,
    SEEDS,
    SWEEPS,
    WHOLE,
    as_recorded,
    at_best,
    record,
    recorded_noise_scales,
    recorded_sweep,
    similar,
    trained,
)


def test_the_record_is_whole():
    assert record()["seeds"] == len(SEEDS) >= 15
    assert record().keys() == {"seeds", "date", "machine", "sweeps", "codes", "noise_scales"}
    for name, (_, batches, _) in SWEEPS.items():
        assert recorded_sweep(name).losses.shape == (len(batches), len(SEEDS))
    assert record()["codes"].keys() == {*WHOLE, *CODES}
    for row in at_best().rows:
        assert all(len(each.losses) == len(SEEDS) for each in trained(row.name, row.feedback))
    assert recorded_noise_scales().shape == (len(SEEDS), 5)


@pytest.mark.parametrize("name", ["linear", "square root", "linear, warm-up", "Adam, linear"])
def test_another_seed_comes_out_as_recorded(name):
    assert as_recorded(name, seed=7)


def test_similar_tells_learning_from_failing_and_losses_apart():
    assert similar([0.1, 2.3, 0.1], [0.15, 9.0, 0.1]).all()
    assert not similar([0.1, 2.3, 0.1, np.nan], [0.25, 0.1, 9.0, 0.1]).any()


def test_the_noise_scale_of_the_record():
    config = replace(SGD, epochs=1, seed=3, decay_epochs=0)
    (end,) = train_each([digits_worker(config, watch=exact_noise_scale)])
    assert end.watched[0].samples == pytest.approx(recorded_noise_scales()[3, 0], rel=0.01)


def test_what_the_chapter_says_of_the_rules():
    linear, root, warm = map(recorded_sweep, ("linear", "square root", "linear, warm-up"))
    assert linear.learned.sum(axis=1).tolist() == [15, 15, 0, 0]
    assert warm.learned.sum(axis=1).tolist() == [15, 15, 15, 0] and root.learned.all()
    assert linear.below(root).tolist() == [15, 15, 0, 0] and warm.below(root)[2] == 12
    base = np.median(recorded_sweep("constant").losses[0])
    assert np.median(linear.losses[1]) < 2 * base
    adam = {rule: recorded_sweep(f"Adam, {rule}").losses for rule in ("constant", "linear", "square root")}
    assert (adam["square root"] < adam["linear"]).sum(axis=1).tolist() == [9, 15, 15]
    times = np.median(adam["constant"][2:], axis=1) / np.median(adam["square root"][1:], axis=1)
    assert ((4 < times) & (times < 5.2)).all()
    assert (np.diff(recorded_sweep("constant").losses, axis=0) > 0).all()


def test_a_sweep_shows_as_a_table():
    lines = repr(sweep(SGD, [128], "linear", seeds=(0,))).splitlines()
    assert lines[0].split() == ["batch", "η", "median", "loss", "(range)", "learned"]
    assert lines[1].split()[:2] == ["128", "3.2"] and lines[1].endswith("0 of 1")
    assert float(lines[1].split()[2]) > GUESSING


def test_each_part_of_a_checkpoint_is_needed():
    first, second = launch(leave_out_each, 2).values
    assert first == second
    same = {row.left_out: (row.same_parameters, row.same_predictions) for row in first}
    assert same.pop("nothing") == (True, True) and same.pop("buffers") == (True, False)
    assert same == dict.fromkeys(set(PARTS) - {"buffers"}, (False, False))
