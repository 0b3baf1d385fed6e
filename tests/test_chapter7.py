"""Chapter 7: its pictures' numbers, and what it says of rates, bytes and buckets."""

import io
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from attempts import accepts, rejects, waits_for
from waiting import limit

from course_lib import Link, launch, laws, simulate
from course_lib.buckets import backward_with_buckets
from course_lib.compression import (
    ErrorFeedback,
    Int8,
    Sign,
    TopK,
    gather_all_reduce,
    measure_savings,
    three_functions,
    top_k,
)
from course_lib.exercises.chapter7_buckets import check_bucket_size
from course_lib.pictures.compression import distances, loss_for_bytes, step_on_links, wire_bytes
from course_lib.pictures.learning_rates import loss_against_batch, loss_by_epoch
from course_lib.training import DigitsConfig, digits_worker
from course_lib.training.compressed import EveryCode

GUESSING = np.log(10)


def is_whole(picture):
    """No ink on the outermost pixels, and words for who cannot see it."""
    from matplotlib.image import imread

    image = imread(io.BytesIO(picture.png))[..., :3]
    edges = [image[0], image[-1], image[:, 0], image[:, -1]]
    return len(picture.alt) > 40 and all((edge > 0.99).all() for edge in edges)


def title(picture):
    return picture.numbers[0].split(" [")[0]


# --- learning rates


def ends(batches, *losses):
    losses = np.array(losses, dtype=float)
    return SimpleNamespace(batches=np.array(batches), losses=losses, failed=~(losses < GUESSING))


def test_the_title_says_from_which_batch_on_a_rule_fails():
    good = ends([8, 16, 32], [0.1] * 3, [0.2] * 3, [0.3] * 3)
    bad = ends([8, 16, 32], [0.1] * 3, [0.1, 0.1, 2.4], [np.nan] * 3)
    picture = loss_against_batch({"constant": good, "linear": bad}, GUESSING)
    assert title(picture) == "Linear fails from a batch of 16 on" and is_whole(picture)
    assert "constant 8: 0.1, 16: 0.2, 32: 0.3" in picture.alt
    assert "  guessing: ln 10: 0 1 | 2.3026 2.3026" in picture.numbers


def test_if_no_rule_fails_the_title_says_which_is_best_at_the_largest_batch():
    better, worse = ends([8, 16], [0.1] * 3, [0.2] * 3), ends([8, 16], [0.05] * 3, [0.4] * 3)
    assert title(loss_against_batch({"one": worse, "two": better}, GUESSING)) == (
        "No run fails; least loss at 16: two"
    )


def test_the_title_counts_the_runs_that_learn():
    lost, saved, mixed = [9.0] * 4 + [2.4] * 4, [2.0] * 4 + [0.1] * 4, [[1.0] * 8, [3.0] * 8]
    picture = loss_by_epoch({"cold": [lost] * 3, "warm": [saved] * 3, "mixed": mixed}, 2, GUESSING)
    assert title(picture) == "Runs that learn: cold: 0/3; warm: 3/3; mixed: 1/2" and is_whole(picture)
    assert "warm: 0.1 … 0.1" in picture.alt


def test_three_ways_to_one_batch_have_one_loss_curve():
    curves = []
    for workers, batch, accumulation in ((1, 64, 1), (2, 16, 2), (4, 16, 1)):
        config = DigitsConfig(batch=batch, accumulation=accumulation, lr=0.4, epochs=1)
        assert config.effective_batch(workers) == 64
        curves.append(launch(digits_worker(config), workers).values[0].losses)
    assert len(curves[0]) == 24 and np.ptp(curves, axis=0).max() < 1e-5


# --- compression


@pytest.fixture(scope="module")
def savings():
    return measure_savings(np.random.default_rng(0).normal(size=8_000), ranks=(2, 4, 8))


def test_the_points_lie_on_the_lines(savings):
    workers, travel = np.arange(2, 9), ["ring", "all_gather", "ring", "all_gather", "all_gather"]
    law = {
        row.method: 1 - laws.wire_saving(1 - row.payload, workers, way)
        for row, way in zip(savings.rows, travel, strict=True)
    }
    lines = np.array([law[row.method][np.isin(workers, savings.ranks)] for row in savings.rows])
    assert 1 - np.array([row.wire for row in savings.rows]) == pytest.approx(lines, abs=0.01)
    picture = wire_bytes(savings, workers, law)
    assert is_whole(picture)
    assert "At 8 workers: fp16 ring: 0.50; int8 by all-gather: 1.00" in picture.alt
    assert "top-k 20% by all-gather: 1.60" in picture.alt


def test_steps_are_drawn_in_those_of_the_float32_ring():
    bandwidths = np.array([1e7, 1e9, 1e12])
    lines = {"plain": np.array([4.0, 2.0, 1.0]), "half": np.array([2.0, 1.5, 1.0])}
    points = {"plain": {1e7: 4.0, 1e9: 2.0}, "half": {1e7: 2.0, 1e9: 1.5}}
    picture = step_on_links(bandwidths, lines, points, plain="plain")
    assert is_whole(picture) and "From 10 MB/s to 1,000 GB/s: half 0.50 to 1.00" in picture.alt
    assert "  _half: 1e+07 1e+09 | 0.5 0.75" in picture.numbers


def test_without_points_only_the_lines_are_drawn():
    lines = {"plain": np.array([4.0, 1.0]), "half": np.array([2.0, 1.0])}
    picture = step_on_links(np.array([1e7, 1e12]), lines, plain="plain")
    assert is_whole(picture) and "imulated" not in picture.alt
    assert title(picture) == "Fewer bytes on the wire shorten a step, on slow links only"


