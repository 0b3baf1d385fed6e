"""Training runs: K ranks are one large batch, counts, checkpoints, sweeps, and the cases C14 and C20."""

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from processes_helper import TORCHRUN, write_script
from waiting import limit

from course_lib import RankError, launch
from course_lib.training import DigitsConfig, digits_worker, experiments, train_each
from course_lib.training.config import COMM_HOOKS
from course_lib.training.digits_task import DigitsTask
from course_lib.training.experiments import ADAM, SGD, WARMED_UP, scaled, sweep
from course_lib.training.loop import evaluate
from course_lib.training.schedule import gradual_warmup

ONE = DigitsConfig(batch=64, lr=0.2, epochs=1)
PRECISE = replace(ONE, lr=0.05, optimizer="momentum", dtype="float64", warmup_epochs=0.5)
SHORT = DigitsConfig(batch=32, lr=0.02, optimizer="adam", epochs=4, warmup_epochs=3, decay_epochs=0.5)


class Marked:
    """A task whose first sample alone is right: who counts it twice is found out."""

    def scores(self, model, values):
        return values.sum(), (values == 0).sum()


def in_turn(*workers):
    """Several workers, one after the other, in one launch."""
    return lambda comm: [worker(comm) for worker in workers]


def shared(ranks):
    """On `ranks` ranks what ONE and PRECISE are on one; ONE with accumulation; an evaluation."""
    one, precise, half = (replace(each, batch=64 // ranks) for each in (ONE, PRECISE, ONE))
    halved = replace(half, batch=32 // ranks, accumulation=2)

    def count(comm):
        data = (torch.arange(261, dtype=torch.float64),)
        return evaluate(torch.nn.Identity(), Marked(), data, comm.rank, comm.size)

    workers = [digits_worker(config) for config in (one, precise, halved)]
    return launch(in_turn(*workers, count), ranks, threads=1).values


@pytest.fixture(scope="module")
def alone():
    return shared(1)[0]


@pytest.fixture(scope="module")
def together():
    return shared(4)


# K ranks are one large batch


def test_the_loss_curve_of_k_ranks_is_the_large_batchs(alone, together, subtests):
    plain, precise, accumulated, _ = together[0]
    cases = {"float32": (plain, alone[0]), "float64": (precise, alone[1])}
    cases |= {"accumulated": (accumulated, alone[0]), "accumulated alone": (alone[2], alone[0])}
    for name, (mine, big) in cases.items():
        with subtests.test(name):
            assert len(mine.losses) == 1536 // 64
            assert mine.losses == pytest.approx(big.losses, abs=1e-5)
            assert mine.losses[-1] < mine.losses[0] / 2


def test_in_float64_to_rounding(alone, together):
    assert together[0][1].losses == pytest.approx(alone[1].losses, abs=1e-12)
    assert together[0][1].rates == alone[1].rates


def test_all_ranks_report_and_hold_the_same(together, subtests):
    for name in ("losses", "training_loss", "held_out_loss", "accuracy", "rates", "digest"):
        with subtests.test(name):
            for results in zip(*(rank[:3] for rank in together), strict=True):
                assert len({getattr(result, name) for result in results}) == 1
    assert all(len(result.seconds) == len(result.losses) for rank in together for result in rank[:3])


def test_no_sample_is_counted_twice(alone, together):
    # 261 is no multiple of 4; the first sample is what a sampler would pad with.
    assert {rank[3] for rank in together} == {(sum(range(261)) / 261, 1 / 261)}
    for mine, big in zip(together[0][:3], alone[:3], strict=True):
        assert mine.accuracy == big.accuracy and (261 * mine.accuracy) % 1 == pytest.approx(0, abs=1e-9)
        assert mine.held_out_loss == pytest.approx(big.held_out_loss, abs=1e-6)
        assert mine.training_loss == pytest.approx(big.training_loss, abs=1e-6)


def test_the_result_is_what_the_network_says(alone):
    """Loss and accuracy of the untrained network, computed without the loop."""
    config = replace(ONE, steps=1, dtype="float64")
    result = digits_worker(config).alone()
    task = DigitsTask(config, "cpu")
    torch.manual_seed(config.seed)
    net = task.model()
    images, labels = task.training
    order = list(torch.utils.data.DistributedSampler(range(1536), 1, 0, seed=0))[:64]
    loss = torch.nn.functional.cross_entropy(net(images[order]), labels[order])
    assert result.losses == pytest.approx([loss.item()], abs=1e-12)
    loss.backward()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= config.lr * parameter.grad
        right = (net(task.held_out[0]).argmax(1) == task.held_out[1]).double().mean().item()
    assert result.accuracy == pytest.approx(right, abs=1e-12)
    with pytest.raises(FrozenInstanceError):
        result.accuracy = 1.0


TRAININGS = """
    from course_lib.training import DigitsConfig, digits_worker
    from course_lib.training.clicks import ClicksConfig, clicks_worker
    from course_lib.training.mlm import MlmConfig, mlm_worker

    small = {"context": 16, "layers": 1, "width": 16, "heads": 2, "global_batch": 8, "evaluate_every": 3}
    clicks = {"training": 2400, "held_out": 1001, "batch": 30, "epochs": 1, "decay_epochs": 0}
    digits = digits_worker(DigitsConfig(batch=16, lr=0.2, epochs=1, steps=20))
    mlm, clicks = mlm_worker(MlmConfig(steps=6, **small)), clicks_worker(ClicksConfig(**clicks))

    def worker(comm):
        of_digits, of_mlm, of_clicks = digits(comm), mlm(comm), clicks(comm)
        return of_digits.digest, of_mlm.fingerprint, of_clicks.run.digest, of_clicks.auc
"""


def test_under_torchrun_as_under_launch(tmp_path, subtests):
    text = textwrap.dedent(TRAININGS)
    print_all = "import json, os\nfrom course_lib import launch\nvalues = launch(worker, 2).values\n"
    print_all += 'os.write(1, (json.dumps(values) + "\\n").encode())'  # one write: ranks share the pipe
    command = [*TORCHRUN, "--nproc-per-node=2", write_script(tmp_path, text + print_all)]
    options = {"capture_output": True, "text": True, "timeout": limit(400)}
    done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, **options)
    assert done.returncode == 0, done.stderr
    exec(text, here := {})
    expected = launch(here["worker"], 2, threads=1).values
    one, other = map(json.loads, done.stdout.splitlines())  # a rank's each
    assert one == other
    for name, *there, mine, theirs in zip(("digits", "mlm", "clicks", "AUC"), *one, *expected, strict=True):
        with subtests.test(name):
            assert there == [mine, theirs] and mine == theirs


# What a run can be told


@pytest.mark.parametrize(
    ("setting", "error", "says"),
    [
        ({"batch": 0}, ValueError, "batch must be a whole number of at least 1; got 0"),
        ({"batch": 2.5}, TypeError, "batch must be a whole number"),
        ({"lr": 0}, ValueError, "lr must be a finite number above 0; got 0"),
        ({"lr": float("nan")}, ValueError, "lr must be a finite number above 0; got nan"),
        ({"epochs": -1}, ValueError, "epochs must be"),
        ({"steps": 0}, ValueError, "steps must be"),
        ({"warmup_epochs": -1}, ValueError, "warmup_epochs must be a finite number of at least 0"),
        ({"decay_epochs": float("inf")}, ValueError, "decay_epochs must be a finite number"),
        ({"optimizer": "rmsprop"}, ValueError, "optimizer must be one of 'sgd', 'momentum', 'adam'"),
        ({"dtype": "float16"}, ValueError, "dtype must be one of 'float32', 'float64'"),
        ({"accumulation": 0}, ValueError, "accumulation must be"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"bucket_cap_mb": 0}, ValueError, "bucket_cap_mb must be"),
        ({"comm_hook": "zip"}, ValueError, "comm_hook must be one of 'fp16'"),
        ({"checkpoint": ""}, TypeError, "checkpoint must be the path of a folder; got ''"),
        ({"checkpoint": 3}, TypeError, "checkpoint must be the path of a folder; got 3"),
        ({"hidden": 32}, TypeError, r"hidden must be a tuple of layer widths, such as \(32, 32\); got 32"),
        ({"hidden": (32, 0)}, ValueError, "hidden must be a whole number"),
        ({"learning_rate": 1}, TypeError, "learning_rate"),
    ],
)
def test_bad_settings_are_refused_at_once(setting, error, says):
    with pytest.raises(error, match=says):
        DigitsConfig(**setting)


def test_bad_arguments_are_refused_at_once():
    with pytest.raises(TypeError, match="config must be a DigitsConfig"):
        digits_worker({"batch": 8})
    with pytest.raises(TypeError, match="watch must be a function or None"):
        digits_worker(watch=3)
    with pytest.raises(TypeError, match="workers must be training workers"):
        train_each([DigitsConfig()])
    with pytest.raises(ValueError, match="rule must be one of 'constant', 'square root', 'linear'"):
        scaled(SGD, 64, "cubic")
    with pytest.raises(ValueError, match="neither communication nor a checkpoint"):
        digits_worker(DigitsConfig(comm_hook="fp16")).alone()


def test_a_batch_beyond_the_data_says_how_many_are_needed():
    assert DigitsConfig(batch=512).steps_per_epoch(1536, ranks=3) == 1
    assert DigitsConfig(batch=100, accumulation=2).effective_batch(4) == 800
    with pytest.raises(RankError, match="needs 2,048 samples, but there are 1,536"):
        launch(digits_worker(DigitsConfig(batch=512, accumulation=2)), 2)


def test_every_epoch_has_an_order_of_its_own():
    losses = digits_worker(replace(ONE, epochs=2), rate=lambda epoch: 0).alone().losses
    assert losses[:24] != losses[24:]
    assert np.mean(losses[:24]) == pytest.approx(np.mean(losses[24:]), rel=1e-5)  # of the same samples


def test_what_does_not_fill_a_batch_waits_for_another_epoch():
    result = digits_worker(DigitsConfig(batch=1000, epochs=3, lr=0.1)).alone()
    assert len(result.losses) == 3


# Schedules


def test_gradual_warmup():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=3.2)
    schedule = gradual_warmup(optimizer, 5, start=1 / 32)  # Goyal et al.: from the small batch's rate
    rates = []
    for _ in range(7):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx([0.1, 0.875, 1.65, 2.425, 3.2, 3.2, 3.2])
    with pytest.raises(ValueError, match="steps must be"):
        gradual_warmup(optimizer, -1)


