"""Checkers of chapter 6's exercises: a parameter server, shares sized to speed, a safe rate."""

import sys
from numbers import Real

import numpy as np

from course_lib import laws
from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import (
    WORKER_COUNTS,
    checked,
    expect,
    not_attempted,
    real_array,
    run_attempt,
    workers,
)
from course_lib.exercises.watched_server import SERVER, SWAPPED, WatchedServer, same
from course_lib.labels import label
from course_lib.sgd import delayed_descent

START, RATE = np.array([1.0, -2.0]), 0.125
FAR_START, FAR_RATE = np.random.default_rng(6).normal(size=700), 0.003
# Seconds a sample, and samples, unlike the others.
FAR_SHARES = (
    ([1.0, 1.0, 300.0, 2.0], 60),  # the slow one's ideal share is far below 1
    ([0.004, 0.001, 0.007], 25_000),
    ([2.0, 3.0, 1.5, 9.0, 4.0], 5),
)
SAFE = (4, (1.0,)), (4, (0.5, 2.0)), (1, (4.0,)), (2, (0.5, 3.0)), (8, (0.1, 1.0, 2.5, 0.3))
FAR_SAFE = (24, (0.004, 0.02, 0.0007)), (13, (900.0, 30.0))
STEPS = 4000  # of a delayed descent that is to show whether a rate is stable; more for long delays
TWO_FIRST = (2, *(number for number in WORKER_COUNTS if number != 2))  # there mistakes are plainest


@exercise("6.1")
def check_server(serve):
    """Exercise 6.1: serve(comm, theta, rate, updates) → (theta, each update's staleness), for rank 0."""
    return checked(
        lambda: _server(serve), "1 to 12 workers, fast and slow, 1 to 90 updates, values and messages"
    )


@exercise("6.2")
def check_shares(fair_shares):
    """Exercise 6.2: fair_shares(seconds, total) → whole samples a worker that make the step shortest."""
    return checked(
        lambda: _shares(fair_shares), "1 to 7 workers, 5 to 25,000 samples: no shares make a shorter step"
    )


@exercise("6.3")
def check_safe_rate(safe_rate):
    """Exercise 6.3: safe_rate(curvatures, workers) → the largest stable rate of asynchronous SGD."""
    what = "1 to 24 workers, up to four curvatures: 2 % less is stable, 2 % more is not"
    return checked(lambda: _safe_rate(safe_rate), what)


# --- 6.1: a parameter server


def _server(serve):
    for number in TWO_FIRST:
        for updates in (3, 12, 1):
            for slow in (False, True):
                pace = ", the last one slow" if slow else ""
                case = f"{workers(number)}{pace}, updates: {updates}"
                _expect_served(serve, case, number, updates, slow, START, RATE)
    case = label("ch6_case_far", workers=workers(12), updates=90, size=len(FAR_START), rate=FAR_RATE)
    _expect_served(serve, case, 12, 90, True, FAR_START, FAR_RATE)


def _expect_served(serve, case, number, updates, slow, start, rate):
    expect_function(case, serve)
    watched, value = _served(serve, case, number, updates, slow, start, rate)
    _expect_result(case, watched, value, updates)


def _served(serve, case, number, updates, slow, start, rate):
    """The server as it was watched, and what it returned; the check brings the workers along."""
    seen = []

    def worker(comm):
        if comm.rank != SERVER:
            return _work(comm, slow=slow and comm.rank == number)
        seen.append(WatchedServer(comm, case, start, updates, rate))
        value = _call(serve, seen[0], updates, case)
        seen[0].expect_end()
        return (value,)

    run = run_attempt(case, worker, number + 1)
    return seen[0], run.values[SERVER][0]


