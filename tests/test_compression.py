"""Compression in NumPy: what arrives, how many bytes it takes, feedback, and bad input."""

import re

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from course_lib import RankError, launch, laws, simulate
from course_lib import compression as library
from course_lib.compression import (
    BF16,
    FP16,
    METHODS,
    ErrorFeedback,
    Int8,
    Method,
    PowerSGD,
    Sign,
    TopK,
    fp16_ring_all_reduce,
    gather_all_reduce,
    measure_savings,
    requantised_ring_all_reduce,
    sent_bytes,
    three_functions,
    top_k,
)

COMPRESSORS = [FP16(), BF16(), Int8(), Sign(), TopK(0.2), TopK(1.0)]


def normal(*key, size=1000):
    return np.random.default_rng(key).normal(size=size).astype(np.float32)


# --- one array


@pytest.mark.parametrize(
    ("compressor", "nbytes"),
    [(FP16(), 2000), (BF16(), 2000), (Int8(), 1004), (Sign(), 129), (TopK(0.2), 1600), (TopK(1e-9), 8)],
)
def test_payload_bytes(compressor, nbytes):
    payload = compressor.encode(normal(0))
    assert payload.ndim == 1 and payload.nbytes == nbytes


@pytest.mark.parametrize("compressor", COMPRESSORS)
@given(array_shapes(min_dims=0), st.sampled_from([np.float64, np.float32, np.float16]))
def test_shape_and_dtype_come_back(compressor, shape, dtype):
    array = np.asarray(normal(1, size=shape), dtype)
    kept = array.copy()
    decoded = compressor.decode(compressor.encode(array), array.shape)
    assert decoded.dtype == np.float32 and decoded.shape == shape
    arrived = compressor(array)
    assert arrived.dtype == dtype and arrived.shape == shape
    assert np.array_equal(array, kept)


def test_half_precision_is_the_right_rounding():
    values = np.concatenate([normal(2, size=10**4), [0, -0.0, 1e-30, 65504, 1 + 2**-8, 1 + 3 * 2**-8]])
    values = values.astype(np.float32)
    assert np.array_equal(FP16()(values), torch.from_numpy(values).half().float().numpy())
    values = np.append(values, np.float32([3e38, 1e-40]))
    assert np.array_equal(BF16()(values), torch.from_numpy(values).bfloat16().float().numpy())


def test_int8_is_off_by_half_a_step_at_most():
    array = normal(3)
    arrived = Int8()(array)
    assert np.abs(arrived - array).max() <= np.abs(array).max() / 127 / 2 * (1 + 1e-5)
    assert arrived[np.abs(array).argmax()] == pytest.approx(array[np.abs(array).argmax()])


def test_sign_keeps_signs_and_mean_size():
    assert Sign()(np.array([3.0, -1.0, 0.0, -4.0])).tolist() == [2.0, -2.0, 2.0, -2.0]
    assert Sign()(np.full(10**5, 0.1, np.float32))[0] == np.float32(0.1)


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("value", [0.0, 1e-45, -1e-30])
def test_tiny_and_zero_arrays(compressor, value):
    with np.errstate(all="raise", under="ignore"):
        assert np.abs(compressor(np.full(9, value, np.float32))).max() <= abs(value)


def test_top_k():
    array = np.array([[1.0, -5.0, 2.0], [4.0, -3.0, 0.5]])
    assert top_k(array, 3).tolist() == [[0, -5, 0], [4, -3, 0]]
    assert np.array_equal(top_k(array, 6), array)
    assert top_k(np.array([1.0, -1.0, 1.0]), 2).tolist() == [1, -1, 0]  # ties: the first ones
    ones = np.flatnonzero(np.arange(1000) % 7 < 3)
    tied = np.isin(np.arange(1000), ones).astype(float) + 1  # ones and twos
    assert np.flatnonzero(top_k(tied, 300)).tolist() == ones[:300].tolist()
    assert np.array_equal(TopK(0.5)(array), top_k(array, 3))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_top_k_of_a_tensor_is_a_tensor(dtype):
    kept = top_k(torch.tensor([1.0, -3.0, 2.0], dtype=dtype), 1)
    assert kept.dtype == dtype and kept.tolist() == [0, -3, 0]


