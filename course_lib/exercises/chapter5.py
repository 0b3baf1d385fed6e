"""Checkers of chapter 5's exercises: a ring by hand, a ring in code, a link from two measurements."""

from numbers import Real

import numpy as np

from course_lib import laws
from course_lib.collectives import chunk_bounds, ring_all_reduce
from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import (
    WORKER_COUNTS,
    Report,
    checked,
    expect,
    expect_arrays,
    expect_received,
    not_attempted,
    on_copies,
    real_array,
    run_attempt,
    workers,
)
from course_lib.labels import label
from course_lib.simulation import simulate

SIZES = (4, 84, 5, 1)


def hand_arrays(ranks=4):
    """Arrays to play with by hand: rank r holds 1, 2, 3, … times 10^r, so a digit tells its rank."""
    return [np.arange(1, ranks + 1) * 10**rank for rank in range(ranks)]


@exercise("5.1")
def check_rank(rank, sent):
    """Exercise 5.1: the numbers that `rank` of 4 passes on in rounds 1 to 4 of the ring on `hand_arrays`."""
    numbers = sent if np.iterable(sent) else [sent]
    if all(number is None or number is Ellipsis for number in numbers):
        return Report(None, label("ch5_not_attempted"))
    return checked(lambda: _played(rank, sent), f"rank {rank} passed on what the library's ring passes")


@exercise("5.2")
def check_ring(ring):
    """Exercise 5.2: ring(comm, array) → the sum over all ranks, in chunks, to one neighbour only."""
    return checked(lambda: _ring(ring), "1 to 12 workers, values and messages")


@exercise("5.3")
def check_link(link_from_two):
    """Exercise 5.3: link_from_two(nbytes, seconds, ranks) → (latency, bandwidth) from two ring times."""
    return checked(lambda: _link(link_from_two), "links from 12.5 MB/s to 2 TB/s, 2 to 4096 workers")


class Watched:
    """A `comm` with the calls that a ring needs; it notes what is sent, in order, as (to, copy)."""

    def __init__(self, comm):
        self._comm, self.rank, self.size, self.sent = comm, comm.rank, comm.size, []

    def send(self, array, to):
        self._note(array, to)
        self._comm.send(array, to)

    def recv(self, source, out=None):
        return self._comm.recv(source, out)

    def sendrecv(self, array, to, source, out=None):
        self._note(array, to)
        return self._comm.sendrecv(array, to, source, out)

    def _note(self, array, to):
        self.sent.append((to, np.array(array)))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        what = f"comm.{name} is not for this exercise: use only comm.sendrecv, or comm.send and comm.recv"
        expect(False, f"rank {self.rank}", what)


# --- 5.1: by hand


def passed_on(ranks=4):
    """What each rank passes on, round by round, in the library's ring on `hand_arrays`: one list a rank."""

    def worker(comm):
        watched = Watched(comm)
        ring_all_reduce(watched, hand_arrays(ranks)[comm.rank])
        return [int(array[0]) for _, array in watched.sent]

    return simulate(worker, ranks).values


def _played(rank, sent):
    known = isinstance(rank, int | np.integer) and 0 <= rank < 4
    expect(known, f"rank {rank!r}", "there is no such rank; the four are 0, 1, 2 and 3")
    listed = isinstance(sent, list | tuple | np.ndarray) and np.iterable(sent)
    expect(listed, f"rank {rank}", f"{sent!r} is no list; give the four numbers in a list")
    wanted, mine = passed_on()[rank], hand_arrays()[rank]
    expect(len(sent) == 4, f"rank {rank}", f"{len(sent)} numbers are given; four rounds are asked for")
    for turn, (number, right) in enumerate(zip(sent, wanted, strict=False)):
        expect(number is not None and number is not Ellipsis, f"round {turn + 1}", "this number is missing")
        expect(isinstance(number, Real), f"round {turn + 1}", f"{number!r} is not a number")
        if number != right:
            expect(False, f"round {turn + 1}", _slip(rank, turn, number, right, mine))


def _slip(rank, turn, number, right, mine):
    """What probably went wrong in one round of a hand-played ring."""
    ranks, chunk = len(mine), (rank - turn) % len(mine)
    if turn == 0:
        if number == mine[0]:
            return (
                f"{number} is chunk 0, but not all start with chunk 0: rank {rank} starts with chunk {rank}"
            )
        return f"rank {rank} starts with its own chunk {rank}; the chunks are numbered from 0"
    if turn == ranks - 1 and number in mine:
        return "adding is over. From now on pass on finished sums: which chunk did you complete last?"
    if number == mine[chunk]:
        return f"{number} is your own number alone: add what has just arrived, then pass on the sum"
    if number + mine[chunk] == right:
        return f"{number} is what arrived: add your own number of chunk {chunk} to it first"
    return (
        f"pass on chunk {chunk}, the one that has just arrived from rank {(rank - 1) % ranks}, "
        "with your own number added"
    )


# --- 5.2: the ring