def test_rates_go_up_stay_and_go_down():
    config = DigitsConfig(batch=384, lr=0.4, epochs=4, warmup_epochs=1, decay_epochs=1.5)
    result = digits_worker(config).alone()
    up, down = np.arange(1, 5) / 4, np.arange(6, 0, -1) / 6
    assert result.rates == pytest.approx(0.4 * np.concatenate([up, np.ones(6), down]))
    assert set(digits_worker(replace(config, warmup_epochs=0, decay_epochs=0)).alone().rates) == {0.4}


def test_a_rate_of_ones_own():
    config = DigitsConfig(batch=384, epochs=2, decay_epochs=1)
    result = digits_worker(config, rate=lambda epoch: 1 + epoch).alone()
    assert result.rates == pytest.approx([1, 1.25, 1.5, 1.75, 2, 2.25 * 0.75, 2.5 * 0.5, 2.75 * 0.25])
    with pytest.raises(ValueError, match=r"rate\(0\) must be a finite number of at least 0; got -1"):
        digits_worker(config, rate=lambda epoch: -1).alone()


# Progress, checkpoints, hooks


def test_watch_sees_the_loss_of_all_ranks():
    def look(progress):
        return progress.epoch, progress.loss, progress.rank, torch.rand(1).item()

    first, second = launch(digits_worker(replace(ONE, batch=32, epochs=2), watch=look), 2).values
    assert [look[0] for look in first.watched] == [0, 1, 2]
    assert first.watched[0][3] != second.watched[0][3]  # each rank has random numbers of its own
    assert np.isnan(first.watched[0][1])
    assert first.watched[1][1] == second.watched[1][1] == pytest.approx(np.mean(first.losses[:24]))
    assert (first.watched[0][2], second.watched[0][2]) == (0, 1)