def _call(serve, watched, updates, case):
    """What serve returns; a stub that is untouched, or nearly so, ends the check."""
    try:
        value = serve(watched, watched.theta.copy(), watched.rate, updates)
    except NotImplementedError:
        expect(not watched.taken, case, "raise NotImplementedError is still there: remove it")
        raise
    except TypeError as error:  # a gradient as a key
        expect("unhashable" not in str(error), case, f"{error}. {SWAPPED}")
        raise
    if value is None or value is Ellipsis:
        expect(not watched.taken, case, "the server returned None: is a return missing?")
        raise NotImplementedError
    return value


def _work(comm, slow):
    """A worker as in the chapter; all paces differ a little, so that no two gradients arrive together."""
    seconds = (1 + 0.037 * comm.rank) * (5 if slow else 1)
    while len(theta := comm.recv(SERVER)):
        comm.compute(seconds)
        comm.send(theta - np.resize([comm.rank, comm.rank**2], theta.shape), SERVER)
    return ()


def _expect_result(case, watched, value, updates):
    pair = isinstance(value, tuple | list) and len(value) == 2
    expect(pair, case, "return two things: theta, and the list of the updates' staleness")
    theta, staleness = value
    if not same(theta, watched.theta):
        late = same(theta, watched.before)
        right = f"after the updates it is {_short(watched.theta)}"
        hint = "the one from before the last update" if late else right
        expect(False, case, f"the theta returned is {_short(theta)}: {hint}")
    numbers = real_array(staleness)
    good = numbers is not None and numbers.ndim == 1
    expect(good, case, "the second value is the list of staleness, one whole number for each update")
    expect(len(numbers) == updates, case, f"the list of staleness has {len(numbers)} numbers, not {updates}")
    if list(numbers) != watched.staleness:
        expect(False, case, _wrong_staleness(numbers, np.array(watched.staleness)))


def _short(value):
    """What a message shows of a value: some numbers are enough."""
    array = real_array(value)
    return f"{value!r:.60}" if array is None else np.array2string(array, precision=4, threshold=8)


def _wrong_staleness(numbers, right):
    place = int(np.flatnonzero(numbers != right)[0])
    there = f"update {place + 1} has staleness {numbers[place]:g} in the list, {right[place]} by the messages"
    if np.array_equal(numbers, right + 1):
        return f"{there}: an update does not count itself, so count before it is applied"
    if not numbers.any():
        return f"{there}: others were applied between a worker's reading and its own; count them"
    if np.array_equal(numbers, np.arange(len(numbers))):
        return f"{there}: note in read which version a worker has each time you send it one"
    return f"{there}: it is the number of updates applied since that worker was sent its parameters"


# --- 6.2: shares sized to speed


def _shares(fair_shares):
    usual = [zip(_paces(number), (60, 61, 100), strict=True) for number in TWO_FIRST]
    for seconds, total in (*(case for cases in usual for case in cases), *FAR_SHARES):
        listed = ", ".join(f"{each:g}" for each in seconds)
        case = f"{total} samples, {listed} s a sample"
        got = _returned(case, fair_shares, np.array(seconds), total)
        _expect_shares(case, got, np.array(seconds), total)


def _returned(case, function, *given):
    """What a function of no comm returns; an untouched stub ends the check."""
    expect_function(case, function)
    got = run_attempt(case, lambda comm: (function(*given),), 1).values[0][0]
    if got is Ellipsis:
        not_attempted()
    expect(got is not None, case, "None was returned: is a return missing?")
    return got


def _paces(number):
    yield [1.0] * (number - 1) + [3.0]
    yield [1.0] * number
    yield np.round(np.random.default_rng(number).uniform(0.5, 4, number), 1).tolist()


