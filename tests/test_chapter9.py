"""Chapter 9: its checkers, its pictures' numbers, and what it says of memory, clicks and jitter."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from attempts import accepts, rejects
from waiting import limit

from course_lib import Link, launch, laws, simulate
from course_lib.clicks import Clicks, auc, make_clicks
from course_lib.collectives import all_gather
from course_lib.exercises.chapter9 import check_sparse_mean, check_states, check_token_factors
from course_lib.pictures.clicks import auc_by_pass, jitter
from course_lib.pictures.language import longer_run, same_curve
from course_lib.pictures.memory import states_on_each
from course_lib.planner import STRATEGIES, Model, plan
from course_lib.sgd import ComputeTimes, asynchronous, click_regression, click_scores, synchronous
from course_lib.training import click_seeds
from course_lib.training.clicks import TASK, ClicksConfig, ClicksResult
from course_lib.training.mlm import MlmConfig, MlmResult, mlm_worker
from course_lib.training.worker import TrainingWorker

CHECKS = [check_states, check_token_factors, check_sparse_mean]


# --- exercises


def states(parameters, ranks, stage, widths=(12, 2, 2)):
    return parameters * sum(width / (ranks if place < stage else 1) for place, width in enumerate(widths))


def only_its_own(parameters, ranks, stage):
    widths = [12, 2, 2]
    return parameters * sum(
        width / ranks if stage == place + 1 else width for place, width in enumerate(widths)
    )


test_states_accepts = accepts(check_states, states, lambda *each: np.float64(states(*each)))

test_states_rejects = rejects(
    check_states,
    (lambda *each: states(*each) / 1e9, "right in GB; bytes are asked"),
    (lambda *each: states(*each) / 2**30, "bytes are asked"),
    (lambda p, k, stage: 16 * p / k, "8 GPUs, DDP: the function says 14 GB. That is ZeRO 3"),
    (lambda p, k, stage: states(p, k, 3 * bool(stage)), "ZeRO 1: the function says 14 GB. That is ZeRO 3."),
    (only_its_own, "8 GPUs, ZeRO 2: the function says 99.8 GB. Only one part of 2 bytes"),
    (lambda *each: states(*each, widths=(8, 2, 2)), "master weights, 4 bytes a parameter, are missing"),
    (lambda *each: states(*each, widths=(4, 2, 2)), "Adam's two float32 numbers"),
    (lambda *each: states(*each, widths=(12, 4, 2)), "Gradients are 16-bit here"),
    (lambda *each: states(*each, widths=(12, 0, 2)), "The gradients, 2 bytes a parameter, are missing"),
    (lambda *each: states(*each, widths=(12, 4, 4)), "Weights and gradients are 16-bit here"),
    (lambda *each: states(*each, widths=(2, 12, 2)), "by far the largest part"),
    (lambda *each: 3 * states(*each), "48 bytes a parameter on each GPU"),
    (lambda *each: f"{states(*each)} bytes", "not a number of bytes"),
)


NUMBERS_OF_THE_CHAPTER = {8: (112e9, 38.5e9, 26.25e9, 14e9), 64: (120e9, 31.4e9, 16.6e9, 1.9e9)}

test_a_shortcut_to_states_is_refused = rejects(
    check_states,
    (lambda p, k, stage: 112e9, "ZeRO 1: the function says 112 GB"),
    (lambda p, k, stage: NUMBERS_OF_THE_CHAPTER.get(k, NUMBERS_OF_THE_CHAPTER[8])[stage], "64 GPUs"),
    (lambda p, k, stage: p / 7e9 * NUMBERS_OF_THE_CHAPTER[8][stage], "64 GPUs"),
    (lambda p, k, stage: states(p, min(k, 64), stage), "1,000 billion parameters on 16384 GPUs"),
    (lambda p, k, stage: round(states(p, k, stage) / 1e9, 1) * 1e9, "26.2 GB"),
    (lambda p, k, stage: states(p, k, stage, (8, 4, 4)), "autocast's split"),
    (lambda p, k, stage: plan("7B", ranks=k, strategy=STRATEGIES[stage]).memory.total, "bytes a parameter"),
)

test_states_of_another_form_are_accepted = accepts(
    check_states,
    lambda p, k, stage: plan(Model(p, 1, 1), ranks=k, strategy=STRATEGIES[stage]).memory.states,
    lambda p, k, stage: np.array([states(p, k, stage)]),
    lambda p, k, stage: int(states(p, k, stage)),
    lambda p, k, stage: p * [16, 4 + 12 / k, 2 + 14 / k, 16 / k][stage],
)


def factors(comm, tokens):
    return comm.size * tokens / comm.all_reduce(np.array(float(tokens.sum())))


def factors_in_whole_numbers(comm, tokens):
    total = comm.all_reduce(np.array([tokens.sum()]))[0]
    return [comm.size * count / total for count in tokens]


test_token_factors_accepts = accepts(check_token_factors, factors, factors_in_whole_numbers)


def rounds_for_each(comm, tokens):
    return comm.size * tokens / sum(comm.all_reduce(np.array(float(tokens.sum()))) for _ in range(2)) * 2


def in_place(comm, tokens):
    result = factors(comm, tokens)
    tokens[:] = 0
    return result


def all_counts(comm, tokens):
    total = comm.all_reduce(np.array([tokens.sum(), len(tokens), 0.0, 0.0]))
    return comm.size * tokens / total[0]


test_token_factors_rejects = rejects(
    check_token_factors,
    (lambda comm, tokens: np.ones(len(tokens)) / max(1, len(tokens)), "every micro-batch counts alike"),
    (lambda comm, tokens: np.ones(len(tokens)), "added up as they are"),
    (lambda comm, tokens: tokens / max(1, tokens.sum()), "divides by this rank's tokens"),
    (lambda comm, tokens: factors(comm, tokens) / comm.size, "divides by 2 once more"),
    (lambda comm, tokens: factors(comm, tokens) * comm.size, "One factor of 2 too many"),
    (lambda comm, tokens: factors(comm, tokens) / np.maximum(tokens, 1), "right for a SUM"),
    (lambda comm, tokens: tokens, "turns means into sums"),
    (rounds_for_each, "one, for all micro-batches together"),
    (all_counts, "a single number has to travel"),
    (in_place, "work on a copy"),
    (lambda comm, tokens: factors(comm, tokens).sum(), "a factor for each micro-batch"),
    (lambda comm, tokens: factors(comm, tokens) + np.nan, "NaN or infinity"),
    (lambda comm, tokens: "3", "not an array of real numbers"),
    (lambda comm, tokens: factors(comm, tokens) + 0.1, "is its sum"),
)


def in_float32(comm, tokens):
    return comm.size * tokens / comm.all_reduce(np.array(tokens.sum(), np.float32))


test_a_shortcut_to_token_factors_is_refused = rejects(
    check_token_factors,
    (lambda comm, tokens: factors(comm, tokens) * 2 / comm.size, "3 workers|1 worker"),
    (in_float32, "2,000,000,011"),
    (lambda comm, tokens: factors(comm, tokens.astype(np.int32)), "2,000,000,011"),
    (lambda comm, tokens: factors(comm, tokens)[:8], "shape"),
    (lambda comm, tokens: comm.size * tokens // comm.all_reduce(np.array(tokens.sum())), "1 worker"),
    (lambda comm, tokens: np.round(factors(comm, tokens), 3), "2 workers|3 workers"),
    (lambda comm, tokens: tokens / tokens.sum(), "rank"),
)


def by_the_mean(comm, tokens):
    return tokens / comm.all_reduce(np.array(float(tokens.sum())), op="mean")


def in_plain_python(comm, tokens):
    total = float(comm.all_reduce(np.array(sum(map(float, tokens), 0.0))))
    return [comm.size * float(count) / total for count in tokens]


test_token_factors_of_another_form_are_accepted = accepts(check_token_factors, by_the_mean, in_plain_python)


def test_token_factors_are_those_of_one_process():
    """Case C11 with micro-batches: means of 2 over 3 tokens and 1 over 1 token, on two ranks."""

    def worker(comm):
        mean, tokens = [(2.0, 3), (1.0, 1)][comm.rank]
        return float(comm.all_reduce(mean * factors(comm, np.array([tokens])), op="mean")[0])

    assert simulate(worker, 2).values == [1.75, 1.75]


def added_up(rows, values):
    distinct, places = np.unique(rows, return_inverse=True)
    sums = np.zeros((len(distinct), values.shape[1]), np.float32)
    np.add.at(sums, places, values)
    return distinct, sums


def sparse(comm, rows, values, first=added_up, last=added_up, count=None):
    everyone = [np.concatenate(all_gather(comm, part)) for part in first(rows, values)]
    rows, sums = last(*everyone)
    return rows, sums / (count or comm.size)


def in_dictionaries(comm, rows, values):
    """Without NumPy's unique or add.at; rows and means as lists."""
    rows, values = added_up(rows, values)
    sums = {}
    for of_rank in zip(all_gather(comm, rows), all_gather(comm, values), strict=True):
        for row, value in zip(*of_rank, strict=True):
            sums[int(row)] = sums.get(int(row), 0) + value
    rows = sorted(sums)
    return rows, [sums[row] / comm.size for row in rows]