def test_a_run_that_broke_off_goes_on_bit_for_bit(tmp_path, subtests):
    ranks = 4  # with two it does not matter in which order they are added

    def breaks(progress):
        if progress.epoch == 2:
            raise OSError("the lights went out")

    whole, broken = (replace(SHORT, checkpoint=tmp_path / name) for name in ("whole", "broken"))
    undisturbed = launch(digits_worker(whole), ranks, threads=1).values[0]
    with pytest.raises(RankError, match="the lights went out"):
        launch(digits_worker(broken, watch=breaks), ranks, threads=1)
    resumed = launch(digits_worker(broken), ranks, threads=1).values[0]
    assert resumed.digest == undisturbed.digest
    assert (resumed.losses, resumed.rates) == (undisturbed.losses, undisturbed.rates)
    assert len(resumed.seconds) == len(undisturbed.seconds) // 2
    before = _bytes_in(tmp_path / "broken")
    assert len(before) == broken.epochs
    for other, count, says in (  # it refuses what is not its own
        (replace(broken, lr=0.5), ranks, r"lr=0.02 \(here 0.5\): choose another folder"),
        (replace(broken, optimizer="sgd"), ranks, r"optimizer='adam' \(here 'sgd'\)"),
        (broken, 1, f"was written by {ranks} ranks, but this job has 1"),
    ):
        with subtests.test(says), pytest.raises(RankError, match=says):
            launch(digits_worker(other), count)
    assert _bytes_in(tmp_path / "broken") == before


