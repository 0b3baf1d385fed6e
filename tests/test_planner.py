"""The planner: the papers' figures, PyTorch's own layers counted, limits, and bad input."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib import Link, laws
from course_lib.planner import (
    GPUS,
    MODELS,
    OPTIMISERS,
    PRECISIONS,
    RECOMPUTE,
    STRATEGIES,
    Job,
    Model,
    activation_bytes,
    memory,
    plan,
    sent_bytes,
    step,
    transformer,
)

WITHOUT_COST = Link(0.0, math.inf)


def gigabytes(model, **settings):
    return plan(model, **settings).memory.states / 1e9


# --- memory


@pytest.mark.parametrize("ranks", [1, 1024])
def test_7b_does_not_fit_under_ddp_whatever_k(ranks):
    planned = plan("7B", ranks=ranks, strategy="ddp", recompute="all")
    assert planned.memory.states == 112e9
    assert not planned.fits and planned.largest == "optimiser"
    assert "does not fit; the largest part is optimiser state" in repr(planned)


@pytest.mark.parametrize(
    ("model", "ranks", "precision", "states"),
    [
        ("7B", 8, "mixed", (112, 38.5, 26.25, 14.0)),
        ("7B", 8, "autocast", (112, 63, 38.5, 14.0)),
        ("7.5B", 64, "mixed", (120, 31.4, 16.6, 1.9)),
    ],
)
def test_zero_cuts_the_states(model, ranks, precision, states):
    got = [gigabytes(model, ranks=ranks, precision=precision, strategy=each) for each in STRATEGIES]
    assert got == pytest.approx(states, abs=0.05)


def test_autocast_computes_in_16_bits_and_sends_32():
    narrow, wide = (plan("7B", precision=each) for each in ("mixed", "autocast"))
    assert wide.step.compute == narrow.step.compute and wide.memory.activations == narrow.memory.activations
    assert sent_bytes(wide.job) == 2 * sent_bytes(narrow.job) == 2 * 7 / 8 * 28e9


@pytest.mark.parametrize(
    ("precision", "optimiser", "expected"),
    [
        ("fp32", "sgd", 56),
        ("bf16", "sgd", 28),
        ("mixed", "adam", 112),
        ("fp32", "adam", 112),
        ("autocast", "adam", 112),
        ("autocast", "sgd", 56),
        ("bf16", "adam", 56),
        ("mixed", "sgd", 56),
        ("fp32", "momentum", 84),
        ("mixed", "momentum", 84),
        ("bf16", "momentum", 42),
    ],
)
def test_bytes_a_parameter(precision, optimiser, expected):
    assert gigabytes("7B", precision=precision, optimiser=optimiser) == expected


def test_without_optimiser_state_it_fits():
    planned = plan("7B", precision="bf16", optimiser="sgd", recompute="all")
    assert planned.fits and "It fits." in repr(planned)
    assert dataclasses.replace(planned.memory, activations=80e9).largest == "activations"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_on_one_gpu_the_stages_are_ddp(strategy):
    ddp, planned = plan("7B", ranks=1), plan("7B", ranks=1, strategy=strategy)
    assert planned.memory == ddp.memory
    assert planned.step == ddp.step and planned.step.communication == 0


JOBS = {
    "ranks": st.integers(1, 10**5),
    "precision": st.sampled_from(PRECISIONS),
    "optimiser": st.sampled_from(OPTIMISERS),
    "recompute": st.sampled_from(RECOMPUTE),
    "overlap": st.floats(0, 1),
}


@given(st.fixed_dictionaries(JOBS))
def test_each_stage_saves_stage_3_cuts_all_and_parts_add_up(job):
    plans = [plan("13B", strategy=strategy, **job) for strategy in STRATEGIES]
    states = [planned.memory.states for planned in plans]
    assert states == sorted(states, reverse=True)
    assert states[3] == pytest.approx(states[0] / job["ranks"])
    for planned in plans:
        got = step(planned.job)
        assert got == planned.step
        assert 0 <= got.hidden <= got.communication
        assert got.seconds == pytest.approx(got.forward + got.backward + got.communication - got.hidden)
        assert planned.memory.total == pytest.approx(planned.memory.states + planned.memory.activations)


def test_what_is_just_small_enough_fits():
    job = plan("7B").job
    needed = memory(job).total
    gpus = [dataclasses.replace(job.gpu, memory=capacity) for capacity in (needed, math.nextafter(needed, 0))]
    assert [plan("7B", gpu=gpu).fits for gpu in gpus] == [True, False]


# --- a model's size and activations, counted in PyTorch's own layers


@pytest.mark.parametrize(("layers", "width", "heads"), [(1, 32, 2), (3, 64, 4)])
def test_parameters_are_those_of_pytorchs_layers(layers, width, heads):
    vocabulary, positions = 50, 16
    parts = [nn.TransformerEncoderLayer(width, heads, 4 * width) for _ in range(layers)]
    parts += [nn.Embedding(vocabulary, width), nn.Embedding(positions, width)]
    counted = sum(parameter.numel() for part in parts for parameter in part.parameters())
    assert transformer(layers, width, vocabulary, positions).parameters == counted


def test_adams_state_is_what_pytorch_keeps():
    layer = nn.Linear(30, 40)
    layer(torch.ones(30)).sum().backward()
    optimiser = torch.optim.Adam(layer.parameters())
    optimiser.step()
    kept = sum(state[name].nbytes for state in optimiser.state.values() for name in ("exp_avg", "exp_avg_sq"))
    planned = memory(Job(Model(30 * 40 + 40, 1, 1), precision="fp32"))
    assert planned.optimiser == kept
    assert planned.gradients == sum(parameter.grad.nbytes for parameter in layer.parameters())


def test_activations_are_those_that_pytorch_saves():
    sequence, batch, width, heads = 128, 2, 128, 4
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True)
    own = {parameter.data_ptr() for parameter in layer.parameters()}
    saved = {}

    def note(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes(), tensor
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor),
        sdpa_kernel(SDPBackend.FLASH_ATTENTION),
    ):
        out = layer(torch.ones(batch, sequence, width, requires_grad=True))
    counted = sum(nbytes for place, (nbytes, _) in saved.items() if place not in own)
    model, sizes = Model(1, 1, width, width // heads), {"batch": batch, "sequence": sequence}
    job = Job(model, precision="fp32", recompute="attention", **sizes)
    masks = 2 * sequence * batch * width  # of dropout, which the layer here does without
    assert out.requires_grad
    assert activation_bytes(job) - masks == pytest.approx(counted, rel=0.01)


@pytest.mark.parametrize(
    ("settings", "bytes_a_unit"),
    [
        ({"recompute": "none"}, 34 + 80),
        ({"recompute": "attention"}, 34),
        ({"recompute": "all"}, 2),
        ({"batch": 3}, 3 * 114),
        ({"precision": "bf16"}, 114),
    ],
)
def test_activations_of_gpt3(settings, bytes_a_unit):
    """Korthikanti et al. 2022, section 4.1 and table 2: 5 a s / h = 80 for GPT-3."""
    assert activation_bytes(plan("GPT-3 175B", **settings).job) == 96 * 2048 * 12288 * bytes_a_unit


def test_attention_scores_go_with_heads_and_tokens():
    """2 bytes of softmax, 1 of its mask, 2 of its dropout for each pair of tokens in each head."""
    unit, heads = 48 * 1024 * 1600, 25
    job = plan("GPT-2 1.5B", sequence=1024).job
    assert activation_bytes(job) == unit * 34 + 48 * heads * 1024**2 * 5
    wide = plan("GPT-2 1.5B", sequence=1024, precision="fp32").job
    assert activation_bytes(wide) == unit * 66 + 48 * heads * 1024**2 * 9


def test_activations_do_not_depend_on_k():
    kept = {plan("7B", ranks=k, strategy=s).memory.activations for k in (1, 8, 64) for s in STRATEGIES}
    assert len(kept) == 1


@pytest.mark.parametrize("name", MODELS)
def test_presets_have_the_size_of_their_shape(name):
    model = MODELS[name]
    vocabulary, positions = (30522, 512) if name == "BERT-base" else (50257, 2048)
    counted = transformer(model.layers, model.width, vocabulary, positions).parameters
    assert model.parameters == pytest.approx(counted, rel=0.06)


# --- time


@pytest.mark.parametrize(("strategy", "multiple"), [("ddp", 2), ("zero1", 2), ("zero2", 2), ("zero3", 3)])
def test_communication_volume(strategy, multiple):
    """2, 2, 2, 3 times the weights' bytes: Rajbhandari et al. 2020, section 7."""
    job = plan("7B", ranks=10**6, strategy=strategy).job
    assert sent_bytes(job) == pytest.approx(multiple * 14e9, rel=1e-5)
    assert sent_bytes(plan("7B", ranks=8, strategy=strategy).job) == multiple * 7 / 8 * 14e9
    assert sent_bytes(plan("7B", ranks=8, strategy=strategy, precision="fp32").job) == multiple * 7 / 8 * 28e9