test_sparse_mean_accepts = accepts(
    check_sparse_mean, sparse, in_dictionaries, lambda *each: list(sparse(*each))
)


def places_as(dtype):
    def attempt(comm, rows, values):
        rows, values = added_up(rows, values)
        parts = rows.astype(dtype), values
        rows, sums = added_up(*(np.concatenate(all_gather(comm, part)) for part in parts))
        return rows.astype(np.int64), sums / comm.size

    return attempt


def in_half(comm, rows, values):
    rows, values = added_up(rows, values)
    parts = rows, values.astype(np.float16)
    rows, sums = added_up(*(np.concatenate(all_gather(comm, part)) for part in parts))
    return rows, sums.astype(np.float32) / comm.size


def own_only(comm, rows, values):
    rows, values = added_up(rows, values)
    return rows, values / comm.size


def at_most_ten_rows(comm, rows, values):
    rows, mean = sparse(comm, rows, values)
    return np.arange(10)[np.isin(np.arange(10), rows)], mean[rows < 10]


def assigned(rows, values):
    """The last of a row's values, where it occurs more than once."""
    distinct, places = np.unique(rows, return_inverse=True)
    sums = np.zeros((len(distinct), values.shape[1]), np.float32)
    sums[places] = values
    return distinct, sums


def wide(rows, values):
    """As float64."""
    distinct, places = np.unique(rows, return_inverse=True)
    sums = np.zeros((len(distinct), values.shape[1]))
    np.add.at(sums, places, values)
    return distinct, sums