# --- error feedback


def test_feedback_sends_all_in_the_end():
    feedback = ErrorFeedback(lambda array: top_k(array, 1))
    sent = [feedback(np.array([1.0, 0.6])) for _ in range(2)]
    assert [array.tolist() for array in sent] == [[1, 0], [0, 1.2]]
    assert np.sum(sent, axis=0).tolist() == [1, 1.2]
    assert feedback.residual.tolist() == [1, 0]
    assert sum(top_k(np.array([1.0, 0.6]), 1) for _ in range(2)).tolist() == [2, 0]  # without it


@pytest.mark.parametrize(
    ("compressor", "dtype"), [*zip(COMPRESSORS, 2 * [np.float64, np.float32, np.float16], strict=True)]
)
def test_what_is_sent_and_what_is_kept_are_the_sum_of_gradients(compressor, dtype):
    feedback, by_payload = ErrorFeedback(compressor), ErrorFeedback(compressor)
    gradients = [normal(4, step, size=(5, 7)).astype(dtype) for step in range(20)]
    sent = [feedback(gradient) for gradient in gradients]
    assert feedback.residual.dtype == dtype
    tolerance = 0.1 if dtype == np.float16 else 1e-5
    assert np.allclose(np.sum(sent, axis=0) + feedback.residual, np.sum(gradients, axis=0), atol=tolerance)
    for gradient, one in zip(gradients, sent, strict=True):
        decoded = by_payload.decode(by_payload.encode(gradient), gradient.shape)
        assert np.allclose(decoded, one, rtol=1e-2 if dtype == np.float16 else 1e-6)


def test_feedback_keeps_a_residual_of_its_own():
    gradient, feedback = np.array([1.0, 0.6]), ErrorFeedback(lambda array: array * 0)
    feedback(gradient)
    gradient[:] = 9
    assert feedback.residual.tolist() == [1, 0.6]
    spoiled = ErrorFeedback(lambda array: array.__imul__(0))  # writes into what it is given
    spoiled(np.array([1.0, 0.6]))
    assert spoiled.residual.tolist() == [1, 0.6]


def test_feedback_takes_tensors():
    feedback = ErrorFeedback(lambda tensor: top_k(tensor, 1))
    sent = sum(feedback(torch.tensor([1.0, 0.6])) for _ in range(2))
    assert isinstance(sent, torch.Tensor) and sent.tolist() == pytest.approx([1, 1.2])
    by_payload = ErrorFeedback(Int8())
    by_payload.encode(torch.tensor([1.0, 0.6]))
    assert isinstance(by_payload.residual, torch.Tensor)


@pytest.mark.parametrize("second", [np.ones(4), np.ones((3, 1)), np.ones(3, np.float32)])
def test_one_feedback_for_each_parameter(second):
    feedback = ErrorFeedback(TopK(0.5))
    feedback(np.ones(3))
    kept = feedback.residual.copy()
    with pytest.raises(ValueError, match="one ErrorFeedback for each parameter"):
        feedback(second)
    assert np.array_equal(feedback.residual, kept)


# --- bad input

REFUSED = [
    (np.array([1, 2]), TypeError, "floating-point numbers; got array int64"),
    (np.array([1j]), TypeError, "floating-point"),
    (np.array([True]), TypeError, "floating-point"),
    ([1, 2], TypeError, "floating-point"),
    ("ab", TypeError, "got a str"),
    (None, TypeError, "got a NoneType"),
    (np.array([]), ValueError, "at least one number"),
    (np.zeros((0, 3)), ValueError, "at least one number"),
    (np.array([1, np.nan]), ValueError, "1 of 2 numbers are NaN or infinite"),
    (np.array([np.inf, -np.inf, 0]), ValueError, "2 of 3"),
]


