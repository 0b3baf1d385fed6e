"""Checkers of chapter 9's exercises: memory of ZeRO's stages, weights of tokens, sparse gradients."""

from collections import Counter

import numpy as np

from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import (
    WORKER_COUNTS,
    checked,
    collectives,
    expect,
    expect_received,
    largest_message,
    real_array,
    run_attempt,
    workers,
)
from course_lib.labels import label
from course_lib.pictures.wording import bytes_text, number_text
from course_lib.planner import STRATEGIES, Job, Model, memory

MODELS = ((7e9, 8), (7.5e9, 64), (110e6, 1), (1.5e9, 3), (13e9, 7), (1e12, 16_384))  # parameters, GPUs
# Masked tokens of each micro-batch, a tuple a rank.
TOKENS = ((3, 1), (0, 2, 6), (5,), (), (4, 4, 4), (1,), (7, 2))
# Too many for float32 to count, and too many micro-batches to write down.
MANY_TOKENS = ((2_000_000_011, 1, 0), (5,) * 300, ())
# Rows of a table that a rank's batch has looked up, in that order.
ROWS = ((3, 7, 3), (7,), (), (0, 9, 7, 0, 0), (2,), (5, 3, 1), (3, 3, 3, 3))
WIDTHS = (1, 4)
FAR = 2**31 + 5  # what no int32 holds
FAR_ROWS = ((FAR, 7, FAR), (), tuple(range(0, 4000, 13)))
SHOWN = 12  # numbers of a list


@exercise("9.1")
def check_states(states):
    """Exercise 9.1: states(parameters, ranks, stage) → bytes on each GPU, without activations."""
    return checked(lambda: _states(_function(states)), label("ch9_states_passed"))


@exercise("9.2")
def check_token_factors(token_factors):
    """Exercise 9.2: token_factors(comm, tokens) → a factor for the mean loss of each micro-batch."""
    return checked(lambda: _factors(_function(token_factors)), label("ch9_factors_passed"))


@exercise("9.3")
def check_sparse_mean(sparse_mean):
    """Exercise 9.3: sparse_mean(comm, rows, values) → (rows, mean), only of rows that were touched."""
    return checked(lambda: _sparse(_function(sparse_mean)), label("ch9_sparse_passed"))


def _function(attempt):
    expect_function(workers(1), attempt)
    return attempt


# --- memory


def _states(states):
    for parameters, ranks in MODELS:
        wanted = [_states_of(parameters, ranks, stage) for stage in range(4)]
        for stage in range(4):
            _expect_states(states, wanted, stage, parameters, ranks)


def _expect_states(states, wanted, stage, parameters, ranks):
    words = {"size": number_text(parameters / 1e9), "ranks": ranks}
    case = label("ch9_states_case", strategy=label(f"planner_{STRATEGIES[stage]}"), **words)
    run = run_attempt(case, lambda comm: states(parameters, ranks, stage), 1)
    value = _number(case, run.values[0])
    if not np.isclose(value, wanted[stage], rtol=1e-6):
        why = _wrong_states(value, wanted, stage, parameters, ranks)
        expect(False, case, label("ch9_states_wrong", value=_size(value), why=why))


def _states_of(parameters, ranks, stage):
    job = Job(Model(parameters, 1, 1), ranks=ranks, strategy=STRATEGIES[stage])
    return memory(job).states


def _size(value):
    return bytes_text(value) if value >= 1 else number_text(value)


def _wrong_states(value, wanted, stage, parameters, ranks):
    """Why this is not wanted[stage]: the first slip that explains it."""
    nbytes = wanted[stage]
    for unit in (1e9, 2**30):
        if np.isclose(value, nbytes / unit, rtol=1e-6):
            return label("ch9_states_unit")
    cut = [(), (12,), (12, 2), (12, 2, 2)][stage]

    def with_widths(weight, gradient, optimiser):
        parts = [optimiser, gradient, weight]
        return parameters * sum(part / (ranks if place < len(cut) else 1) for place, part in enumerate(parts))

    slips = {
        "no_master": with_widths(2, 2, 8),
        "one_moment": with_widths(2, 2, 8 - 4 + 4),
        "no_moments": with_widths(2, 2, 4),
        "wide_gradient": with_widths(2, 4, 12),
        "no_gradient": with_widths(2, 0, 12),
        "all_wide": with_widths(4, 4, 8),
        "all_wide_and_master": with_widths(4, 4, 12),
    }
    if ranks > 1:
        for other, size in enumerate(wanted):
            if np.isclose(value, size, rtol=1e-6):
                key = "ch9_states_cut" if stage == 0 else "ch9_states_stage"
                return label(key, other=label(f"planner_{STRATEGIES[other]}"))
        one_16_bit_part = parameters * (2 / ranks + 2 + 12)
        slips["gradients_first" if stage == 1 else "only_one"] = one_16_bit_part
    name = next((name for name, size in slips.items() if np.isclose(value, size, rtol=1e-6)), "unknown")
    return label(f"ch9_states_{name}", each=number_text(value / parameters))