def _ring(ring):
    expect_function("ring_sum", ring)
    for case, inputs in _ring_cases():
        values, sent = _attempt(ring, case, inputs)
        for rank, value in enumerate(values):
            expect(value is not None, case, f"rank {rank} returned None: is a return missing?")
        expect_arrays(case, values, inputs[0].shape)
        _expect_chunks(case, sent, inputs)
        total = np.sum(inputs, axis=0)
        if not all(np.array_equal(value, total) for value in values):
            near = 1e-5 * np.max(np.abs(total))
            rounded = all(np.allclose(value, total, rtol=0, atol=near) for value in values)
            expect(not rounded, case, "right to a few digits only: keep float64, and round nothing")
            expect(False, case, _wrong_value(values, sent, inputs))
        _expect_rounds(case, sent, len(inputs))
        _expect_neighbours(case, sent, len(inputs))


def _ring_cases():
    """(case, one array a rank); sums are exact."""
    for ranks in (2, *(ranks for ranks in WORKER_COUNTS if ranks != 2)):  # with 2 the mistakes are plainest
        for size in sorted(SIZES, key=lambda size: size % ranks > 0):  # unequal chunks hide the cause
            rng = np.random.default_rng([ranks, size])
            inputs = list(rng.integers(1, 1000, size=(ranks, size)).astype(float))
            yield f"{workers(ranks)}, array of length {size}", inputs
    long = np.random.default_rng(12).integers(-(2**40), 2**40, size=(12, 1001)) / 8  # no float32 holds these
    yield f"{workers(12)}, array of length 1001", list(long)


def _attempt(ring, case, inputs):
    """What each rank returned, and what it sent."""

    def watch(comm, mine):
        watched = Watched(comm)
        try:
            value = ring(watched, mine)
        except NotImplementedError:
            expect(not watched.sent, case, "raise NotImplementedError is still there: remove it")
            raise
        if value is Ellipsis:
            raise NotImplementedError
        return value, watched.sent

    changed = "the worker's own array was changed; start with total = array.copy()"
    run = run_attempt(case, on_copies(watch, inputs, case, changed), len(inputs))
    expect_received(case, run.messages)
    return zip(*run.values, strict=True)