def _expect_shares(case, got, seconds, total):
    array = real_array(got)
    good = array is not None and array.shape == seconds.shape
    expect(good, case, f"{got!r:.60} was returned; one number for each worker is asked for")
    listed = ", ".join(f"{each:g}" for each in array)
    expect(np.array_equal(array, np.rint(array)), case, f"{listed}: samples are whole")
    off = f"{listed} are {array.sum():g} samples, not {total}"
    expect(array.sum() == total, case, f"{off}: rounding each share alone loses some or adds some")
    expect(array.min() >= 1, case, f"{listed}: every worker gets at least one sample")
    step, best = (array * seconds).max(), (best_shares(seconds, total) * seconds).max()
    if step > best * (1 + 1e-9):
        there = f"{listed} makes a step of {step:.4g} s; {best:.4g} s is possible"
        expect(False, case, f"{there}. {_why_slow(array, seconds)}")


def _why_slow(array, seconds):
    if np.ptp(array) <= 1:
        return "All shares are equal, and all wait for the slowest"
    if np.corrcoef(array, seconds)[0, 1] > 0.5:
        return "The slow have got more: a share grows with speed, which is 1 / seconds"
    return "Each sample that rounding leaves over belongs to whoever would be done with it first"


def best_shares(seconds, total):
    """Whole shares, at least 1 each, of the shortest step: each sample to whoever would be done first."""
    shares = np.ones(len(seconds), dtype=int)
    while shares.sum() < total:
        shares[np.argmin((shares + 1) * seconds)] += 1
    return shares


# --- 6.3: a safe rate


def _safe_rate(safe_rate):
    for number, curvatures in (*SAFE, *FAR_SAFE):
        case = f"{workers(number)}, curvatures {', '.join(f'{each:g}' for each in curvatures)}"
        got = _returned(case, safe_rate, np.array(curvatures), number)
        if (array := real_array(got)) is not None and array.size == 1:
            got = array.item()
        known = isinstance(got, Real) and not isinstance(got, bool)
        expect(known, case, f"{got!r:.60} was returned; one number is asked for")
        expect(0 < got <= sys.float_info.max, case, f"{got} was returned; a rate is above 0 and finite")
        _expect_safe(case, float(got), curvatures, number)


def _expect_safe(case, rate, curvatures, number):
    for curvature in sorted(curvatures, reverse=True):
        if not _stable(0.98 * rate, number - 1, curvature):
            there = f"at 98 % of {rate:.4g} a run along the curvature {curvature:g} does not settle"
            expect(False, case, f"{there}. {_why_unsafe(rate, curvatures, number)}")
    if all(_stable(1.02 * rate, number - 1, curvature) for curvature in curvatures):
        more = laws.staleness_limit(number - 1) / max(curvatures) / rate
        there = f"{rate:.4g} is stable, but so is a rate {more:.3g} times as large"
        expect(False, case, f"{there}. {_why_timid(rate, curvatures, number)}")


def _stable(rate, delay, curvature):
    steps = STEPS * max(1, delay // 4)  # what is 2 % off the limit grows or shrinks more slowly
    theta = np.abs(delayed_descent(rate, delay, steps, curvature=curvature))
    return theta[-100:].max() < 1


def _why_unsafe(rate, curvatures, number):
    if any(_is_limit(rate, number - 1, each) for each in (*curvatures, np.mean(curvatures))):
        return "The steepest direction sets the limit: the largest curvature"
    if any(_is_limit(rate, 0, each) for each in curvatures):
        return "That would be right for gradients that are not stale"
    if number > 1 and _is_limit(rate, number - 2, max(curvatures)):
        return _age(number)
    return f"{_age(number)}; and the limit is that of ηλ, so divide by a curvature"


def _why_timid(rate, curvatures, number):
    if _is_limit(rate, number, max(curvatures)):
        return f"{_age(number)}: its own does not count"
    if _is_limit(rate, number - 1, sum(curvatures)):
        return "Directions do not add up: the largest curvature alone sets the limit"
    return "The limit is that of ηλ: divide it by the largest curvature"


def _age(number):
    return f"With {workers(number)} a gradient is K − 1 = {number - 1} updates old"


def _is_limit(rate, delay, curvature):
    return np.isclose(rate, laws.staleness_limit(delay) / curvature, rtol=1e-3)
