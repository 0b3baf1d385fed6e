"""Chapter 7's exercise on top-k: its checker accepts what is right, and explains what is wrong."""

import heapq

import numpy as np
from attempts import accepts, an_ellipsis, left_empty, rejects, untouched, waits_for

from course_lib.collectives import all_gather
from course_lib.compression import ErrorFeedback, TopK, top_k
from course_lib.exercises.chapter7 import check_top_k_feedback


def attempt(
    weight=1,
    choose=None,
    values=None,
    divide=None,
    rest=None,
    dtypes=("int32", "float32"),
    out=None,
    whose=None,
):
    """A right compressed_mean as it stands; each argument spoils (dtypes: widens) one thing in it."""

    def compressed_mean(comm, gradient, residual, k):
        corrected = gradient + weight * residual
        chosen = np.argsort(np.abs(corrected))[-k:] if choose is None else choose(corrected, gradient, k)
        picked = gradient[chosen] if values == "gradient" else corrected[chosen]
        picked = values(picked) if callable(values) else picked
        indices = all_gather(comm, chosen.astype(dtypes[0]))
        numbers = all_gather(comm, picked.astype(dtypes[1]))
        mean = np.zeros_like(gradient)
        for rank in range(comm.size) if whose is None else whose(comm):
            mean[indices[rank]] += numbers[rank]
        mean /= comm.size if divide is None else divide(comm.size)
        sent = np.zeros_like(corrected)
        sent[chosen] = corrected[chosen]
        kept = corrected - sent if rest is None else rest(gradient, residual, sent, mean)
        return (mean, kept) if out is None else out(mean, kept)

    return compressed_mean


def by_library(comm, gradient, residual, k):
    compressor = TopK(k / gradient.size)
    corrected = gradient + residual
    payloads = all_gather(comm, compressor.encode(corrected))
    mean = sum(compressor.decode(payload, gradient.shape) for payload in payloads) / comm.size
    return mean, corrected - compressor(corrected)


def by_feedback(comm, gradient, residual, k):
    feedback = ErrorFeedback(lambda array: top_k(array, k))
    feedback.residual = residual
    sent = feedback(gradient)
    places = np.flatnonzero(sent).astype(np.int32)
    mean = np.zeros_like(gradient)
    both = zip(all_gather(comm, places), all_gather(comm, sent[places]), strict=True)
    for index, number in both:
        mean[index] += number / np.float32(comm.size)
    return mean, feedback.residual


def by_rank_0(comm, gradient, residual, k):
    """Rank 0 collects and sends out; the residual is changed in place, for it is the worker's own."""
    residual += gradient
    chosen = np.argsort(np.abs(residual))[-k:].astype(np.int32)
    message = np.concatenate([chosen, residual[chosen].view(np.int32)])
    if comm.rank:
        comm.send(message, 0)
        collected = comm.recv(0)
    else:
        collected = np.stack([message, *(comm.recv(rank) for rank in range(1, comm.size))])
        for rank in range(1, comm.size):
            comm.send(collected, rank)
    mean = np.zeros_like(gradient)
    for index, bits in collected.reshape(-1, 2, k):
        mean[index] += bits.view(np.float32) / comm.size
    residual[chosen] = 0
    return mean, residual


def to_everyone(comm, gradient, residual, k):
    corrected = gradient.astype(np.float64) + residual
    chosen = np.argsort(-np.abs(corrected))[:k]
    parts = {comm.rank: (chosen, corrected[chosen])}
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    for rank in others:
        comm.send(chosen, rank)
        comm.send(corrected[chosen], rank)
    for rank in others:
        parts[rank] = comm.recv(rank), comm.recv(rank)
    mean = np.zeros(len(gradient))
    for rank in range(comm.size):
        np.add.at(mean, parts[rank][0], parts[rank][1])
    corrected[chosen] = 0
    return [mean / comm.size, corrected]


def in_plain_python(comm, gradient, residual, k):
    """Lists and loops; a heap instead of a sort."""
    corrected = [float(a) + float(b) for a, b in zip(gradient, residual, strict=True)]
    chosen = heapq.nlargest(k, range(len(corrected)), key=lambda place: abs(corrected[place]))
    pairs = np.array([(place, corrected[place]) for place in chosen])
    mean = [0.0] * len(corrected)
    for of_rank in all_gather(comm, pairs):
        for place, value in of_rank:
            mean[int(place)] += value / comm.size
    for place in chosen:
        corrected[place] = 0.0
    return mean, corrected


test_right_ones_pass = accepts(
    check_top_k_feedback,
    *(attempt(), attempt(dtypes=(np.int64, np.float64)), by_library, by_feedback, by_rank_0, to_everyone),
    attempt(choose=lambda c, g, k: np.argpartition(np.abs(c), -k)[-k:]),
    in_plain_python,
)

test_a_stub_is_not_a_failure = waits_for(
    check_top_k_feedback,
    stubs=[None, ..., untouched, left_empty, an_ellipsis, lambda *_: (None, None), lambda *_: (..., ...)],
)

# Right on small arrays of numbers around 1, or on one number of workers.
test_shortcuts_are_refused = rejects(
    check_top_k_feedback,
    (attempt(dtypes=("int8", "float32")), "IndexError|is wrong"),
    (attempt(dtypes=("int16", "float32")), "IndexError|is wrong"),
    (attempt(values=lambda picked: np.round(picked, 4)), "to a few digits|is wrong"),
    (attempt(rest=lambda g, r, sent, mean: np.round(g + r - sent, 4)), "zeros where entries were sent"),
    (attempt(choose=lambda c, g, k: np.argsort(np.abs(c))[-2:]), "is wrong"),  # always two
    (attempt(choose=lambda c, g, k: np.flatnonzero(np.abs(c) > 1)), "is wrong|shape|equal"),  # a threshold
    (attempt(divide=lambda size: 4), "is wrong"),
    (attempt(out=lambda mean, rest: (mean, 0 * rest)), "all zeros"),
    (attempt(whose=lambda comm: range(2 if comm.size > 1 else 1)), "is wrong"),
    *((value, "a function is asked for") for value in (3, "top-k", [])),
)