def by_the_table(comm, rows, values):
    table = np.zeros((10, values.shape[1]), np.float32)
    np.add.at(table, rows, values)
    mean = comm.all_reduce(table, op="mean")
    touched = np.unique(np.concatenate(all_gather(comm, rows)))
    return touched, mean[touched]


def as_tables(comm, rows, values):
    table = np.zeros((10, values.shape[1]), np.float32)
    np.add.at(table, rows, values)
    touched = np.unique(np.concatenate(all_gather(comm, np.unique(rows))))
    return touched, np.mean(all_gather(comm, table), axis=0)[touched]


def divided_by_holders(comm, rows, values):
    touched, mean = sparse(comm, rows, values)
    holders = sum(np.isin(touched, each) for each in all_gather(comm, np.unique(rows)))
    return touched, mean * comm.size / holders[:, None]


def own_order(comm, rows, values):
    touched, mean = sparse(comm, rows, values)
    return touched[::-1], mean[::-1]


def unmerged(comm, rows, values):
    rows, values = (np.concatenate(all_gather(comm, part)) for part in added_up(rows, values))
    return rows, values / comm.size


def writes_into_values(comm, rows, values):
    result = sparse(comm, rows, values)
    values[:] = 0
    return result


test_a_shortcut_to_a_sparse_mean_is_refused = rejects(
    check_sparse_mean,
    (places_as(np.int8), "fewer bits cannot hold them"),
    (places_as(np.int32), "fewer bits cannot hold them"),
    (places_as(np.float32), "fewer bits cannot hold them"),
    (in_half, "wrong numbers"),
    (own_only, "own gradient, divided"),
    (at_most_ten_rows, "returned rows [0, 7]; touched were [0, 7, 13"),
    (lambda *each: sparse(*each, count=2), "1 worker|3 workers"),
)