@pytest.mark.parametrize(("bandwidth", "milliseconds"), [(450e9, 54), (300e9, 82), (12.5e9, 1960)])
def test_ddps_ring(bandwidth, milliseconds):
    link = Link(0.0, bandwidth)
    assert plan("7B", link=link).step.communication * 1000 == pytest.approx(milliseconds, rel=0.01)
    assert plan("7B", link=link, strategy="zero3").step.communication == pytest.approx(
        1.5 * laws.ring_time(14e9, 8, bandwidth)
    )


def test_compute_is_six_operations_a_parameter_and_token():
    got = plan("7B", batch=4, sequence=1024, utilisation=0.5).step
    assert got.compute == pytest.approx(6 * 7e9 * 4 * 1024 / (312e12 * 0.5))
    assert got.backward == pytest.approx(2 * got.forward)
    again = plan("7B", batch=4, sequence=1024, utilisation=0.5, recompute="all").step
    assert again.compute == pytest.approx(got.compute * 8 / 6)
    slow = plan("7B", batch=4, sequence=1024, utilisation=0.5, precision="fp32").step
    assert slow.compute / got.compute == pytest.approx(312 / 19.5)


def test_overlap():
    link = Link(0.0, 12.5e9)
    alone, half, most = (plan("7B", link=link, overlap=share).step for share in (0, 0.5, 1))
    assert alone.hidden == 0 and alone.seconds == alone.compute + alone.communication
    assert half.hidden == pytest.approx(half.backward / 2)  # backward is the window, and too short
    assert most.hidden == pytest.approx(most.backward)
    assert alone.seconds > half.seconds > most.seconds > most.communication
    assert plan("7B").step.exposed == 0 and plan("7B").step.efficiency == 1