@pytest.mark.parametrize(("array", "error", "message"), REFUSED)
def test_what_is_no_gradient_is_refused(array, error, message, subtests):
    calls = [lambda a: top_k(a, 1), ErrorFeedback(TopK(0.5)), ErrorFeedback(lambda a: a), PowerSGD(1).encode]
    calls += [method for compressor in COMPRESSORS for method in (compressor, compressor.encode)]
    for call in calls:
        with subtests.test(call=call), pytest.raises(error, match=message):
            call(array)


@pytest.mark.parametrize("all_reduce", [fp16_ring_all_reduce, gather_all_reduce, requantised_ring_all_reduce])
@pytest.mark.parametrize(("array", "error", "message"), [REFUSED[0], REFUSED[-1]])
def test_all_reduces_refuse_it_too(all_reduce, array, error, message):
    options = {} if all_reduce is fp16_ring_all_reduce else {"compressor": Int8()}
    with pytest.raises(RankError, match=message) as caught:
        simulate(lambda comm: all_reduce(comm, array, **options), 2)
    assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: top_k(np.ones(3), 0), "k must be a whole number from 1 to 3; got"),
        (lambda: top_k(np.ones(3), 4), "k must be a whole number from 1 to 3; got"),
        (lambda: top_k(np.ones(3), 1.0), "k must be"),
        (lambda: TopK(0), "density must be"),
        (lambda: TopK(1.01), "density must be"),
        (lambda: TopK(np.nan), "density must be"),
        (lambda: TopK("a"), "density must be"),
        (lambda: three_functions(0), "lr must be a finite number above 0"),
        (lambda: three_functions("fast"), "lr must be a finite number above 0"),
        (lambda: measure_savings(np.ones(3), ranks=()), "ranks must hold a number of ranks or more"),
        (lambda: measure_savings(np.ones(3), ranks=2), "ranks must hold a number of ranks or more"),
        (lambda: measure_savings(np.ones(3), ranks=(1,)), "ranks must be a whole number of at least 2"),
        (lambda: FP16().encode([7e4]), "70000 is too large for float16, which ends at 65504"),
        (lambda: FP16().encode([-65520.0]), "65520 is too large for float16"),
        (lambda: BF16().encode([3.4e38]), "is too large for bfloat16"),
        (lambda: Int8().encode([1e39]), "is too large for float32"),
        (lambda: TopK(1).encode([1e39]), "is too large for float32"),
        (lambda: PowerSGD(1)(np.full((2, 2), 1e300)), "is too large for float32"),
        (lambda: PowerSGD(1)(np.ones(3)), "takes a matrix"),
        (lambda: PowerSGD(3)(np.ones((2, 5))), "rank must be a whole number from 1 to 2; got 3"),
        (lambda: PowerSGD(0), "rank must be"),
        (lambda: ErrorFeedback(3), "compress must be a function"),
        (lambda: ErrorFeedback(lambda a: 1.0)(np.ones(3)), r"made array float64 \(\) of array .* \(3,\)"),
        (lambda: ErrorFeedback(lambda a: a[:1])(np.ones(3)), "shapes must be equal"),
        (lambda: ErrorFeedback(lambda a: a).encode(np.ones(3)), "only a Compressor"),
        (lambda: ErrorFeedback(lambda a: a * np.nan)(np.ones(3)), "must be finite"),
    ],
)
def test_bad_values(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    ("compressor", "array"),
    [(BF16(), np.array([65504], np.float16)), (Int8(), np.array([np.finfo(np.float32).max], np.float32))],
)
def test_what_arrives_is_never_infinite(compressor, array):
    with pytest.raises(ValueError, match="what arrives is too large for float"):
        compressor(array)


def test_a_sum_is_never_infinite():
    with pytest.raises(RankError, match="what arrives is too large for float32"):
        simulate(lambda comm: gather_all_reduce(comm, np.full(3, np.float32(3e38)), TopK(1)), 2)


def test_a_number_stays_an_array():
    for value in simulate(lambda comm: gather_all_reduce(comm, np.array(2.0), TopK(1), "mean"), 3).values:
        assert type(value) is np.ndarray and value.shape == () and value == 2


