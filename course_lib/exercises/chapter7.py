"""Checkers of chapter 7's exercises."""

from functools import partial

import numpy as np

from course_lib.compression import top_k
from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import (
    WORKER_COUNTS,
    checked,
    expect,
    expect_numbers,
    real_array,
    run_attempt,
    workers,
)
from course_lib.labels import label

SIZES = ((6, 2), (6, 1), (5, 5), (100, 3))  # length of the gradient, k; the first one with these:
GRADIENT = np.array([1, -6, 2, 5, -1, 0.5], np.float32)  # so chosen that no two slips look the same
RESIDUAL = np.array([4, 3, -7.5, 1, 0.25, -3], np.float32)
FAR = (
    2,
    40_000,
    3,
)  # workers, length, k: places beyond 16 bits, and all numbers below TINY, the sent ones last
TINY = 1e-4
MOST_ENTRY_BYTES = 16  # int64 and float64; 8 are enough


@exercise("7.2")
def check_top_k_feedback(compressed_mean):
    """compressed_mean(comm, gradient, residual, k) → (mean, residual): top-k with error feedback.

    Each rank sends the k largest entries of gradient + residual, as indices and values; mean: of what all
    ranks sent, dense, on every rank; the new residual: what this rank did not send. Arrays are float32.
    """
    return checked(lambda: _top_k_feedback(compressed_mean), label("ch7_topk_passed"))


def _top_k_feedback(compressed_mean):
    expect_function(label("ch7_topk_function"), compressed_mean)
    cases = [(ranks, size, k) for ranks in WORKER_COUNTS for size, k in SIZES]
    for ranks, size, k in (*cases, FAR):
        case = label("ch7_topk_case", workers=workers(ranks), size=size, k=k)
        gradients, residuals = _inputs(ranks, size)
        _expect_step(case, compressed_mean, gradients, residuals, k)
        _expect_step(case, compressed_mean, gradients, 0 * residuals, k)


def _inputs(ranks, size):
    """Gradients and residuals: float32, (ranks, size) each."""
    if size == len(GRADIENT):
        rows = [np.roll([GRADIENT, RESIDUAL], rank, axis=1) * (1 + rank / 8) for rank in range(ranks)]
        return np.stack(rows, axis=1).astype(np.float32)
    drawn = np.random.default_rng([ranks, size]).normal(size=(2, ranks, size))
    if size == FAR[1]:
        drawn *= TINY / 10
        drawn[:, :, -5:] += TINY
    return drawn.astype(np.float32)


def _expect_step(case, compressed_mean, gradients, residuals, k):
    means, rests = _attempt(case, compressed_mean, gradients, residuals, k)
    corrected = gradients + residuals
    sent = np.array([top_k(row, k) for row in corrected])
    same = partial(_same, scale=np.abs(corrected).max())
    for rank, mean in enumerate(means):
        if not same(mean, sent.mean(0)):
            why = _wrong_mean(mean, gradients, residuals, sent, k, rank, same)
            expect(False, case, label("ch7_topk_mean", rank=rank, why=why))
    equal = all(np.array_equal(mean, means[0]) for mean in means)
    expect(equal, case, label("ch7_topk_bits"))
    for rank, rest in enumerate(rests):
        if not same(rest, corrected[rank] - sent[rank]):
            why = _wrong_rest(rest, gradients[rank], corrected[rank], sent[rank], sent.mean(0), same)
            expect(False, case, label("ch7_topk_residual", rank=rank, why=why))


def _attempt(case, compressed_mean, gradients, residuals, k):
    """(means, residuals), one a rank each, as arrays; ends the check for anything else, or too many bytes."""

    def worker(comm):
        gradient = gradients[comm.rank].copy()
        result = compressed_mean(comm, gradient, residuals[comm.rank].copy(), k)
        unchanged = np.array_equal(gradient, gradients[comm.rank])
        expect(unchanged, case, label("ch7_topk_changed"))
        if _is_pair(result) and all(value is None or value is Ellipsis for value in result):
            raise NotImplementedError
        return result

    run = run_attempt(case, worker, len(gradients))
    for rank, result in enumerate(run.values):
        expect(_is_pair(result), case, label("ch7_topk_pair", rank=rank, kind=type(result).__name__))
        for name, value in zip(("mean", "residual"), result, strict=True):
            _expect_array(case, rank, name, value, gradients[rank].shape)
    _expect_bytes(case, run, k)
    means, rests = zip(*run.values, strict=True)
    return np.array(means), np.array(rests)


