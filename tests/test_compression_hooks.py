"""DDP hooks in real training: held against the NumPy versions on the same gradients, bucket by bucket."""

import numpy as np
import pytest
from waiting import limit

from course_lib import RankError, launch, simulate
from course_lib.compression import (
    BF16,
    FP16,
    ErrorFeedback,
    Int8,
    PowerSGD,
    Sign,
    TopK,
    fp16_ring_all_reduce,
    gather_all_reduce,
)

STEPS = 6
WIDTHS = (20, 30, 41, 27, 10)
FEEDBACK = {"sign": True, "top_k": False, "top_k_feedback": True, "int8": False, "int8_feedback": True}
COMPRESSORS = {
    "sign": Sign(),
    "top_k": TopK(0.2),
    "top_k_feedback": TopK(0.2),
    "int8": Int8(),
    "int8_feedback": Int8(),
}
NAMES = ("fp16", "bf16", *COMPRESSORS, "power_sgd", "power_sgd_forgetful")


def hook_of(name):
    """(state, hook): inside a rank only."""
    from course_lib.compression import hooks

    if name in ("fp16", "bf16"):
        return hooks.HookState(), getattr(hooks, f"{name}_hook")
    if name.startswith("power_sgd"):
        return hooks.PowerSGDState(2, seed=3, feedback=name == "power_sgd"), hooks.power_sgd_hook
    return hooks.GatherState(COMPRESSORS[name], feedback=FEEDBACK[name]), hooks.gather_hook


def network(bucket_mb):
    import torch

    torch.manual_seed(0)
    layers = []
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:], strict=False):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
    return torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=bucket_mb)


def train(comm, name, bucket_mb=0.001):
    """A few steps: each step's gradients before and after the hook, buckets, parameters, bytes."""
    import torch

    net, (state, hook) = network(bucket_mb), hook_of(name)
    names = {parameter: key for key, parameter in net.module.named_parameters()}
    local, mean, buckets = [{} for _ in range(STEPS)], [], [[] for _ in range(STEPS)]

    def watched(state, bucket):
        step = len(mean)
        keys = [names[parameter] for parameter in bucket.parameters()]
        buckets[step].append(keys)
        for key, gradient in zip(keys, bucket.gradients(), strict=True):
            local[step][key] = gradient.numpy().copy()
        return hook(state, bucket)

    net.register_comm_hook(state, watched)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.Generator().manual_seed(comm.rank)
    for _ in range(STEPS):
        x = torch.randn(8, WIDTHS[0], generator=data)
        optimiser.zero_grad()
        net(x).square().mean().backward()
        mean.append({names[p]: p.grad.numpy().copy() for p in net.parameters()})
        optimiser.step()
    parameters = {names[p]: p.detach().numpy().copy() for p in net.parameters()}
    sizes = state.gradient_bytes, state.payload_bytes, state.wire_bytes, state.ring_bytes
    return {"local": local, "mean": mean, "buckets": buckets, "parameters": parameters, "bytes": sizes}