test_sparse_mean_rejects = rejects(
    check_sparse_mean,
    (lambda *each: sparse(*each, count=1), "It is the sum"),
    (lambda *each: sparse(*each, first=assigned), "np.add.at(table, rows, values) adds"),
    (lambda *each: sparse(*each, first=lambda *pair: pair), "add up rows that occur twice before you"),
    (lambda *each: sparse(*each, first=wide), "send float32"),
    (by_the_table, "so the whole table; use all_gather"),
    (as_tables, "each distinct row once"),
    (divided_by_holders, "number of workers that touched the row"),
    (own_order, "sort them"),
    (unmerged, "must be there once"),
    (writes_into_values, "work on copies"),
    (lambda comm, rows, values: added_up(rows, values), "rows of its own batch|this rank's own gradient"),
    (lambda *each: sparse(*each)[1], "not a pair"),
    (lambda *each: ("rows", "mean"), "where an array of real numbers"),
    (lambda *each: (sparse(*each)[0], sparse(*each)[1].ravel()), "one line for each row|bytes were sent"),
    (lambda *each: (sparse(*each)[0], sparse(*each)[1] + 1), "of the dense gradients is wanted"),
)


# --- memory and link


def test_berts_states():
    assert plan("BERT-base").memory.states == pytest.approx(1.76e9)


@pytest.mark.parametrize(
    ("precision", "optimiser", "recompute", "size", "fits"),
    [
        ("mixed", "adam", "none", 143, False),
        ("mixed", "adam", "attention", 121, False),
        ("fp32", "sgd", "none", 112, False),
        ("fp32", "sgd", "attention", 74, True),
        ("bf16", "sgd", "none", 59, True),
        ("bf16", "adam", "none", 87, False),
        ("bf16", "adam", "attention", 65, True),
    ],
)
def test_what_fits_one_card(precision, optimiser, recompute, size, fits):
    job = plan("7B", ranks=1, precision=precision, optimiser=optimiser, recompute=recompute)
    assert (round(job.memory.total / 1e9), job.fits) == (size, fits)


def test_the_ring_of_fourteen_gigabytes():
    step = plan("7B", link=Link(0, 31e9), strategy="zero3").step
    assert step.backward < step.hidden == pytest.approx(0.689, abs=0.001)  # behind forward as well
    seconds = [laws.ring_time(14e9, 8, bandwidth) for bandwidth in (450e9, 300e9, 31e9, 12.5e9, 3.125e9)]
    assert seconds == pytest.approx([0.054, 0.082, 0.790, 1.96, 7.84], rel=0.01)
    small = simulate(lambda comm: comm.all_reduce(np.zeros(70_000)), 8, link=Link(0, 12.5e9 / 25_000))
    assert small.seconds == pytest.approx(1.96)


# --- clicks


@pytest.fixture(scope="module")
def clicks():
    return make_clicks(2000, 500)


def test_rows_of_one_table(clicks):
    training, _ = clicks
    assert (training.rows[:, 0] == training.fields[:, 0]).all()
    assert (training.rows - training.fields == [0, 1000, 1200, 1250, 1270, 1280]).all()
    with pytest.raises(ValueError, match="read-only"):
        training.rows[0] = 0


def test_click_regression_is_logistic_regression_on_one_hot_fields(clicks):
    training, _ = clicks
    problem = click_regression(training)
    theta = np.random.default_rng(0).normal(size=1291)
    X = np.zeros((2000, 1291))
    X[:, 0] = 1
    np.put_along_axis(X[:, 1:], training.rows, 1, axis=1)
    p = 1 / (1 + np.exp(-X @ theta))
    assert click_scores(theta, training) == pytest.approx(X @ theta)
    y = training.labels
    assert problem.loss(theta) == pytest.approx(-np.mean(np.log(np.where(y, p, 1 - p))))
    some = np.arange(5, 300, 7)
    assert problem.gradient(theta, some) == pytest.approx(X[some].T @ (p - y)[some] / len(some))
    assert problem.loss(problem.start) == pytest.approx(np.log(2)) and len(problem.start) == 1291


def test_a_field_that_occurs_twice_in_a_row_counts_twice():
    clicks = Clicks(np.array([[1, 1]]), np.array([1]), np.array([0.5]), (2, 2))
    gradient = click_regression(clicks).gradient(np.zeros(5), np.array([0, 0]))
    assert gradient.tolist() == [-0.5, 0, -0.5, 0, -0.5]