# --- tokens


def _factors(token_factors):
    for tokens in (*(TOKENS[:ranks] for ranks in WORKER_COUNTS), MANY_TOKENS):
        ranks = len(tokens)
        case = label("ch9_factors_case", workers=workers(ranks), tokens=" | ".join(map(_listed, tokens)))
        _expect_factors(case, token_factors, tokens, sum(map(sum, tokens)))


def _expect_factors(case, token_factors, tokens, total):
    def worker(comm):
        mine = np.array(tokens[comm.rank], dtype=np.int64)
        value = token_factors(comm, mine)
        expect(mine.tolist() == list(tokens[comm.rank]), case, label("ch9_factors_changed"))
        return value

    ranks = len(tokens)
    run = run_attempt(case, worker, ranks)
    for rank, value in enumerate(run.values):
        mine = np.array(tokens[rank], float)
        value = _factors_of(case, rank, value, mine.shape)
        if not np.allclose(value, ranks * mine / total, rtol=1e-9, atol=1e-12):
            why = _wrong_factors(value, mine, total, ranks, len(tokens[rank]))
            expect(False, case, label("ch9_factors_wrong", rank=rank, value=_listed(value), why=why))
    carried, rounds = largest_message(run), collectives(run)
    expect(carried <= 8, case, label("ch9_factors_bytes", carried=carried))
    expect(rounds <= 1, case, label("ch9_factors_rounds", rounds=rounds))


def _listed(numbers):
    shown = [f"{number:,}" if isinstance(number, int | np.integer) else f"{number:.4g}" for number in numbers]
    return "[" + ", ".join(shown[:SHOWN] + ["…"] * (len(shown) > SHOWN)) + "]"


def _factors_of(case, rank, value, shape):
    array = real_array(value)
    expect(array is not None, case, label("ch9_factors_kind", rank=rank, kind=type(value).__name__))
    right = array.shape == shape
    expect(right, case, label("ch9_factors_shape", rank=rank, got=array.shape, shape=shape))
    array = np.asarray(array, float)
    expect(np.isfinite(array).all(), case, label("ch9_factors_finite", rank=rank))
    return array


def _wrong_factors(value, mine, total, ranks, count):
    own = max(mine.sum(), 1)
    slips = {
        "alike": np.full(count, 1 / max(count, 1)),
        "one": np.ones(count),
        "own": mine / own,
        "no_ranks": mine / total,
        "sum": np.full(count, ranks / total),
        "plain_tokens": mine,
        "twice": ranks**2 * mine / total,
    }
    name = next((name for name, slip in slips.items() if np.allclose(value, slip)), "unknown")
    return label(f"ch9_factors_{name}", ranks=ranks)


# --- sparse gradients


def _sparse(sparse_mean):
    for ranks in WORKER_COUNTS:
        for width in WIDTHS:
            case = label("ch9_sparse_case", workers=workers(ranks), width=width)
            _expect_sparse(case, sparse_mean, *_inputs(ROWS[:ranks], width))
    case = label("ch9_sparse_case", workers=workers(len(FAR_ROWS)), width=1)
    _expect_sparse(case, sparse_mean, *_inputs(FAR_ROWS, 1))


def _inputs(rows, width):
    """(rows, values), a list each, an array a rank."""
    rows = [np.array(each, np.int64) for each in rows]
    rng = np.random.default_rng([len(rows), width])
    return rows, [rng.normal(size=(len(each), width)).astype(np.float32) for each in rows]