@pytest.fixture(scope="module")
def trained():
    """name → what both ranks went through."""
    run = launch(lambda comm: {name: train(comm, name) for name in NAMES}, 2, timeout=limit(300))
    return {name: [values[name] for values in run.values] for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_several_buckets_that_are_rebuilt(trained, name):
    """Without that, the other tests here would prove little."""
    for rank in trained[name]:
        assert [len(buckets) for buckets in rank["buckets"]] == [1] + [4] * (STEPS - 1)


@pytest.mark.parametrize("name", NAMES)
def test_ranks_stay_equal_to_the_last_bit(trained, name):
    ours, theirs = trained[name]
    assert all((ours["parameters"][key] == theirs["parameters"][key]).all() for key in ours["parameters"])
    for one, other in zip(ours["local"], theirs["local"], strict=True):
        assert any((one[key] != other[key]).any() for key in one)  # they saw different data


def in_numpy(name, local):
    """Each step's mean gradients by the NumPy version; local: for each rank and step, key → gradient."""

    def worker(comm):
        kept, means = {}, []
        for gradients in local[comm.rank]:
            means.append({key: mean_of(comm, kept, key, gradients[key]) for key in sorted(gradients)})
        return means

    def mean_of(comm, kept, key, gradient):
        if name == "fp16":
            return fp16_ring_all_reduce(comm, gradient, "mean")
        if name == "bf16":
            halves = comm.all_reduce(BF16()(BF16()(gradient) / 2))
            return BF16()(halves)
        if name in COMPRESSORS:
            new = ErrorFeedback if FEEDBACK[name] else lambda compressor: compressor
            compressor = kept.setdefault(key, new(COMPRESSORS[name]))
            return gather_all_reduce(comm, gradient, compressor, "mean")
        if gradient.ndim == 2 and 2 * sum(gradient.shape) < gradient.size:
            compressor = kept.setdefault(key, PowerSGD(2, seed=3, feedback=name == "power_sgd"))
            return compressor.all_reduce(comm, gradient, "mean")
        return comm.all_reduce(gradient, "mean")

    return simulate(worker, len(local)).values[0]


@pytest.mark.parametrize("name", NAMES)
def test_hooks_do_what_the_numpy_versions_do(trained, name):
    """Bit for bit; PowerSGD to rounding, for its QR and products are other code."""
    ranks = trained[name]
    expected = in_numpy(name, [rank["local"] for rank in ranks])
    for step, (wanted, got) in enumerate(zip(expected, ranks[0]["mean"], strict=True)):
        for key, gradient in wanted.items():
            if name.startswith("power_sgd"):
                assert np.allclose(got[key], gradient, rtol=1e-3, atol=1e-5 * np.abs(gradient).max())
            else:
                assert (got[key] == gradient).all(), (step, key)


@pytest.mark.parametrize("name", NAMES)
def test_counted_bytes(trained, name):
    ranks = trained[name]
    gradient, payload, wire, ring = ranks[0]["bytes"]
    sizes = [array.shape for array in ranks[0]["parameters"].values()]
    numbers = sum(int(np.prod(shape)) for shape in sizes)
    assert gradient == ring == STEPS * 4 * numbers  # 2 (K - 1) / K = 1 for two ranks
    if name in ("fp16", "bf16"):
        each = [2 * np.prod(shape) for shape in sizes]
    elif name in COMPRESSORS:
        each = [COMPRESSORS[name].encode(np.ones(shape)).nbytes for shape in sizes]
    else:
        each = [4 * min(np.prod(shape), 2 * sum(shape) if len(shape) == 2 else np.inf) for shape in sizes]
    assert payload == wire == STEPS * sum(each)  # (K - 1) = 1 as well


@pytest.mark.parametrize("compressor", [Int8(), Sign(), TopK(0.2), TopK(1.0)])
@pytest.mark.parametrize("size", [1, 8, 9, 1000])
def test_tensors_make_the_same_payload(compressor, size, subtests):
    torch = pytest.importorskip("torch")
    from course_lib.compression.hooks.tensors import decode, encode

    for array in np.random.default_rng(size).normal(size=(5, size)), np.zeros((2, size)):
        with subtests.test(zero=not array.any()):
            array = array.astype(np.float32)
            payload = encode(compressor, torch.from_numpy(array))
            expected = compressor.encode(array)
            tied = isinstance(compressor, TopK) and not array.any()  # which of equal entries is free
            assert payload.numpy().tobytes() == expected.tobytes() or tied
            decoded = decode(compressor, payload, torch.Size(array.shape))
            assert decoded.dtype == torch.float32
            assert (decoded.numpy() == compressor.decode(expected, array.shape)).all()


def test_what_has_no_version_for_tensors_is_refused_at_once():
    pytest.importorskip("torch")
    from course_lib.compression.hooks import GatherState

    for compressor in (FP16(), ErrorFeedback(Int8()), "int8"):
        with pytest.raises(TypeError, match="must be an Int8, Sign or TopK"):
            GatherState(compressor)


@pytest.mark.parametrize("name", ["fp16", "int8", "top_k_feedback", "power_sgd"])
def test_a_gradient_that_is_not_finite_is_named(name):
    def worker(comm):
        import torch

        net, (state, hook) = network(bucket_mb=1), hook_of(name)
        net.register_comm_hook(state, hook)
        x = torch.ones(1, WIDTHS[0])
        net(x * (np.nan if comm.rank else 1)).sum().backward()

    with pytest.raises(RankError, match="a gradient must be finite") as caught:
        launch(worker, 2)
    assert caught.value.rank == 1


def test_pytorch_refuses_its_bf16_hook_without_nccl():
    from torch import distributed

    if distributed.is_nccl_available():
        pytest.skip("this build of PyTorch has NCCL")

    def worker(comm):
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

        network(bucket_mb=1).register_comm_hook(None, bf16_compress_hook)

    with pytest.raises(RankError, match="BF16 all reduce communication hook required"):
        launch(worker, 2)


def by_pytorchs_power_sgd(comm, bucket_mb):
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

    net = network(bucket_mb)
    net.register_comm_hook(PowerSGDState(None, start_powerSGD_iter=2), powerSGD_hook)
    for _ in range(STEPS):
        net(torch.ones(1, WIDTHS[0])).sum().backward()
    return True


def test_pytorchs_power_sgd_fails_with_several_buckets():
    """Why there is one of ours. Its callbacks start all-reduces, in another order on each rank, and wait for
    them, on the threads that these need: a mismatch or a deadlock.
    """
    assert launch(lambda comm: by_pytorchs_power_sgd(comm, bucket_mb=25), 2).values == [True, True]
    with pytest.raises(RankError) as caught:
        launch(lambda comm: by_pytorchs_power_sgd(comm, bucket_mb=0.001), 2, timeout=limit(10))
    assert caught.value.reason in ("timeout", "killed", "raised")