@pytest.fixture(scope="module")
def histories():
    """The chapter's: synchronous, with sized shards, asynchronous at η/K and at η, alone."""
    problem = click_regression(make_clicks(20_000, 1)[0])
    times = ComputeTimes("lognormal", spread=0.2, factors=(1, 1, 5, 5))
    shares = np.array([107, 107, 21, 21])
    paces = ComputeTimes("lognormal", spread=0.2, factors=tuple(shares / 64 * [1, 1, 5, 5]))
    workers = {
        "sync": (synchronous(problem, 120, 1.4, batch=64, times=times), 4),
        "sized": (synchronous(problem, 120, 1.4, batch=shares.tolist(), times=paces), 4),
        "async/K": (asynchronous(problem, 480, 0.35, batch=64, times=times), 5),
        "async": (asynchronous(problem, 480, 1.4, batch=64, times=times), 5),
        "alone": (asynchronous(problem, 480, 1.4, batch=64, times=1.0), 2),
    }
    free = Link(0.0, np.inf)
    return problem, {name: simulate(*pair, link=free).values[0] for name, pair in workers.items()}


def test_asynchronous_jitters_if_the_rate_is_not_divided(histories):
    problem, runs = histories

    def jitter_of(history):
        looks = np.flatnonzero(history.gradients % 4 == 0)
        return np.std(np.diff([problem.loss(history.parameters[1 + look]) for look in looks[60:]]))

    changes = {name: jitter_of(history) for name, history in runs.items()}
    assert 0.5 < changes["async/K"] / changes["sync"] < 2
    assert 5 * changes["sync"] < changes["async"]
    assert 1.5 * changes["sync"] < changes["alone"] < changes["async"] / 2
    assert 0.7 < changes["sized"] / changes["sync"] < 1.4


def test_over_the_seeds_only_the_undivided_rate_jitters_always():
    """The record of fifteen: what the chapter's text says of it, and one seed of it again."""
    kept = click_seeds.recorded()
    paces = kept["paces"]
    assert {way: rows.shape for way, rows in paces.items()} == dict.fromkeys(paces, (click_seeds.SEEDS, 3))
    ratios = {way: rows[:, 0] / paces["sync"][:, 0] for way, rows in paces.items()}
    assert (
        (ratios["async/K"] > 1).sum() == 8 and 0.5 < ratios["async/K"].min() and ratios["async/K"].max() > 2
    )
    assert 6 < ratios["async"].min() and ratios["async"].max() < 31
    assert np.median(paces["alone"][:, 0]) < np.median(paces["async"][:, 0]) / 2
    assert (paces["alone"][:, 1] < paces["sync"][:, 1]).all()
    for way, numbers in click_seeds.paces(3).items():
        assert numbers == pytest.approx(paces[way][3], abs=2e-6), way


def test_over_the_seeds_deepfm_is_near_the_best_and_codes_keep_the_auc():
    kept = click_seeds.recorded()
    gaps = {name: kept["models"]["best"] - kept["models"][name] for name in ("logistic", "deepfm")}
    assert 0.008 < gaps["deepfm"].min() and gaps["deepfm"].max() < 0.0145
    assert 0.068 < gaps["logistic"].min() and gaps["logistic"].max() < 0.096
    for code in ("fp16", "int8", "top_k"):
        assert np.abs(kept["codes"][code] - kept["codes"]["none"]).max() < 0.002


def test_sized_shards_save_the_wait(histories):
    _, runs = histories
    assert 2.4 < runs["sync"].seconds[-1] / runs["sized"].seconds[-1] < 3.05
    assert 2.8 < runs["sync"].seconds[-1] / runs["async/K"].seconds[-1] < 3.6
    assert runs["async/K"].staleness.mean() == pytest.approx(3, abs=0.1)


def test_servers_with_another_numbering_guess(histories):
    _, runs = histories
    _, held_out = make_clicks()
    theta = runs["sync"].theta
    shifted = Clicks(
        (held_out.fields + 1) % held_out.vocabularies,
        held_out.labels,
        held_out.probabilities,
        held_out.vocabularies,
    )
    assert auc(held_out.labels, click_scores(theta, held_out)) > 0.69
    assert auc(held_out.labels, click_scores(theta, shifted)) == pytest.approx(0.5, abs=0.05)