def _is_pair(result):
    return isinstance(result, tuple | list) and len(result) == 2


def _expect_array(case, rank, name, value, shape):
    array = real_array(value)
    expect(array is not None, case, label("ch7_topk_kind", rank=rank, name=name, kind=type(value).__name__))
    got = array.shape
    expect(got == shape, case, label("ch7_topk_shape", rank=rank, name=name, got=got, shape=shape))
    expect_numbers(case, rank, value)


def _expect_bytes(case, run, k):
    """All was received, and in all no more was sent than if one rank collected and sent out the entries."""
    ranks = len(run.values)
    lost = [message for message in run.messages if message.stop != message.stop]
    if lost:
        expect(False, case, label("ch7_topk_lost", source=lost[0].source, target=lost[0].target))
    nbytes = sum(message.nbytes for message in run.messages)
    expect(ranks == 1 or nbytes > 0, case, label("ch7_topk_silent"))
    most = (ranks - 1) * (ranks + 1) * k * MOST_ENTRY_BYTES
    least = ranks * (ranks - 1) * k * 8
    expect(nbytes <= most, case, label("ch7_topk_bytes", nbytes=nbytes, k=k, least=least))


def _wrong_mean(mean, gradients, residuals, sent, k, rank, same):
    """Why this is not the mean of what should have been sent: the first slip that explains it."""
    corrected, ranks = gradients + residuals, len(sent)

    def mean_of(arrays, keep=top_k):
        return np.mean([keep(row, k) for row in arrays], axis=0)

    slips = {
        "sum": sent.sum(0),
        "divided_twice": sent.mean(0) / ranks,
        "no_residual": mean_of(gradients),
        "twice": mean_of(gradients + 2 * residuals),
        "subtracted": mean_of(gradients - residuals),
        "signed": mean_of(corrected, lambda row, k: _kept(row, np.argsort(row)[-k:])),
        "most_negative": mean_of(corrected, lambda row, k: _kept(row, np.argsort(row)[:k])),
        "smallest": mean_of(corrected, lambda row, k: _kept(row, np.argsort(np.abs(row))[:k])),
        "by_gradient": np.mean(
            [_kept(row, np.flatnonzero(top_k(g, k))) for row, g in zip(corrected, gradients, strict=True)], 0
        ),
        "only_gradient": np.mean(
            [_kept(g, np.flatnonzero(row)) for row, g in zip(sent, gradients, strict=True)], axis=0
        ),
        "dense": corrected.mean(0),
        "own": sent[rank],
        "own_share": sent[rank] / ranks,
        "others": (sent.sum(0) - sent[rank]) / ranks,
    }
    if same(mean, sent.mean(0), rtol=1e-2, atol=1e-2):
        return label("ch7_topk_rounded")
    name = next((name for name, slip in slips.items() if same(mean, slip)), "mean_unknown")
    return label(f"ch7_topk_{name}", k=k)


def _wrong_rest(rest, gradient, corrected, sent, mean, same):
    """Why this is not what was left out."""
    slips = {
        "forgotten": 0 * rest,
        "not_taken_off": corrected,
        "old_lost": gradient - sent,
        "kept_sent": sent,
        "minus_mean": corrected - mean,
        "negative": sent - corrected,
        "old": corrected - gradient,
        "added_twice": 2 * corrected - gradient - sent,
    }
    name = next((name for name, slip in slips.items() if same(rest, slip)), "rest_unknown")
    return label(f"ch7_topk_{name}")


def _kept(row, indices):
    dense = np.zeros_like(row)
    dense[indices] = row[indices]
    return dense


def _same(got, wanted, scale, rtol=1e-4, atol=1e-5):
    return np.allclose(got, wanted, rtol=rtol, atol=atol * scale)