FORMATS = "compressor must be a number format, Int8, BF16 or FP16"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda comm, ones: gather_all_reduce(comm, ones, None), "one that makes payloads, .*got None"),
        (lambda comm, ones: requantised_ring_all_reduce(comm, ones, TopK(0.5)), FORMATS),
        (lambda comm, ones: requantised_ring_all_reduce(comm, ones, Sign()), FORMATS),
        (lambda comm, ones: requantised_ring_all_reduce(comm, ones, ErrorFeedback(Int8())), FORMATS),
        (lambda comm, ones: requantised_ring_all_reduce(comm, ones, Int8), FORMATS),
        (lambda comm, ones: fp16_ring_all_reduce(comm, ones, "max"), "op must be one of 'sum', 'mean'"),
        (lambda comm, ones: gather_all_reduce(comm, ones, Int8(), "max"), "op must be one of"),
        (lambda comm, ones: requantised_ring_all_reduce(comm, ones, Int8(), "max"), "op must be one of"),
        (lambda comm, ones: PowerSGD(1).all_reduce(comm, ones, "max"), "op must be one of"),
    ],
)
def test_bad_compressors_and_ops(call, message):
    with pytest.raises(RankError) as caught:
        simulate(lambda comm: call(comm, np.ones((3, 3))), 2)
    assert re.search(
        message, str(caught.value.__cause__)
    )  # the error itself quotes the line with the message


# --- all-reduces

ALL_REDUCES = {
    "fp16 ring": (lambda comm, array, op: fp16_ring_all_reduce(comm, array, op), 2**-10),
    "int8 gathered": (lambda comm, array, op: gather_all_reduce(comm, array, Int8(), op), 1 / 127),
    "bf16 gathered": (lambda comm, array, op: gather_all_reduce(comm, array, BF16(), op), 2**-7),
    "top-k, all of it": (lambda comm, array, op: gather_all_reduce(comm, array, TopK(1), op), 1e-6),
    "int8 ring": (lambda comm, array, op: requantised_ring_all_reduce(comm, array, Int8(), op), 1 / 127),
    "bf16 ring": (lambda comm, array, op: requantised_ring_all_reduce(comm, array, BF16(), op), 2**-7),
}


