"""The masked-language model: the same global batch whatever K, losses weighted by tokens, and it learns."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from waiting import limit

from course_lib import RankError, launch
from course_lib.training.mlm import MlmConfig, mlm_worker, read_text
from course_lib.training.mlm.masking import held_out_samples, training_samples

TEXT = read_text()
SMALL = MlmConfig(context=16, layers=1, width=16, heads=2, global_batch=8, steps=6, evaluate_every=3)
# A learning rate that leaves no time to idle at the loss of who knows only frequencies.
CURVE = MlmConfig(
    context=16, layers=1, width=32, global_batch=16, steps=60, warmup=10, lr=0.01, dtype="float64"
)


# Text


def test_a_text_in_numbers_and_back():
    assert (len(TEXT.characters), TEXT.mask) == (69, 69)
    assert TEXT.decode(TEXT.training[:32]) == "ALICE'S ADVENTURES IN WONDERLAND"
    assert (TEXT.encode("Alice") == TEXT.training[np.arange(5)]).tolist() == [True] + [False] * 4
    assert TEXT.decode([*TEXT.encode("Al"), TEXT.mask]) == "Al_"
    assert abs(len(TEXT.held_out) / (len(TEXT.training) + len(TEXT.held_out)) - 0.1) < 1e-5
    with pytest.raises(ValueError, match="the text has no '\\+', 'é'"):
        TEXT.encode("é+a")
    with pytest.raises(ValueError, match="read-only"):
        TEXT.training[0] = 1


def test_the_loss_of_who_knows_only_frequencies(tmp_path):
    (tmp_path / "few.txt").write_text("aab" * 6 + "ac")  # the held-out part, a tenth of 20, is "ac"
    text = read_text(str(tmp_path / "few.txt"))
    p = np.array([12 + 1, 6 + 1, 0 + 1]) / 21
    assert text.unigram_loss() == pytest.approx(-np.log(p[[0, 2]]).mean())
    assert text.unigram_loss(text.training) == pytest.approx(-(12 * np.log(p[0]) + 6 * np.log(p[1])) / 18)


# Masking


def test_the_ranks_samples_are_the_one_process_s(subtests):
    whole = training_samples(TEXT, SMALL, 4, range(8))
    for ranks in (2, 4, 8):
        with subtests.test(ranks=ranks):
            parts = [training_samples(TEXT, SMALL, 4, SMALL.share(rank, ranks)) for rank in range(ranks)]
            for one, of_ranks in zip(whole, zip(*parts, strict=True), strict=True):
                assert (one == np.concatenate(of_ranks)).all()


def test_another_step_seed_or_number_is_another_sample():
    config = replace(SMALL, mask_share=0.5)
    samples = [training_samples(TEXT, config, step, [number]) for step in (0, 1) for number in (0, 1)]
    samples.append(training_samples(TEXT, replace(config, seed=1), 0, [0]))
    for field in ("targets", "chosen"):
        assert len({getattr(each, field).tobytes() for each in samples}) == 5


def test_what_is_masked():
    config = replace(SMALL, context=200, mask_share=0.15)
    inputs, targets, chosen = samples = training_samples(TEXT, config, 0, range(200))
    assert (inputs[chosen] == TEXT.mask).all() and (inputs[~chosen] == targets[~chosen]).all()
    assert TEXT.decode(targets[0]) in TEXT.decode(TEXT.training)
    assert samples.tokens == chosen.sum() == pytest.approx(0.15 * 200 * 200, rel=0.05)
    none = training_samples(TEXT, replace(SMALL, mask_share=0), 0, range(50))
    assert (none.chosen.sum(1) == 1).all() and len(set(none.chosen.argmax(1))) > 8  # one at least, anywhere


@given(ranks=st.integers(1, 9))
@example(ranks=902)  # their number
def test_held_out_samples_count_once(ranks):
    whole = held_out_samples(TEXT, SMALL)
    assert (whole.targets.ravel() == TEXT.held_out[: 902 * 16]).all() and len(TEXT.held_out) < 903 * 16
    parts = [held_out_samples(TEXT, SMALL, rank, ranks) for rank in range(ranks)]
    assert sum(part.tokens for part in parts) == whole.tokens
    for rank, part in enumerate(parts):
        assert all((one[rank::ranks] == mine).all() for one, mine in zip(whole, part, strict=True))


# Training


@pytest.fixture(scope="module")
def by_ranks():
    """K → results, a rank each: 60 updates in float64."""
    return {ranks: launch(mlm_worker(CURVE), ranks, threads=1, timeout=limit(400)).values for ranks in (1, 4)}


def test_the_loss_curve_is_that_of_one_process(by_ranks):
    (one,), several = by_ranks[1], by_ranks[4]
    assert len(one.losses) == 60 and one.losses[-1] < one.losses[0] - 0.5
    for result in several:
        assert result.losses == pytest.approx(one.losses, rel=1e-9)  # asked for: 1e-4
        assert [loss for _, loss in result.held_out] == pytest.approx(
            [loss for _, loss in one.held_out], 1e-9
        )
        assert result.examples == one.examples
    assert len({result.fingerprint for result in several}) == 1


def test_losses_are_means_over_tokens(by_ranks):
    """Before the first update: the reported loss from scratch, sum over tokens through number of tokens."""
    from course_lib.training.mlm.model import Encoder

    torch.manual_seed(CURVE.seed)
    inputs, targets, chosen = map(torch.tensor, training_samples(TEXT, CURVE, 0, range(16)))
    logits = Encoder(CURVE).double()(inputs, chosen)
    loss = torch.nn.functional.cross_entropy(logits, targets[chosen]).item()
    assert [by_ranks[ranks][0].losses[0] for ranks in (1, 4)] == pytest.approx([loss] * 2, rel=1e-12)


def test_c11_tokens_count_not_ranks():
    def worker(comm):
        from torch.nn.parallel import DistributedDataParallel

        from course_lib.training.mlm.loop import token_mean

        ddp = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
        gradients = []
        for loss in (lambda total, tokens: total / tokens, token_mean):
            ddp.zero_grad()
            total, tokens = [(6.0, 3), (1.0, 1)][comm.rank]
            loss(ddp(torch.ones(1, 1)).sum() * total, tokens).backward()
            gradients.append(ddp.module.weight.grad.item())
        return gradients

    assert launch(worker, 2).values == [[1.5, 1.75]] * 2


def test_it_learns_more_than_frequencies():
    """Held out, too; the unigram loss is 3.19, and 3.15 on the training part."""
    config = MlmConfig(context=16, layers=1, width=48, steps=300, lr=0.01, evaluate_every=150)
    (result,) = launch(mlm_worker(config), 1, threads=1, timeout=limit(400)).values
    assert result.unigram == pytest.approx(3.187, abs=1e-3)
    assert np.mean(result.losses[-50:]) < 0.75 * TEXT.unigram_loss(TEXT.training)
    assert result.held_out_loss < 0.75 * result.unigram
    for masked, guessed, original in result.examples:
        assert len(masked) == len(guessed) == len(original) == 16 and "_" in masked and "_" not in guessed
        assert all(
            m in ("_", o) and (m == "_" or g == o) for m, g, o in zip(masked, guessed, original, strict=True)
        )


def test_progress_is_shown_at_each_look():
    def watch(progress):
        parameters = sum(each.numel() for each in progress.model.parameters())
        return (
            progress.step,
            progress.rank,
            progress.size,
            progress.loss,
            progress.held_out_loss,
            parameters,
            torch.initial_seed(),
        )

    config = replace(SMALL, steps=7)
    for rank, result in enumerate(launch(mlm_worker(config, watch=watch), 2).values):
        assert [each[:3] for each in result.watched] == [(step, rank, 2) for step in (3, 6, 7)]
        assert [each[3] for each in result.watched] == [result.losses[step - 1] for step in (3, 6, 7)]
        assert [(each[0], each[4]) for each in result.watched] == list(result.held_out)
        assert result.watched[0][6] == 1 + rank  # noise of its own
        assert result.watched[0][5] == 128 * 17 + 16 * 16 + 12 * 16**2 + 13 * 16 + 2 * 16


def test_a_rank_without_held_out_windows(tmp_path):
    (tmp_path / "short.txt").write_text("the cat sat on the mat. " * 10)  # 24 held out: one window
    config = replace(SMALL, text=tmp_path / "short.txt")
    one, *rest = [launch(mlm_worker(config), ranks).values[0].held_out_loss for ranks in (1, 2)]
    assert rest == pytest.approx([one], rel=1e-4)


# Checkpoints


def test_it_goes_on_from_a_checkpoint_as_if_nothing_had_happened(tmp_path):
    config = replace(SMALL, dropout=0.2)

    def stop(progress):
        if progress.step == 3 and progress.rank == 1:
            raise KeyError("the accident")

    undisturbed = launch(mlm_worker(config), 2).values
    saving = replace(config, checkpoint=tmp_path)
    with pytest.raises(RankError, match="the accident"):
        launch(mlm_worker(saving, watch=stop), 2)
    resumed, again = (launch(mlm_worker(saving), 2).values for _ in range(2))
    for before, after, done in zip(undisturbed, resumed, again, strict=True):
        assert (after.first_step, done.first_step, done.losses) == (3, 6, ())
        assert after.fingerprint == done.fingerprint == before.fingerprint
        assert after.losses == before.losses[3:]
        assert after.held_out == before.held_out[1:] and done.held_out == before.held_out[-1:]
    with pytest.raises(RankError, match=r"another run, with lr=0.005 \(here 1.0\): choose another folder"):
        launch(mlm_worker(replace(saving, lr=1.0)), 2)
    with pytest.raises(RankError, match="written by 2 ranks, but this job has 1"):
        launch(mlm_worker(saving), 1)


# What cannot be


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        (
            {"vocabulary": 69},
            ValueError,
            "has 69 different characters: with .MASK. vocabulary must be at least 70",
        ),
        ({"text": "bob.txt"}, FileNotFoundError, "no data/bob.txt; there is: .*alice.txt"),
        ({"text": "/nowhere/bob.txt"}, FileNotFoundError, "/nowhere/bob.txt"),
        ({"text": 3}, TypeError, "text must be the path of a file; got 3"),
        ({"text": None}, TypeError, "text must be the path of a file; got None"),
        ({"text": ""}, TypeError, "text must be the path of a file; got ''"),
        ({"text": "digits.csv.gz"}, ValueError, "digits.csv.gz is no text in UTF-8"),
        ({"text": str(Path(__file__).parent)}, FileNotFoundError, "is a folder"),
        ({"checkpoint": ""}, TypeError, "checkpoint must be the path of a folder; got ''"),
        ({"checkpoint": 5}, TypeError, "checkpoint must be the path of a folder; got 5"),
        ({"seed": 2**64}, ValueError, "seed must be a whole number from 0 to"),
        ({"global_batch": -8}, ValueError, "global_batch must be a whole number of at least 1; got -8"),
        ({"width": -64}, ValueError, "width must be"),
        ({"layers": 0}, ValueError, "layers must be"),
        ({"heads": 2.0}, TypeError, "heads must be"),
        ({"context": -1}, ValueError, "context must be a whole number"),
        ({"context": 20_000}, ValueError, "context must be at most 144"),
        ({"steps": 0}, ValueError, "steps must be"),
        ({"evaluate_every": 0}, ValueError, "evaluate_every must be"),
        ({"warmup": -1}, ValueError, "warmup must be"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"lr": 0}, ValueError, "lr must be"),
        ({"lr": float("nan")}, ValueError, "lr must be"),
        ({"mask_share": 1}, ValueError, "mask_share must be a share from 0 to below 1; got 1"),
        ({"mask_share": -0.1}, ValueError, "mask_share must be"),
        ({"dropout": 1.5}, ValueError, "dropout must be"),
        ({"width": 66}, ValueError, "heads must divide width; got heads=4, width=66"),
        ({"dtype": "float16"}, ValueError, "dtype must be one of 'float32', 'float64'"),
    ],
)
def test_bad_settings(setting, error, message):
    with pytest.raises(error, match=message):
        MlmConfig(**setting)


def test_ranks_that_do_not_divide_the_batch():
    with pytest.raises(ValueError, match="multiple of the number of ranks.*global_batch=8 for 3 ranks"):
        SMALL.share(0, 3)
    with pytest.raises(RankError, match="ValueError: global_batch must be a multiple.*8 for 3 ranks"):
        launch(mlm_worker(SMALL), 3)


def test_bad_workers():
    with pytest.raises(TypeError, match="config must be an MlmConfig; got 3"):
        mlm_worker(3)
    with pytest.raises(TypeError, match="watch must be a function or None; got 'loss'"):
        mlm_worker(SMALL, watch="loss")
    with pytest.raises(FrozenInstanceError):
        SMALL.seed = 3