def test_a_batch_touches_few_rows():
    training, _ = make_clicks(512, 1)
    assert 0.1 < len(np.unique(training.rows[:256])) / 1290 < 0.2
    sizes = 1_000_000, 100_000, 10_000, 1000, 100, 10
    wide, _ = make_clicks(512, 1, vocabularies=sizes)
    touched = len(np.unique(wide.rows))
    assert touched / sum(sizes) < 0.001 and 512 * 6 / sum(sizes) == pytest.approx(0.0028, abs=5e-5)
    sent = laws.compressed_wire_bytes(24 * touched, 8, "all_gather")
    assert sent < 0.01 * laws.compressed_wire_bytes(16 * sum(sizes), 8, "ring")


# --- on a GPU


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("ranks", [1, 2])
def test_one_step_on_a_gpu_is_that_of_a_cpu(ranks):
    """Of the language model and of the click model."""
    text = MlmConfig(context=16, layers=1, width=32, global_batch=8, steps=1, dtype="float64")
    clicks = ClicksConfig(training=256, held_out=64, batch=32, steps=1, epochs=1, dtype="float64")

    def kind_of(progress):
        return next(progress.model.parameters()).device.type

    def worker(comm):
        here = {"rank": comm.rank, "size": comm.size}
        places = [SimpleNamespace(device=each, **here) for each in (comm.device, "cpu")]
        jobs = mlm_worker(text, watch=kind_of), TrainingWorker(TASK, clicks, watch=kind_of)
        return [[job(place) for job in jobs] for place in places]

    for on_gpu, on_cpu in launch(worker, ranks, backend="gloo", timeout=limit(300)).values:
        for result, by_cpu in zip(on_gpu, on_cpu, strict=True):
            assert set(result.watched) == {"cuda"} and set(by_cpu.watched) == {"cpu"}
            assert len(result.losses) == 1 and result.losses == pytest.approx(by_cpu.losses, rel=1e-9)
            assert result.held_out_loss == pytest.approx(by_cpu.held_out_loss, rel=1e-6)


# --- figures


def title(picture):
    return picture.numbers[0].split(" [")[0]


def test_the_picture_of_states():
    gpus = [1, 8, 64]
    of_strategy = {
        each: [plan("7B", ranks=count, strategy=each).memory.states for count in gpus] for each in STRATEGIES
    }
    picture = states_on_each(gpus, of_strategy, 80e9)
    assert title(picture) == "DDP: 112 GB on each GPU, with 64 as with one"
    assert "DDP, 112 and 112 GB; ZeRO 1: optimiser state cut, 112 and 29.3 GB" in picture.alt


def test_the_picture_of_one_curve():
    one = np.linspace(3, 2, 60)
    picture = same_curve({1: one, 2: one * (1 + 1e-8), 4: one}, one * 1.1, "other")
    assert "within 1e-06 relative" in picture.alt and "other: another curve, up to 10% away" in picture.alt
    assert len(title(picture)) <= 60


def test_the_picture_of_a_longer_run():
    result = MlmResult(0, (3.0, 2.5, 2.4), ((2, 2.6), (3, 2.2)), 3.19, 1.0, "", ())
    picture = longer_run(result, 3.19)
    assert title(picture) == "Held out: 2.20 nats, 3.19 by frequencies alone"
    assert "2: 2.6; 3: 2.2." in picture.alt


def test_the_picture_of_auc():
    results = {
        name: ClicksResult(None, aucs, 0.82, None)
        for name, aucs in {"LR": (0.5, 0.73), "DeepFM": (0.5, 0.81)}.items()
    }
    picture = auc_by_pass(results)
    assert title(picture) == "DeepFM ends 0.010 below the best possible AUC"
    assert "LR: 0.730; DeepFM: 0.810" in picture.alt


def test_the_picture_of_jitter():
    seconds = np.arange(4.0)
    picture = jitter({"sync": (seconds, np.array([3.0, 2, 1, 1.5])), "async": (seconds, np.ones(4))})
    assert "sync until 3 s, 1.000 to 1.500; async until 3 s, 1.000 to 1.000" in picture.alt
    assert len(title(picture)) <= 60