@pytest.mark.parametrize("name", ALL_REDUCES)
@settings(max_examples=settings().max_examples // 5)
@given(ranks=st.integers(1, 8), size=st.integers(1, 100), op=st.sampled_from(["sum", "mean"]))
@example(ranks=1, size=5, op="mean")
@example(ranks=8, size=3, op="sum")  # some ranks' chunks are empty
def test_values(name, ranks, size, op):
    all_reduce, error = ALL_REDUCES[name]
    inputs = np.array([normal(rank, size, size=size) for rank in range(ranks)])
    kept = inputs.copy()
    results = simulate(lambda comm: all_reduce(comm, inputs[comm.rank], op), ranks).values
    assert np.array_equal(inputs, kept)
    exact = inputs.sum(0) if op == "sum" else inputs.mean(0)
    # Each of at most K roundings is off by a part of the largest partial sum.
    bound = ranks * error * np.abs(inputs).sum(0).max() / (1 if op == "sum" else ranks)
    assert np.abs(results[0] - exact).max() <= bound
    assert len({result.tobytes() for result in results}) == 1
    assert results[0].dtype == np.float32 and results[0].shape == (size,)


def test_both_worlds_agree():
    """In all bits, and in what each rank sends to whom."""

    def worker(comm):
        feedback, power = ErrorFeedback(Sign()), PowerSGD(2)
        results = [
            all_reduce(comm, normal(comm.rank, size, size=size), "mean")
            for all_reduce, _ in ALL_REDUCES.values()
            for size in (1, 64)
        ]
        for step in range(3):
            matrix = normal(comm.rank, step, size=(6, 9))
            results += [gather_all_reduce(comm, matrix, feedback), power.all_reduce(comm, matrix)]
        results += [descend(comm, compressor, 30) for compressor in (TopK(1 / 3), ErrorFeedback(TopK(1 / 3)))]
        return [np.array(result).tobytes() for result in results]

    simulated, real = simulate(worker, 3), launch(worker, 3)
    assert simulated.values == real.values
    assert sent(simulated) == sent(real)


def sent(run):
    """What each rank sent, in order."""
    ranks = range(len(run.values))
    return [[(m.target, m.nbytes) for m in run.messages if m.source == rank] for rank in ranks]


def test_a_ring_of_fp16_payloads_is_the_fp16_ring():
    """To add in float32 and round is to add in float16: so one hop of a ring does the same either way."""

    def worker(comm):
        mine = FP16()(normal(comm.rank))
        return fp16_ring_all_reduce(comm, mine), requantised_ring_all_reduce(comm, mine, FP16())

    for ring, requantised in simulate(worker, 2).values:
        assert np.array_equal(ring, requantised)


def test_a_mean_does_not_overflow_where_a_sum_would():
    def worker(comm, op):
        return fp16_ring_all_reduce(comm, np.full(3, 4e4), op)

    assert simulate(lambda comm: worker(comm, "mean"), 4).values[0].tolist() == [4e4] * 3
    with pytest.raises(RankError, match="too large for float16"):
        simulate(lambda comm: worker(comm, "sum"), 4)


@pytest.mark.parametrize(
    "all_reduce",
    [
        lambda comm, tensor: fp16_ring_all_reduce(comm, tensor, "mean"),
        lambda comm, tensor: gather_all_reduce(comm, tensor, Int8(), "mean"),
        lambda comm, tensor: requantised_ring_all_reduce(comm, tensor, Int8(), "mean"),
        lambda comm, tensor: PowerSGD(1).all_reduce(comm, tensor, "mean"),
    ],
)
def test_all_reduces_give_back_what_they_got(all_reduce):
    tensor = torch.ones((2, 3), dtype=torch.float64)
    result = simulate(lambda comm: all_reduce(comm, tensor * (1 + comm.rank)), 2).values[0]
    assert result.dtype == tensor.dtype
    assert torch.allclose(result, 1.5 * tensor, rtol=1e-6)


# --- bytes


def test_wire_bytes_of_the_chapter():
    """Payload saved, and saved on the wire at K = 2, 4, 8, within a point."""
    savings = measure_savings(normal(5, size=8000))
    expected = {
        "fp16 ring": (50, 50, 50, 50),
        "int8 by all-gather": (75, 75, 50, 0),
        "int8 ring, requantised": (75, 75, 75, 75),
        "sign by all-gather": (97, 97, 94, 87.5),
        "top-k 20% by all-gather": (60, 60, 20, -60),
    }
    measured = {row.method: 100 * np.array([row.payload, *row.wire]) for row in savings.rows}
    assert measured == {method: pytest.approx(row, abs=1) for method, row in expected.items()}


def test_savings_are_counted_not_known():
    def wasteful(comm, array, op):
        gather_all_reduce(comm, array, Int8(), op)
        return gather_all_reduce(comm, array, Int8(), op)

    low_rank = Method(
        lambda array: PowerSGD(2).encode(array),
        lambda comm, array, op: PowerSGD(2).all_reduce(comm, array, op),
    )
    methods = {"twice": Method(Int8().encode, wasteful), "PowerSGD": low_rank}
    twice, power = measure_savings(normal(6, size=(100, 80)), methods, ranks=(2, 4)).rows
    assert twice.wire == pytest.approx((0.5, 0), abs=0.01)
    assert [power.payload, *power.wire] == pytest.approx([1 - 2 * 180 / 8000] * 3, abs=0.001)
    assert (power.payload_bytes, power.wire_bytes) == (4 * 360, (4 * 360, 4 * 360 * 3 // 2))


def test_savings_are_the_same_for_real():
    methods = {"int8": METHODS[list(METHODS)[1]]}
    simulated, real = (measure_savings(normal(7), methods, (3,), world) for world in (simulate, launch))
    assert simulated == real


def test_savings_print_as_a_table():
    lines = repr(measure_savings(normal(5, size=8000), ranks=(2, 8))).split("\n")
    assert lines[0].split() == ["saved", "payload", "wire,", "K", "=", "2", "wire,", "K", "=", "8"]
    assert lines[2].split()[-3:] == ["75%", "75%", "0%"] and lines[5].split()[-3:] == ["60%", "60%", "-60%"]
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_laws_are_what_is_counted(ranks, subtests):
    array = normal(8, size=840 * 2)  # divides by every K here

    def counted(all_reduce):
        return sent_bytes(simulate(all_reduce, ranks))

    for compressor in COMPRESSORS:
        with subtests.test(compressor=compressor):
            sent = counted(lambda comm, c=compressor: gather_all_reduce(comm, array, c))
            assert sent == laws.compressed_wire_bytes(compressor.encode(array).nbytes, ranks, "all_gather")
    half = counted(lambda comm: fp16_ring_all_reduce(comm, array))
    assert half == pytest.approx(laws.compressed_wire_bytes(2 * array.size, ranks, "ring"))
    requantised = counted(lambda comm: requantised_ring_all_reduce(comm, array, Int8()))
    assert requantised == pytest.approx(laws.compressed_wire_bytes(array.size + 4 * ranks, ranks, "ring"))
    plain = counted(lambda comm: comm.all_reduce(array))
    assert 1 - half / plain == pytest.approx(laws.wire_saving(0.5, ranks, "ring"))
    gathered = counted(lambda comm: gather_all_reduce(comm, array, TopK(0.2)))
    assert 1 - gathered / plain == pytest.approx(laws.wire_saving(0.4, ranks, "all_gather"))


@pytest.mark.parametrize("factor", [0.98, 1.02])
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_break_even_density_is_where_top_k_stops_to_pay(ranks, factor):
    array = normal(9, size=8400)
    plain = sent_bytes(simulate(lambda comm: comm.all_reduce(array), ranks))
    density = laws.break_even_density(ranks)
    assert density == pytest.approx(1 / ranks)
    sent = sent_bytes(simulate(lambda comm: gather_all_reduce(comm, array, TopK(density * factor)), ranks))
    assert (sent < plain) == (factor < 1)


def test_laws_known_values():
    assert laws.wire_saving(0.25, [2, 4, 8], "all_gather").tolist() == [0.75, 0.5, 0.0]
    assert laws.compressed_wire_bytes(100, 1, "all_gather") == laws.compressed_wire_bytes(100, 1) == 0
    assert laws.break_even_density(2, entry_bytes=3) == 1  # never above


@pytest.mark.parametrize(
    ("law", "arguments", "message"),
    [
        (laws.compressed_wire_bytes, (1, 2, "tree"), "collective must be one of ring, all_gather"),
        (laws.compressed_wire_bytes, (-1, 2), "payload must be"),
        (laws.wire_saving, (0.5, 1), "ranks must be a whole number of at least 2"),
        (laws.break_even_density, (1,), "ranks must be"),
        (laws.break_even_density, (2, 0), "entry_bytes must be"),
    ],
)
def test_bad_input_of_laws(law, arguments, message):
    with pytest.raises(ValueError, match=message):
        law(*arguments)


# --- PowerSGD


def low_rank_matrix(rows, columns, rank, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))


def test_power_sgd_finds_a_matrix_of_low_rank():
    matrix = low_rank_matrix(30, 20, 2, seed=0)
    assert np.allclose(PowerSGD(2)(matrix), matrix, rtol=1e-3, atol=1e-4)
    assert np.linalg.matrix_rank(PowerSGD(1)(matrix), tol=1e-4) == 1


def test_warm_start_comes_to_the_best_approximation():
    """Calls on the same matrix are power iteration: towards the largest singular values."""
    matrix, power = normal(10, size=(30, 20)), PowerSGD(2)
    singular = np.linalg.svd(matrix, compute_uv=False)
    best = np.sqrt((singular[2:] ** 2).sum())
    off = [np.linalg.norm(matrix - power(matrix)) / best for _ in range(60)]
    assert off[0] > 1.05 and off[-1] == pytest.approx(1, abs=1e-3)


def test_power_sgd_of_the_mean():
    """K ranks get what one would make of the mean matrix; what is kept and sent add up to the gradients."""
    steps, ranks = 30, 3
    gradients = [[normal(rank, step, size=(8, 6)) for step in range(steps)] for rank in range(ranks)]

    def worker(comm, feedback):
        power = PowerSGD(2, feedback=feedback)
        return [power.all_reduce(comm, g, "mean") for g in gradients[comm.rank]], power.residual

    alone = PowerSGD(2)
    sent = [means for means, _ in simulate(lambda comm: worker(comm, False), ranks).values]
    for step, means in enumerate(zip(*sent, strict=True)):
        exact = np.mean([gradients[rank][step] for rank in range(ranks)], axis=0)
        assert np.allclose(means[0], alone(exact), atol=1e-4)
        assert len({mean.tobytes() for mean in means}) == 1
    (means, _), *_ = values = simulate(lambda comm: worker(comm, True), ranks).values
    kept = np.mean([residual for _, residual in values], axis=0)
    assert np.allclose(np.sum(means, axis=0) + kept, np.mean(np.sum(gradients, axis=1), axis=0), atol=1e-4)
    assert np.linalg.norm(kept) > 0.1


def test_power_sgd_recovers_from_a_first_gradient_of_zeros():
    power, matrix = PowerSGD(1), np.zeros((5, 4))
    assert not power(matrix).any()
    matrix[3, 2] = 1
    assert np.allclose(power(matrix), matrix, atol=1e-6)


def test_power_sgd_of_zeros_is_zero_at_first_and_later():
    def worker(comm):
        power, zeros = PowerSGD(1), np.zeros((5, 4))
        return [power.all_reduce(comm, array) for array in (zeros, np.ones((5, 4)), zeros)]

    first, ones, last = simulate(worker, 3).values[1]
    assert not first.any() and np.allclose(ones, 3) and np.allclose(last, 0, atol=1e-5)


def test_power_sgd_is_of_one_shape_and_finite():
    with pytest.raises(RankError, match="too large"):
        simulate(lambda comm: PowerSGD(1).all_reduce(comm, np.full((2, 2), 3e38)), 2)
    power = PowerSGD(1)
    power(np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"matrices of shape \(2, 5\); got \(5, 2\)"):
        power(np.ones((5, 2)))


# --- why error feedback is needed


def descend(comm, compressor, steps):
    """How far a rank's parameters are from the minimum after each step."""
    example = three_functions()
    x, path = example.start, []
    for _ in range(steps):
        mean = gather_all_reduce(comm, example.gradients[comm.rank](x), compressor, "mean")
        x = x - example.lr * mean
        path.append(np.linalg.norm(x))
    return path


def test_three_functions_diverge_without_feedback():
    growth = three_functions().growth()
    assert growth == pytest.approx(1 + 11 * 0.02 / 6)
    path = simulate(lambda comm: descend(comm, TopK(1 / 3), 100), 3).values[0]
    assert path == pytest.approx(np.sqrt(3) * growth ** np.arange(1, 101), rel=1e-4)


@pytest.mark.parametrize(
    ("new_compressor", "end"), [(lambda: ErrorFeedback(TopK(1 / 3)), 8.6e-7), (lambda: TopK(1.0), 1.2e-6)]
)
def test_three_functions_converge_with_feedback_and_uncompressed(new_compressor, end):
    path = simulate(lambda comm: descend(comm, new_compressor(), 600), 3).values[0]
    assert path[-1] == pytest.approx(end, rel=0.02)


def test_gradients_of_the_three_functions():
    example, x, h = three_functions(), np.array([0.3, -1.2, 0.7]), 1e-6
    slope = [(example.loss(x + h * e) - example.loss(x - h * e)) / (2 * h) for e in np.eye(3)]
    assert np.allclose(np.mean([gradient(x) for gradient in example.gradients], axis=0), slope, atol=1e-6)


def test_public_names():
    assert set(library.__all__) <= set(dir(library)) and list(library.__all__) == sorted(library.__all__)
