"""Training on clicks: AUC against the best possible, one rank against several, compression."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from waiting import limit

from course_lib import launch
from course_lib.clicks import auc, make_clicks
from course_lib.training.clicks import TASK, ClicksConfig, clicks_worker
from course_lib.training.clicks_table import compare_compression
from course_lib.training.clicks_task import ClicksTask, DeepFM, LogisticRegression
from course_lib.training.worker import TrainingWorker

SEEDS = 0, 1
PARAMETERS = 1290 * (1 + 4) + 1 + (24 * 16 + 16) + (16 * 16 + 16) + (16 + 1)  # of DeepFM
SMALL = ClicksConfig(training=2400, held_out=1001, batch=60, epochs=2, decay_epochs=0, dtype="float64")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As a rank has; several only wait for one another in work as small as this."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def results():
    """(model, seed) → its result, at full size; each in one process, shared out over two."""
    jobs = [(model, seed) for seed in SEEDS for model in ("deepfm", "logistic")]

    def worker(comm):
        mine = jobs[comm.rank :: comm.size]
        configs = [ClicksConfig(model=model, batch=1024, seed=seed, data_seed=seed) for model, seed in mine]
        return dict(zip(mine, [clicks_worker(config).alone() for config in configs], strict=True))

    of_ranks = launch(worker, 2, timeout=limit(400), threads=1).values
    return of_ranks[0] | of_ranks[1]


# --- how good


@pytest.mark.parametrize("seed", SEEDS)
def test_deepfm_comes_near_the_best_and_logistic_regression_does_not(results, seed):
    deepfm, logistic = results["deepfm", seed], results["logistic", seed]
    assert logistic.auc + 0.04 < deepfm.auc < deepfm.best_auc
    assert deepfm.gap < 0.02
    assert 0.70 < logistic.auc and logistic.gap > 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_is_that_of_the_held_out_clicks(results, seed, subtests):
    _, held_out = make_clicks(seed=seed)
    for model in ("deepfm", "logistic"):
        with subtests.test(model=model):
            result = results[model, seed]
            assert result.best_auc == held_out.best_auc
            assert len(result.aucs) == 4 and result.auc == result.aucs[-1]
            assert result.aucs[0] == pytest.approx(0.5, abs=0.05)
            assert result.run.losses[0] > 1.2 * result.run.losses[-1]
            assert result.traffic is None


# --- the models


def test_logistic_regression_adds_weights():
    model = LogisticRegression(5)
    with torch.no_grad():
        model.bias.fill_(0.5)
        model.weights.weight.copy_(torch.arange(5.0)[:, None])
    assert model(torch.tensor([[0, 4], [1, 2]])).tolist() == [4.5, 3.5]


def test_deepfm_adds_products_in_pairs():
    torch.manual_seed(0)
    model = DeepFM(9, 4, 3, (5,))
    rows = torch.tensor([[0, 2, 5, 8], [1, 3, 4, 7]])
    vectors = model.embeddings(rows)
    pairs = sum((vectors[:, f] * vectors[:, g]).sum(1) for f, g in combinations(range(4), 2))
    deep = model.deep(vectors.reshape(2, -1))[:, 0]
    torch.testing.assert_close(model(rows), model.bias + pairs + deep)
    assert sum(parameter.numel() for parameter in model.parameters()) == 1 + 9 + 27 + (12 * 5 + 5) + 6


def test_every_value_has_its_own_row():
    task = ClicksTask(SMALL, "cpu")
    rows, labels = task.held_out
    clicks = make_clicks(2400, 1001)[1]
    first = np.cumsum([0, *clicks.vocabularies[:-1]])
    assert (rows.numpy() - first == clicks.fields).all() and (labels.numpy() == clicks.labels).all()
    assert rows.max() < sum(clicks.vocabularies)
    assert task.model().weights.weight.shape == (sum(clicks.vocabularies), 1)


# --- one rank against several


@pytest.fixture(scope="module")
def alone(one_thread):
    return clicks_worker(SMALL).alone()


@pytest.fixture(scope="module")
def of_three():
    """Three ranks, which 1,001 held-out clicks cannot be shared out to equally."""
    return launch(clicks_worker(replace(SMALL, batch=20)), 3, timeout=limit(300)).values


def test_three_ranks_learn_what_one_learns(alone, of_three):
    for result in of_three:
        np.testing.assert_allclose(result.run.losses, alone.run.losses, rtol=1e-9)
        assert result.run.held_out_loss == pytest.approx(alone.run.held_out_loss, rel=1e-9)
        assert result.run.accuracy == alone.run.accuracy


def test_every_held_out_click_counts_once(alone, of_three):
    for result in of_three:
        assert result.aucs == pytest.approx(alone.aucs, abs=1e-9)
        assert result.aucs == of_three[0].aucs


def test_the_auc_is_that_of_the_model(alone):
    def watch(progress):
        rows, labels = progress.task.held_out
        with torch.no_grad():
            return auc(labels.numpy(), progress.model(rows).numpy())

    assert TrainingWorker(TASK, SMALL, watch=watch).alone().watched == alone.aucs


def test_ranks_agree_and_seeds_differ(of_three, alone):
    assert len({result.run.digest for result in of_three}) == 1
    assert clicks_worker(SMALL).alone().run.digest == alone.run.digest
    other = clicks_worker(replace(SMALL, seed=1)).alone()
    assert other.run.digest != alone.run.digest and other.best_auc == alone.best_auc


def test_the_traffic_of_ddp_is_the_rings(of_three):
    sent = of_three[0].traffic
    assert sent.gradient == sent.payload == 8 * PARAMETERS * len(of_three[0].run.losses)
    assert sent.wire == sent.ring == pytest.approx(2 * 2 / 3 * sent.gradient)


# --- compression


def test_payload_and_wire_of_compressed_gradients():
    """What is gathered grows with the number of ranks; on two, wire saves as much as payload."""
    ranks, wire = 4, {"fp16": 0.5, "int8": 0.5, "top_k": 0.2}
    table = compare_compression(replace(SMALL, batch=60 // ranks, dtype="float32", epochs=1), ranks)
    uncompressed, *others = table.rows
    assert (uncompressed.payload_saving, uncompressed.wire_saving) == (0, 0)
    assert uncompressed.payload == 4 * PARAMETERS
    assert uncompressed.wire == pytest.approx(2 * (ranks - 1) / ranks * 4 * PARAMETERS)
    for row, payload in zip(others, (0.5, 0.75, 0.6), strict=True):
        assert row.payload_saving == pytest.approx(payload, abs=0.01)
        assert row.wire_saving == pytest.approx(wire[row.comm_hook], abs=0.01)
        assert row.auc == pytest.approx(uncompressed.auc, abs=0.02)
    assert all(row.auc != uncompressed.auc for row in others[1:])  # what float16 leaves out is too little
    lines = repr(table).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["float32", "fp16", "int8", "top-k", "best"]
    assert f"K = {ranks}" in lines[0] and "60%" in lines[4] and f"{table.best_auc:.4f}" in lines[5]


# --- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "fm"}, "model must be one of 'logistic', 'deepfm'; got 'fm'"),
        ({"comm_hook": "zip"}, "comm_hook must be one of"),
        ({"comm_hook": "sign"}, "comm_hook must be one of None, 'fp16', 'int8', 'top_k'; got 'sign'"),
        ({"embedding": 0}, "embedding must be a whole number of at least 1"),
        ({"hidden": (16, 0)}, "hidden must be a whole number of at least 1"),
        ({"training": -1}, "training must be"),
        ({"held_out": 0}, "held_out must be"),
        ({"data_seed": -1}, "data_seed must be"),
        ({"batch": 0}, "batch must be"),
        ({"lr": math.nan}, "lr must be"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        ClicksConfig(**settings)


def test_one_process_alone_compresses_nothing():
    with pytest.raises(ValueError, match="has neither communication"):
        clicks_worker(replace(SMALL, comm_hook="int8")).alone()


def test_wrong_kinds():
    with pytest.raises(TypeError, match="hidden must be a tuple of layer widths"):
        ClicksConfig(hidden=16)
    with pytest.raises(TypeError, match="config must be a ClicksConfig; got 'deepfm'"):
        clicks_worker("deepfm")
    with pytest.raises(TypeError, match="config must be a ClicksConfig"):
        compare_compression(3)


def test_comparing_takes_two_ranks():
    with pytest.raises(ValueError, match="ranks must be a whole number of at least 2; got 1"):
        compare_compression(ranks=1)


def test_comparing_takes_a_hook():
    with pytest.raises(ValueError, match="comm_hooks must hold at least one"):
        compare_compression(comm_hooks=())


def test_a_batch_larger_than_the_data():
    with pytest.raises(ValueError, match="needs 4,800 samples, but there are 2,400"):
        clicks_worker(replace(SMALL, batch=4800)).alone()