def dense_with_zeros(comm, gradient, residual, k):
    corrected = gradient + residual
    sent = top_k(corrected, k)
    return sum(all_gather(comm, sent)) / np.float32(comm.size), corrected - sent


def by_all_reduce(comm, gradient, residual, k):
    sent = top_k(gradient + residual, k)
    return comm.all_reduce(sent, "mean"), gradient + residual - sent


def says_nothing(comm, gradient, residual, k):
    sent = top_k(gradient + residual, k)
    return sent, gradient + residual - sent


def own_first(comm, gradient, residual, k):
    """Adds its own entries first and the others' as they come: not the same bits on all ranks."""
    chosen = np.argsort(np.abs(gradient + residual))[-k:]
    both = list(zip(all_gather(comm, chosen), all_gather(comm, (gradient + residual)[chosen]), strict=True))
    mean, kept = np.zeros_like(gradient), gradient + residual
    for rank in range(comm.size):
        index, number = both[(comm.rank + rank) % comm.size]
        mean[index] += number
    kept[chosen] = 0
    return mean / comm.size, kept


def changes_the_gradient(comm, gradient, residual, k):
    gradient += residual
    return attempt()(comm, gradient, 0 * residual, k)


def lost_on_the_way(comm, gradient, residual, k):
    result = attempt()(comm, gradient, residual, k)
    if comm.size > 1 and comm.rank == 0:
        comm.send(np.zeros(1, np.int8), 1)
    return result


def loses_shared_places(comm, gradient, residual, k):
    kept = gradient + residual
    chosen = np.argsort(np.abs(kept))[-k:]
    indices, numbers = (np.concatenate(all_gather(comm, part)) for part in (chosen, kept[chosen]))
    mean = np.zeros_like(gradient)
    mean[indices] += numbers  # of equal indices, the last one counts
    kept[chosen] = 0
    return mean / comm.size, kept


test_slips_are_explained = rejects(
    check_top_k_feedback,
    (attempt(weight=0), "the residual was forgotten"),
    (attempt(weight=2), "the residual was added twice"),
    (attempt(weight=-1), "subtracted"),
    (attempt(choose=lambda c, g, k: np.argsort(c)[-k:]), "by magnitude"),
    (attempt(choose=lambda c, g, k: np.argsort(c)[:k]), "most negative"),
    (attempt(choose=lambda c, g, k: np.argsort(np.abs(c))[:k]), "smallest"),
    (attempt(choose=lambda c, g, k: np.argsort(np.abs(g))[-k:]), "size of gradient alone"),
    (attempt(choose=lambda c, g, k: np.arange(k)), "add each rank's values at their indices"),
    (attempt(values="gradient"), "values are of gradient alone"),
    (attempt(divide=lambda size: 1), "it is the sum"),
    (attempt(divide=lambda size: size**2), "divided by comm.size twice"),
    (attempt(whose=lambda comm: [comm.rank]), "holds only what this rank sent, divided"),
    (attempt(whose=lambda comm: [comm.rank], divide=lambda size: 1), "holds only what this rank sent;"),
    (attempt(whose=lambda comm: set(range(comm.size)) - ({comm.rank} if comm.size > 1 else set())), "own"),
    (attempt(choose=lambda c, g, k: np.arange(len(c))), "all entries arrived"),
    (attempt(rest=lambda g, r, sent, mean: 0 * g), "all zeros, so what was not sent is lost"),
    (attempt(rest=lambda g, r, sent, mean: g - sent), "the old residual has to stay"),
    (attempt(rest=lambda g, r, sent, mean: g + r), "still holds what was sent"),
    (attempt(rest=lambda g, r, sent, mean: sent), "it holds what WAS sent"),
    (attempt(rest=lambda g, r, sent, mean: g + r - mean), "the mean was taken off"),
    (attempt(rest=lambda g, r, sent, mean: sent - g - r), "its sign is wrong"),
    (attempt(rest=lambda g, r, sent, mean: g + 2 * r - sent), "old residual is in it twice"),
    (attempt(rest=lambda g, r, sent, mean: r), "it is the old residual"),
    (attempt(rest=lambda g, r, sent, mean: r + 1), "with zeros where entries were sent"),
    (attempt(out=lambda mean, rest: mean), "returned ndarray, not a pair"),
    (attempt(out=lambda mean, rest: (mean, rest, 0)), "returned tuple, not a pair"),
    (attempt(out=lambda mean, rest: (mean[:1], rest)), "rank 0's mean has shape (1,), not (6,)"),
    (attempt(out=lambda mean, rest: (mean, None)), "rank 0's residual is a NoneType"),
    (attempt(out=lambda mean, rest: (mean * np.nan, rest)), "NaN"),
    (attempt(dtypes=(np.int32, np.float16)), "right to a few digits only"),
    (loses_shared_places, "An index may come from several ranks"),
    (dense_with_zeros, "not a dense one with zeros in it"),
    (by_all_reduce, "not a dense one with zeros in it"),
    (says_nothing, "no message was sent"),
    (own_first, "differ in the last bits"),
    (changes_the_gradient, "gradient itself was changed"),
    (lost_on_the_way, "nobody received what rank 0 sent to rank 1"),
    *((lambda *_, value=value: value, "mean") for value in ((), (None,), (None, None, None))),
)