def test_what_follows_the_update_cannot_hide():
    got = plan("7B", strategy="zero2").step
    assert got.exposed == pytest.approx(got.communication / 2)
    assert plan("7B", strategy="zero3").step.exposed == 0


def test_stage_3_hides_in_both_directions():
    got = plan("7B", strategy="zero3", link=Link(0.0, 12.5e9)).step
    assert got.hidden == pytest.approx(got.forward + got.backward)


def test_a_free_link_leaves_the_compute():
    assert all(plan("7B", strategy=s, link=WITHOUT_COST).step.efficiency == 1 for s in STRATEGIES)


# --- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "8B"}, "model must be one of 'BERT-base', "),
        ({"model": 7e9}, "model must be a Model; got 7000000000.0"),
        ({"gpu": "A100"}, "gpu must be one of 'T4 16 GB', "),
        ({"gpu": 80e9}, "gpu must be a GPU"),
        ({"link": 300e9}, "link must be a Link"),
        ({"ranks": 0}, "ranks must be a whole number of at least 1; got 0"),
        ({"ranks": 2.5}, "ranks must be a whole number"),
        ({"batch": 0}, "batch must be a whole number of at least 1"),
        ({"sequence": -1}, "sequence must be a whole number of at least 1"),
        ({"strategy": "zero4"}, "strategy must be one of 'ddp', 'zero1', 'zero2', 'zero3'; got 'zero4'"),
        ({"precision": "fp8"}, "precision must be one of 'fp32', 'autocast', 'mixed', 'bf16'"),
        ({"optimiser": "adamw"}, "optimiser must be one of 'sgd', 'momentum', 'adam'"),
        ({"recompute": True}, "recompute must be one of"),
        ({"overlap": 1.1}, "overlap must be at most 1; got 1.1"),
        ({"overlap": -0.1}, "overlap must be a finite number of at least 0"),
        ({"utilisation": 0}, "utilisation must be a finite number above 0"),
        ({"utilisation": math.nan}, "utilisation must be"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        plan(**{"model": "7B", **settings})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Model(7e9, 32.0, 4096), "layers must be a whole number"),
        (lambda: Model(0, 32, 4096), "parameters must be a finite number above 0"),
        (lambda: Model(math.inf, 32, 4096), "parameters must be"),
        (lambda: transformer(32, "wide"), "width must be a whole number"),
        (lambda: transformer(0, 4096), "layers must be"),
        (lambda: transformer(32, 4096, vocabulary=0), "vocabulary must be"),
        (lambda: dataclasses.replace(GPUS["A100 80 GB"], memory=-1), "memory must be"),
    ],
)
def test_impossible_models_and_gpus(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_numpys_whole_numbers_do_not_overflow():
    small, large = np.int8(100), np.int32(10**6)
    mine = plan(Model(np.int32(2 * 10**9), small, large, large), ranks=small, batch=small, sequence=large)
    assert mine == plan(Model(2 * 10**9, 100, 10**6, 10**6), ranks=100, batch=100, sequence=10**6)


@pytest.mark.parametrize(
    ("thing", "name"), [(plan("7B"), "job"), (plan("7B").job, "ranks"), (plan("7B").memory, "weights")]
)
def test_nothing_can_be_changed(thing, name):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, name, 1)