def _expect_chunks(case, sent, inputs):
    """No message is larger than a K-th of the array, rounded up."""
    ranks, size = len(inputs), len(inputs[0])
    most = -(-size // ranks)
    for rank, messages in enumerate(sent):
        for number, (_, array) in enumerate(messages):
            if array.size > most:
                whole = "the whole array" if array.size == size else f"{array.size} numbers"
                expect(
                    False,
                    case,
                    f"in message {number + 1} rank {rank} sent {whole}; a round carries one chunk, here "
                    f"at most {most} of {size}: cut the array into {ranks} chunks (np.array_split)",
                )


def _wrong_value(values, sent, inputs):
    """Why a result is not the sum: the likeliest cause that shows in values and messages."""
    ranks, size, total = len(inputs), len(inputs[0]), np.sum(inputs, axis=0)
    if all(np.allclose(value, total / ranks) for value in values):
        return "this is the mean; the sum is asked for (an all-reduce sums, dividing is the caller's)"
    counts = [len(messages) for messages in sent]
    if ranks == 1:
        return "one worker alone: its own array is the sum"
    if not any(counts):
        return "no message was sent, so no rank can know the others' numbers"
    first = _first_chunks(sent, inputs)
    if None not in first and len(set(first)) < len(first):
        return (
            f"in round 1 the ranks sent, in order, chunks {', '.join(map(str, first))}. All must start "
            "with different chunks, rank r with chunk r, say; else some parts are added twice, others never"
        )
    rank = next(rank for rank in range(ranks) if not np.array_equal(values[rank], total))
    place = np.flatnonzero(values[rank] != total)[0]
    there = f"rank {rank} has {values[rank][place]:g} at position {place}, the sum is {total[place]:g}"
    if min(counts) < 2 * (ranks - 1):
        return f"{_too_few_or_many(counts, ranks)}. So {there}"
    if size % ranks and place >= ranks * (size // ranks):
        return f"{there}: {size} numbers do not divide by {ranks}, and the last ones were forgotten"
    if max(counts) > 2 * (ranks - 1):
        return f"{_too_few_or_many(counts, ranks)}. So {there}"
    return f"{there}. {_slip_on_the_way(sent, inputs)}"


def _slip_on_the_way(sent, inputs):
    """What went wrong in which round of a ring whose number of rounds is right."""
    slip, last = _first_slip(sent, inputs), len(inputs)  # round K is the first of the all-gather
    if slip is None:
        return (
            f"In round {last} every rank passed on a finished sum, so adding is right. Look at how the "
            "sums get into total (chunks[c][:] = … and chunks[c] += … change it, chunks[c] = … only the "
            "list), and at which chunk the all-gather replaces and passes on next"
        )
    turn, rank, ahead, again = slip
    if again is not None and turn == last - 1:
        return (
            f"In round {last}, the first of the all-gather, rank {rank} passed on chunk {again}, of which it "
            "has only its own numbers. Start with the chunk that it completed last"
        )
    here = "" if ahead == 1 else "; here they go to the left"
    return (
        f"In round {turn + 1} rank {rank} passed on something else than what had just arrived plus its own "
        "chunk of that number. Add each chunk that arrives to your own of the same number, and pass this one "
        f"on next: when chunks go to the right, the numbers count down, rank − turn{here}"
    )


def _first_slip(sent, inputs):
    """The first message among the first K that is not the sum it should be, or None.

    In turn t a rank passes on a chunk with its own numbers and those of the t ranks before it. (turn, rank, 1
    if it sends to the right or else -1, the chunk it sent in turn 0 if this message is that once more).
    """
    ranks, first = len(inputs), _first_chunks(sent, inputs)
    for turn in range(ranks):
        for rank, messages in enumerate(sent):
            ahead = 1 if messages[0][0] == (rank + 1) % ranks else -1
            parts = np.sum([inputs[(rank - ahead * back) % ranks] for back in range(turn + 1)], axis=0)
            passed = messages[turn][1].reshape(-1)
            if not any(np.array_equal(passed, part) for part in np.array_split(parts, ranks)):
                again = turn and np.array_equal(passed, messages[0][1].reshape(-1))
                return turn, rank, ahead, first[rank] if again else None
    return None


def _first_chunks(sent, inputs):
    """The number of the chunk that each rank sent first, None where it is no chunk of its own array."""
    bounds = chunk_bounds(len(inputs[0]), len(inputs))
    found = []
    for messages, mine in zip(sent, inputs, strict=True):
        first = messages[0][1].reshape(-1) if messages else np.empty(0)
        same = [np.array_equal(first, mine[low:high]) for low, high in bounds]
        found.append(same.index(True) if True in same and first.size else None)
    return found


def _expect_rounds(case, sent, ranks):
    counts = [len(messages) for messages in sent]
    expect(set(counts) == {2 * (ranks - 1)}, case, _too_few_or_many(counts, ranks))


def _too_few_or_many(counts, ranks):
    odd = next((rank for rank, count in enumerate(counts) if count != 2 * (ranks - 1)), 0)
    return (
        f"messages sent by rank {odd}: {counts[odd]}. In a ring of {ranks} every rank sends "
        f"2·({ranks}−1) = {2 * (ranks - 1)}: half of them to add up, half to spread the sums"
    )


def _expect_neighbours(case, sent, ranks):
    for rank, messages in enumerate(sent):
        targets = sorted({to for to, _ in messages})
        neighbours = {(rank + 1) % ranks, (rank - 1) % ranks}
        expect(
            len(targets) <= 1 and set(targets) <= neighbours,
            case,
            f"rank {rank} sent to {targets}; in a ring it sends to its right neighbour, "
            f"{(rank + 1) % ranks}, only",
        )


# --- 5.3: two measurements


def _link(link_from_two):
    # Not 2 workers first: there 2(K-1)/K is 1, and who forgets it would hear of the latency.
    cases = [(4, 1.25e9, 50e-6), (2, 12.5e6, 1e-3), (8, 300e9, 5e-6), (64, 12.5e9, 20e-6), (3, 1e9, 0.0)]
    sizes = [(1e5, 1e8)] * len(cases)
    cases.append((4096, 2.1e12, 3.21e-7))  # far from the others, and of other sizes
    sizes.append((7e3, 3e11))
    expect_function("link_from_two", link_from_two)
    for (ranks, bandwidth, latency), pair in zip(cases, sizes, strict=True):
        case = f"{workers(ranks)}, {bandwidth:g} B/s, {latency:g} s"
        nbytes = np.array(pair)
        seconds = laws.ring_time(nbytes, ranks, bandwidth, latency)
        got = run_attempt(case, lambda _, a=(nbytes, seconds, ranks): (link_from_two(*a),), 1).values[0][0]
        if got is Ellipsis:
            not_attempted()
        expect(got is not None, case, "None was returned: is a return missing?")
        pair = real_array(got)
        good = pair is not None and pair.shape == (2,)
        expect(good, case, f"{got!r} was returned, not a pair (latency, bandwidth)")
        _expect_link(case, pair.astype(float), latency, bandwidth, ranks)


def _expect_link(case, got, latency, bandwidth, ranks):
    right = np.isclose(got, (latency, bandwidth), rtol=1e-6, atol=1e-13)
    if right.all():
        return
    if np.allclose(got, (bandwidth, latency), rtol=1e-6, atol=1e-13):
        expect(False, case, "the two are in the wrong order: latency first, then bandwidth")
    if 0 < got[1] < 1:
        expect(False, case, f"the bandwidth {got[1]:.4g} is less than a byte a second: is it 1/B?")
    if not right[1]:
        expect(
            False,
            case,
            f"the bandwidth is {got[1] / bandwidth:.4g} times too large. Between the two sizes "
            f"2(K−1)/K = {2 * (ranks - 1) / ranks:.4g} times the difference in bytes went over a link",
        )
    expect(
        False,
        case,
        f"the latency {got[0]:.4g} s is wrong: take the transfer off one time, and what is left was spent in "
        f"2(K−1) = {2 * (ranks - 1)} rounds",
    )