def _expect_sparse(case, sparse_mean, rows, values):
    def worker(comm):
        mine = rows[comm.rank].copy(), values[comm.rank].copy()
        result = sparse_mean(comm, *mine)
        same = np.array_equal(mine[0], rows[comm.rank]) and np.array_equal(mine[1], values[comm.rank])
        expect(same, case, label("ch9_sparse_changed"))
        if isinstance(result, tuple | list) and all(value is None or value is Ellipsis for value in result):
            raise NotImplementedError
        return result

    run = run_attempt(case, worker, len(rows))
    touched = np.unique(np.concatenate(rows))
    sums = np.zeros((len(touched), values[0].shape[1]))
    np.add.at(sums, np.searchsorted(touched, np.concatenate(rows)), np.concatenate(values))
    pairs = [_pair(case, rank, result) for rank, result in enumerate(run.values)]
    for rank, (got, mean) in enumerate(pairs):
        _expect_rows(case, rank, got, rows, touched)
        right = mean.shape == sums.shape
        expect(right, case, label("ch9_sparse_shape", rank=rank, got=mean.shape, shape=sums.shape))
        if not np.allclose(mean, sums / len(rows), rtol=1e-5, atol=1e-6):
            why = label(f"ch9_sparse_{_wrong_mean(mean, rows, values, touched, sums, rank)}")
            expect(False, case, label("ch9_sparse_wrong", rank=rank, why=why))
    same = all(np.array_equal(mean, pairs[0][1]) for _, mean in pairs)
    expect(same, case, label("ch9_sparse_bits"))
    _expect_traffic(case, run, rows, values)


def _pair(case, rank, result):
    pair = isinstance(result, tuple | list) and len(result) == 2
    expect(pair, case, label("ch9_sparse_pair", rank=rank, kind=type(result).__name__))
    arrays = [real_array(value) for value in result]
    for value, array in zip(result, arrays, strict=True):
        expect(array is not None, case, label("ch9_sparse_kind", rank=rank, kind=type(value).__name__))
    return arrays


def _expect_rows(case, rank, got, rows, touched):
    if np.array_equal(got, touched):
        return
    words = {"rank": rank, "got": _listed(np.ravel(got)), "rows": _listed(touched)}
    key = "ch9_sparse_rows"
    if got.ndim == 1 and len(np.unique(got)) < len(got):
        key = "ch9_sparse_repeated"
    elif np.array_equal(np.sort(np.ravel(got)), touched):
        key = "ch9_sparse_order"
    elif np.array_equal(got, np.unique(rows[rank])):
        key = "ch9_sparse_own_rows"
    elif touched[-1] == FAR and not np.isin(got, touched).all():
        key = "ch9_sparse_narrow"
    expect(False, case, label(key, **words))


def _wrong_mean(mean, rows, values, touched, sums, rank):
    ranks, everyone, all_values = len(rows), np.concatenate(rows), np.concatenate(values)
    holders = np.sum([np.isin(touched, each) for each in rows], axis=0)[:, None]
    last, once = np.zeros_like(sums), np.zeros_like(sums)
    last[np.searchsorted(touched, everyone)] = all_values
    for each, value in zip(rows, values, strict=True):
        mine = np.zeros_like(sums)
        mine[np.searchsorted(touched, each)] = value
        once += mine
    own = np.zeros_like(sums)
    np.add.at(own, np.searchsorted(touched, rows[rank]), values[rank])
    slips = {
        "sum": sums,
        "holders": sums / holders,
        "last": last,
        "last_mean": last / ranks,
        "once": once / ranks,
        "own": own,
        "own_share": own / ranks,
        "count": sums / np.bincount(np.searchsorted(touched, everyone))[:, None],
    }
    return next((name for name, slip in slips.items() if np.allclose(mean, slip, atol=1e-6)), "unknown")


def _expect_traffic(case, run, rows, values):
    """No table, no row twice: at most every rank's distinct rows to every other, 8 bytes for each place."""
    expect(collectives(run) == 0, case, label("ch9_sparse_collective"))
    expect_received(case, run.messages)
    others, entry = len(rows) - 1, 8 + 4 * values[0].shape[1]
    most = others * entry * sum(len(np.unique(each)) for each in rows)
    nbytes = sum(message.nbytes for message in run.messages)
    repeated = others * entry * sum(map(len, rows))
    key = "ch9_sparse_twice" if nbytes <= repeated else "ch9_sparse_bytes"
    if _sent_as_float64(run, rows, values):
        key = "ch9_sparse_wide"
    expect(nbytes <= most, case, label(key, nbytes=nbytes, most=most))


def _sent_as_float64(run, rows, values):
    """Whether every rank's places and float64 numbers were gathered, rows distinct or not."""
    sizes = Counter(message.nbytes for message in run.messages)
    width = values[0].shape[1]
    for counts in ([len(np.unique(each)) for each in rows], [len(each) for each in rows]):
        parts = [8 * count * numbers for count in counts for numbers in (1, width)]
        if sizes == Counter(parts * (len(rows) - 1)):
            return True
    return False


def _number(case, value):
    array = real_array(value)
    good = array is not None and array.size == 1 and np.isfinite(array).all()
    expect(good, case, label("ch9_states_number", value=repr(value)[:80]))
    return np.asarray(array, float).item()