def test_top_k_at_a_fifth_sends_more_than_the_ring_from_6_workers_on():
    saving = laws.wire_saving(0.4, np.arange(2, 9), "all_gather")
    assert saving[3] == pytest.approx(0, abs=1e-9)  # 5 workers
    assert all(saving[:3] > 0) and all(saving[4:] < 0)


def test_half_the_bytes_are_five_per_cent_of_a_step_on_100_gigabit():
    whole, half = (0.120 + laws.ring_time(share * 100e6, 8, 12.5e9) for share in (1, 0.5))
    assert 100 * (1 - half / whole) == pytest.approx(5.22, abs=0.01)


def test_the_path_away_lies_on_its_law():
    three = three_functions()

    def descend(comm, code):
        path = [three.start]
        for _ in range(120):
            mine = three.gradients[comm.rank](path[-1])
            path.append(path[-1] - three.lr * gather_all_reduce(comm, mine, code, op="mean"))
        return np.linalg.norm(path, axis=1)

    paths = {
        "top-1": simulate(lambda comm: descend(comm, TopK(1 / 3)), 3).values[0],
        "owed": simulate(lambda comm: descend(comm, ErrorFeedback(TopK(1 / 3))), 3).values[0],
    }
    assert np.allclose(paths["top-1"], np.sqrt(3) * three.growth() ** np.arange(121), rtol=1e-4)
    assert paths["owed"][-1] < 0.2
    picture = distances(paths, three.growth())
    assert is_whole(picture) and "all start at 1.73" in picture.alt


def test_what_top_1_lets_through_points_the_wrong_way():
    three = three_functions()
    gradients = np.array([gradient(three.start) for gradient in three.gradients])
    assert gradients.mean(axis=0) == pytest.approx([3.5 / 3] * 3)
    assert np.mean([top_k(row, 1) for row in gradients], axis=0) == pytest.approx([-5.5 / 3] * 3)


def test_an_arrow_from_without_to_with_feedback():
    shown = {
        ("float32", False): (2e6, 0.2, 0.9),
        ("sign", False): (1e5, 1.5, 0.5),
        ("sign", True): (1e5, 0.3, 0.9),
    }
    picture = loss_for_bytes(shown)
    assert is_whole(picture)
    assert picture.alt.endswith("float32: 2 MB, 0.20; sign: 100 kB, 1.50 without feedback, 0.30 with it.")
    assert "  _sign: 0.1 | 1.5" in picture.numbers and "  _sign: 0.1 | 0.3" in picture.numbers


# --- overlap


def test_overlap_saves_as_much_beside_a_straggler():
    def seconds(bucket_bytes, speeds):
        worker = backward_with_buckets([50_000] * 48, [0.0005] * 48, bucket_bytes)
        return simulate(worker, 4, link=Link(100e-6, 250e6), speeds=speeds).seconds

    equal, slow = [1, 1, 1, 1], [1, 1, 1, 0.5]
    assert seconds(2_400_000, equal) == pytest.approx(0.039)
    assert seconds(150_000, equal) == pytest.approx(0.0255)
    assert seconds(2_400_000, slow) - seconds(150_000, slow) == pytest.approx(0.0135)
    assert seconds(150_000, slow) - seconds(150_000, equal) == pytest.approx(0.024)


def test_where_the_link_sets_the_pace_a_straggler_hides_behind_the_buckets():
    def seconds(bucket_bytes, last):
        worker = backward_with_buckets([50_000] * 48, [0.0005] * 48, bucket_bytes)
        return simulate(worker, 4, link=Link(100e-6, 60e6), speeds=[1, 1, 1, last]).seconds

    assert seconds(150_000, 0.5) - seconds(150_000, 1) == pytest.approx(0.0015)
    assert seconds(2_400_000, 0.5) - seconds(2_400_000, 1) == pytest.approx(0.024)


test_a_bucket_size_that_is_good_passes = accepts(
    check_bucket_size, 800_000, 1e6, np.float64(960_000), np.int64(700_000), 4.8e6 / 5, Fraction(4_800_000, 6)
)
test_no_size_yet_is_no_failure = waits_for(check_bucket_size, stubs=[None, ...])
test_sizes_of_somebody_in_a_hurry_are_refused = rejects(
    check_bucket_size,
    (25 * 2**20, "1 bucket: the pass takes 107 ms"),  # DDP's default
    (4.8e6, "1 bucket"),
    (100_000, "48 buckets"),  # each layer by itself
    (150_000, "24 buckets"),  # the size that is best for the chapter's layers
    (300_000, "16 buckets"),  # as many buckets as are best there
    (2_400_000, "2 buckets"),
    (1, "48 buckets"),
    (5, "48 buckets"),  # how many, not how large
    *((value, "above 0; got") for value in (0, -1, True, "1e6", [1e6], float("nan"), float("inf"), 1j)),
    *((value, "above 0; got") for value in (10**400, int, len)),
)


def test_every_code_is_trained_without_feedback_and_with_it():
    config = DigitsConfig(batch=16, lr=0.5, epochs=1)
    worker = EveryCode(config, {"int8": Int8(), "sign": Sign()}, plain=("int8",))
    ends = launch(worker, 2, timeout=limit(300)).values[0]
    wanted = {("int8", False), ("sign", False), ("sign", True), ("fp16", False), ("float32", False)}
    assert set(ends) == wanted
    sent = {name: nbytes for (name, _), (nbytes, *_) in ends.items()}
    assert sent["float32"] == 2 * sent["fp16"]
    assert all(0 <= accuracy <= 1 for *_, accuracy in ends.values())