def _bytes_in(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_a_run_that_stops_within_an_epoch_saves_none_of_it(tmp_path):
    config = replace(SHORT, checkpoint=tmp_path, steps=30)  # 24 steps are an epoch
    assert len(launch(digits_worker(config), 2, threads=1).values[0].losses) == 30
    assert len(_bytes_in(tmp_path)) == 1
    longer = launch(digits_worker(replace(config, steps=60)), 2, threads=1).values[0]
    assert longer.losses == launch(digits_worker(replace(SHORT, steps=60)), 2, threads=1).values[0].losses


def test_compressed_gradients_train_too(subtests):
    config = replace(SHORT, epochs=1, warmup_epochs=0)
    names = (None, *COMM_HOOKS)
    workers = [digits_worker(replace(config, comm_hook=name)) for name in names]
    results = dict(zip(names, launch(in_turn(*workers), 2, threads=1).values[0], strict=True))
    assert len({result.digest for result in results.values()}) == len(names)  # each does something of its own
    for name in names:
        with subtests.test(name):
            assert results[name].training_loss < 1.5  # 2.9 at the start
            if name in ("fp16", "bf16", "int8"):
                assert results[name].losses == pytest.approx(results[None].losses, abs=0.05)


def test_attach_is_given_the_net_once():
    def attach(net):
        net.register_comm_hook(calls, hook)

    def hook(calls, bucket):
        calls.append(bucket.index())
        return torch.distributed.all_reduce(bucket.buffer(), async_op=True).get_future().then(halve)

    def halve(done):
        return done.value()[0] / 2

    calls = []

    def worker(comm):
        digits_worker(replace(ONE, batch=16, accumulation=2, steps=5), attach=attach)(comm)
        return calls

    assert launch(worker, 2).values == [[0] * 5] * 2  # once an update, whatever is accumulated before


# Sweeps


def test_each_trains_alone_the_same_on_any_number_of_ranks():
    workers = [digits_worker(DigitsConfig(batch=256, epochs=2, seed=seed)) for seed in (0, 1, 0, 2)]
    one, two = (train_each(workers, ranks) for ranks in (1, 2))
    digests = [result.digest for result in one]
    assert digests == [result.digest for result in two]
    assert one[0] == one[2] and len(set(digests)) == 3
    torch.set_num_threads(1)
    assert digests[0] == workers[0].alone().digest
    assert train_each([]) == []


def test_equal_ones_are_trained_once(tmp_path):
    def note(progress):
        with open(tmp_path / "looks", "a") as file:
            file.write(".")

    worker = digits_worker(DigitsConfig(batch=512, epochs=1), watch=note)
    first, again = train_each([worker, worker])
    assert first == again and (tmp_path / "looks").read_text() == ".."  # before the epoch, and after it


def test_a_sweep_is_shared_out_evenly():
    from course_lib.training.sweep import _shares

    assert _shares([8, 1, 1, 4, 2], 2) == [[0], [3, 4, 1, 2]]


@pytest.fixture(scope="module")
def linear():
    return sweep(SGD, (16, 32, 64, 128), seeds=(0, 1, 2))


def test_linear_scaling_holds_then_breaks(linear):
    assert linear.rates == pytest.approx([0.4, 0.8, 1.6, 3.2])
    assert linear.losses.shape == linear.accuracies.shape == (4, 3)
    assert linear.losses[:2].max() < 0.05 and linear.accuracies[:2].min() > 0.94
    assert linear.failed.tolist() == [[False] * 3] * 2 + [[True] * 3] * 2


def test_what_was_trained_is_not_trained_again(linear, monkeypatch):
    monkeypatch.setattr(experiments, "train_each", lambda workers, ranks: [] if not workers else 1 / 0)
    again = sweep(SGD, (32, 64), seeds=(1, 0))
    assert again.losses.tolist() == linear.losses[1:3, 1::-1].tolist()


def test_warm_up_saves_a_run_that_diverges_without_it(linear):
    warmed = sweep(WARMED_UP, (64, 128), seeds=(0, 1, 2))
    assert warmed.losses[0].max() < 0.3 and warmed.accuracies[0].min() > 0.9
    assert linear.accuracies[2].max() < 0.3
    assert warmed.failed[1].all()  # but not twice that rate


def test_the_old_rate_makes_too_little_progress(linear):
    constant = sweep(SGD, (64, 512), "constant", seeds=(0, 1))
    assert not constant.failed.any()
    assert constant.losses[0].min() > 3 * linear.losses[:2].max()
    assert constant.losses[1].min() > 3 * constant.losses[0].max()


def test_square_root_scaling_for_adam():
    root, line = (sweep(ADAM, (256,), rule, seeds=(0, 1)) for rule in ("square root", "linear"))
    assert root.rates == pytest.approx([0.008 * 32**0.5])
    assert root.losses.max() < 0.1 and line.losses.min() > 3 * root.losses.max()


def test_a_kernel_that_uses_it_has_no_torch():
    script = """
import sys
import course_lib.exercises.chapter7_rates, course_lib.exercises.chapter8_accumulation
import course_lib.exercises.chapter8_ddp, course_lib.exercises.chapter8_torchrun
import course_lib.pictures.holdings, course_lib.pictures.precision, course_lib.pictures.profiles
import course_lib.training.agents, course_lib.training.clicks_table, course_lib.training.experiments
import course_lib.training.loading, course_lib.training.noise_scale, course_lib.training.pitfalls
from course_lib.training.mlm import mlm_worker
mlm_worker()
print({"torch", "matplotlib"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
