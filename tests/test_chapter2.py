"""Chapter 2: its checkers, its pictures' numbers, and what it claims of memory, speed-up and the ring."""

import math
import os

import numpy as np
import pytest
from attempts import accepts, refuses, rejected, rejects, waits_for
from hypothesis import given
from hypothesis import strategies as st

from course_lib import Link, launch, laws, simulate
from course_lib.exercises.chapter2 import (
    check_best_workers,
    check_serial_fractions,
    check_strong_step,
    check_workers_for,
)
from course_lib.pictures.scaling import (
    amdahl_curves,
    measured_speedups,
    replica_memory,
    ring_speedups,
    slowest_of,
    strong_and_weak,
)

EXAMPLE = {"work": 1.0, "nbytes": 100e6, "bandwidth": 1.25e9}
LATENCY = 50e-6
CHECKS = [check_workers_for, check_serial_fractions, check_strong_step, check_best_workers]

test_nothing_is_not_a_failure = waits_for(*CHECKS, stubs=(None, ...))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("other", [7, "a", [1, 2], np.ones(3)])
def test_what_is_no_function_is_asked_about(check, other):
    rejected(check(other), "a function is asked for")


# --- exercise 2.1


def by_formula(p, target):
    rest = 1 / target - (1 - p)
    return None if rest < 1e-12 else math.ceil(round(p / rest, 6))


def by_search(p, target):
    if target * (1 - p) > 1 - 1e-12:
        return None
    n = 1
    while 1 / (1 - p + p / n) < target * (1 - 1e-12):
        n += 1
    return n


def without_tolerance(p, target):
    rest = 1 / target - (1 - p)
    return None if rest <= 0 else math.ceil(p / rest)


def rounds_but_compares_with_zero(p, target):
    rest = 1 / target - (1 - p)
    return None if rest <= 0 else math.ceil(round(p / rest, 6))


def searched_up_to_a_million(p, target):
    for n in range(1, 10**6):
        if 1 / ((1 - p) + p / n) >= target:
            return n


def searched_up_to_a_thousand(p, target):
    return next((n for n in range(1, 1000) if 1 / ((1 - p) + p / n) >= target), None)


def as_a_float(p, target):
    value = by_formula(p, target)
    return value if value is None else np.float64(value)


def by_doubling(p, target):
    if (1 - p) * target >= 1 - 1e-12:
        return None
    low, high = 0, 1
    while 1 / (1 - p + p / high) < target * (1 - 1e-12):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = 1 / (1 - p + p / middle) >= target * (1 - 1e-12)
        low, high = (low, middle) if enough else (middle, high)
    return high


test_workers_for_accepts = accepts(check_workers_for, by_formula, by_search, as_a_float, by_doubling)


def searched_up_to(limit):
    """The bounded search is right for as long as its bound is enough."""

    def attempt(p, target):
        if (1 - p) * target >= 1 - 1e-9:
            return None
        return next((n for n in range(1, limit) if 1 / (1 - p + p / n) >= target - 1e-9), None)

    return attempt


def rounded(digits, least=1e-12):
    def attempt(p, target):
        rest = 1 / target - (1 - p)
        return None if rest < least else math.ceil(round(p / rest, digits))

    return attempt


test_no_shortcut_gets_the_workers = refuses(
    check_workers_for,
    {
        "a constant": lambda p, target: 14,
        "a thousand at most": searched_up_to(1_000),
        "6,000 at most": searched_up_to(6_000),
        "10,000 at most": searched_up_to(10_000),
        "to the nearest": lambda p, target: by_formula(p, target) and round(p / (1 / target - 1 + p)),
        "rounded to 2 digits": rounded(2),
        "rounded to whole numbers": rounded(None),
        "a wide tolerance": rounded(6, least=1e-4),
        "a wider tolerance": rounded(6, least=1e-3),
        "single precision": lambda p, target: by_formula(float(np.float32(p)), target),
        "p = 1 as an afterthought": lambda p, target: (
            math.ceil(target) if p == 1 else by_search(p, target) or 0
        ),
    },
)


@given(p=st.floats(0.5, 0.99), n=st.integers(2, 60))
def test_the_solution_finds_each_number_from_its_own_speedup(p, n):
    assert by_formula(p, laws.amdahl_speedup(p, n)) == n


test_workers_for_rejects = rejects(
    check_workers_for,
    (lambda p, target: int(p / (1 / target - (1 - p))), "14 workers: only 3.8889"),
    (lambda p, target: p / (1 / target - (1 - p)), "workers are whole"),
    (lambda p, target: math.ceil(target), "4 workers: only 2.5"),
    (lambda p, target: by_formula(p, target) + 1, "16 is too many: 15 give"),
    (lambda p, target: by_formula(p, target) or math.inf, "the speed-up stays below 5: return None"),
    (without_tolerance, "3 may come out as 3.0000000000000004"),
    (rounds_but_compares_with_zero, "below 5: return None; numbers are rounded: compare with a"),
    (searched_up_to_a_thousand, "p = 1, target 5000: it returned None, but this target can be reached"),
    (searched_up_to_a_million, "1,000,000 lines, and the search does not end; the speed-up stays below"),
    (lambda p, target: by_formula(p, min(target, 1 / (1 - p))), "with p = 1 nothing is serial"),
    (lambda p, target: "15", "not a number"),
    (lambda p, target: math.inf, "infinity"),
)


# --- exercise 2.2


def fractions(seconds):
    return {n: laws.karp_flatt(seconds[1] / seconds[n], n) for n in seconds if n > 1}


def fractions_by_hand(seconds):
    first = seconds[1]
    return {n: (time / first - 1 / n) / (1 - 1 / n) for n, time in seconds.items() if n != 1}


def fractions_by_numpy(seconds):
    counts = np.array(sorted(set(seconds) - {1}))
    times = np.array([seconds[n] for n in counts]) / seconds[1]
    return dict(zip(counts, (times - 1 / counts) / (1 - 1 / counts), strict=True))


test_serial_fractions_accepts = accepts(
    check_serial_fractions, fractions, fractions_by_hand, fractions_by_numpy
)

test_no_shortcut_gets_the_fractions = refuses(
    check_serial_fractions,
    {
        "a constant": lambda seconds: dict.fromkeys(set(seconds) - {1}, 0.1),
        "the counts of the first case": lambda seconds: {n: fractions(seconds)[n] for n in (2, 3, 4, 7)},
        "eight workers at most": lambda seconds: {n: e for n, e in fractions(seconds).items() if n <= 8},
        "rounded to 3 digits": lambda seconds: {n: round(e, 3) for n, e in fractions(seconds).items()},
        "at least 0": lambda seconds: {n: max(0.0, e) for n, e in fractions(seconds).items()},
        "at most 1": lambda seconds: {n: min(1.0, e) for n, e in fractions(seconds).items()},
        "the longest is the baseline": lambda seconds: fractions({**seconds, 1: max(seconds.values())}),
        "one second is the baseline": lambda seconds: fractions({**seconds, 1: 8.0}),
        "1/N forgotten below": lambda seconds: {n: seconds[n] / seconds[1] - 1 / n for n in seconds if n > 1},
        "single precision": lambda seconds: {n: float(np.float32(e)) for n, e in fractions(seconds).items()},
    },
)


def each(formula):
    """A wrong solution: formula(S, n) for each count."""
    return lambda seconds: {n: formula(seconds[1] / seconds[n], n) for n in seconds if n > 1}


def first_is_the_baseline(seconds):
    first = next(iter(seconds.values()))
    return {n: (seconds[n] / first - 1 / n) / (1 - 1 / n) for n in seconds if n > 1}


def changes_and_forgets(seconds):
    seconds.update(fractions(seconds))


test_serial_fractions_rejects = rejects(
    check_serial_fractions,
    (each(lambda s, n: 1 - laws.karp_flatt(s, n)), "that is the parallel share"),
    (each(lambda s, n: laws.karp_flatt(1 / s, n)), "t_1 / t_N, not t_N / t_1"),
    (each(lambda s, n: 1 / s - 1 / n), "divide by 1 - 1/N"),
    (each(lambda s, n: s / n), "that is the efficiency"),
    (each(lambda s, n: s), "that is the speed-up"),
    (each(lambda s, n: 1 / s), "subtract 1/N first"),
    (each(lambda s, n: max(0, laws.karp_flatt(s, n))), "2 workers faster than twice"),
    (lambda seconds: {1: 0, **fractions(seconds)}, "leave the key 1 out"),
    (lambda seconds: {n: 1 / (1 - 1 / n) for n in seconds}, "it raised ZeroDivisionError; one worker tells"),
    (lambda seconds: {n: seconds["1"] for n in seconds}, "it raised KeyError\nTraceback"),
    (lambda seconds: list(fractions(seconds).values()), "not a dictionary"),
    (lambda seconds: {2: fractions(seconds)[2]}, "the keys are [2]"),
    (first_is_the_baseline, "not 0.1"),
    (changes_and_forgets, "is a return missing?"),
    (each(lambda s, n: "x"), "not a number"),
)


# --- exercise 2.3


def strong_step(comm, samples, seconds, gradient_sum):
    low, high = comm.rank * samples // comm.size, (comm.rank + 1) * samples // comm.size
    comm.compute((high - low) * seconds)
    return comm.all_reduce(gradient_sum(low, high)) / samples


def first_take_the_rest(comm, samples, seconds, gradient_sum):
    size, rest = divmod(samples, comm.size)
    low = comm.rank * size + min(comm.rank, rest)
    high = low + size + (comm.rank < rest)
    total = gradient_sum(low, high)
    for _ in range(low, high):
        comm.compute(seconds)
    return comm.all_reduce(total) / samples


def one_by_one(comm, samples, seconds, gradient_sum):
    mine = range(comm.rank, samples, comm.size)
    comm.compute(len(mine) * seconds)
    return comm.all_reduce(sum((gradient_sum(i, i + 1) for i in mine), 0 * gradient_sum(0, 0))) / samples


def by_array_split(comm, samples, seconds, gradient_sum):
    mine = np.array_split(np.arange(samples), comm.size)[comm.rank]
    low, high = (mine[0], mine[-1] + 1) if len(mine) else (0, 0)
    comm.compute(seconds * len(mine))
    return np.divide(comm.all_reduce(gradient_sum(low, high), op="mean") * comm.size, samples)


test_strong_step_accepts = accepts(
    check_strong_step, strong_step, first_take_the_rest, one_by_one, by_array_split
)


def for_few(comm, samples, seconds, gradient_sum):
    """Right for up to eight workers and a dozen samples."""
    samples = min(samples, 12)
    return strong_step(comm, samples, seconds, gradient_sum)


def in_single_precision(comm, samples, seconds, gradient_sum):
    return strong_step(comm, samples, seconds, lambda *ends: np.float32(gradient_sum(*ends)))


test_no_shortcut_takes_the_step = refuses(
    check_strong_step,
    {
        "zeros": lambda comm, samples, seconds, gradient_sum: 0 * gradient_sum(0, samples),
        "everybody everything": lambda comm, samples, seconds, gradient_sum: (
            gradient_sum(0, samples) / samples
        ),
        "a dozen samples": for_few,
        "a hundredth of a second each": lambda comm, n, seconds, total: strong_step(comm, n, 0.01, total),
        "single precision": in_single_precision,
        "rounded": lambda *given: np.round(strong_step(*given), 6),
    },
)


def step(bounds, reduce=lambda comm, total, samples, count: comm.all_reduce(total) / samples, busy=1.0):
    """A variant: bounds(rank, size, samples) → (low, high)."""

    def variant(comm, samples, seconds, gradient_sum):
        low, high = bounds(comm.rank, comm.size, samples)
        comm.compute(busy * (high - low) * seconds)
        return reduce(comm, gradient_sum(low, high), samples, high - low)

    return variant


def even(rank, size, samples):
    return rank * samples // size, (rank + 1) * samples // size


def rest_forgotten(rank, size, samples):
    return rank * (samples // size), (rank + 1) * (samples // size)


def rounded_up(rank, size, samples):
    part = -(-samples // size)
    return rank * part, (rank + 1) * part


def sum_of_local_means(comm, total, samples, count):
    return comm.all_reduce(total / max(1, count), op="mean")


def reduces_twice(comm, total, samples, count):
    comm.all_reduce(total)
    return comm.all_reduce(total) / samples


def sends_before_it_computes(comm, samples, seconds, gradient_sum):
    low, high = even(comm.rank, comm.size, samples)
    mean = comm.all_reduce(gradient_sum(low, high)) / samples
    comm.compute((high - low) * seconds)
    return mean


def returns_nothing(comm, samples, seconds, gradient_sum):
    strong_step(comm, samples, seconds, gradient_sum)


test_strong_step_rejects = rejects(
    check_strong_step,
    (step(lambda rank, size, samples: (0, samples)), "sample 0 was counted 2 times"),
    (step(lambda rank, size, samples: (0, 0) if rank else (0, samples)), "nobody has more than 6"),
    (step(rest_forgotten), "was counted by nobody"),
    (step(rounded_up), "whole numbers with 0 <= low <= high"),
    (step(even, busy=0), "computed for 0 s"),
    (step(even, busy=2), "1 worker, 12 samples"),
    (step(even, lambda comm, total, samples, count: total / samples), "the mean is"),
    (step(even, lambda comm, total, samples, count: comm.all_reduce(total)), "12 times the mean"),
    (step(even, lambda comm, total, n, count: comm.all_reduce(total, "mean") / n), "0.5 times the mean"),
    (step(even, sum_of_local_means), "one division by all samples"),
    (step(even, reduces_twice), "one all-reduce of the gradient needs"),
    (sends_before_it_computes, "before it had computed"),
    (step(even, lambda *_: 1.0), "returned shape ()"),
    (returns_nothing, "is a return missing?"),
)


# --- exercise 2.4


def best_by_formula(work, nbytes, bandwidth, latency):
    gain = work - 2 * nbytes / bandwidth
    if gain <= 0:
        return 1
    if latency == 0:
        return math.inf
    low = max(1, math.floor(math.sqrt(gain / (2 * latency))))
    return min(low, low + 1, key=lambda k: gain / k + 2 * k * latency)


def best_by_scan(work, nbytes, bandwidth, latency, limit=10**6):
    if latency == 0:
        return math.inf if work > 2 * nbytes / bandwidth else 1
    return int(np.argmin(laws.step_time(work, nbytes, np.arange(1, limit + 1), bandwidth, latency))) + 1


def best_by_walking(work, nbytes, bandwidth, latency):
    def seconds(k):
        return work / k + 2 * (k - 1) * (latency + nbytes / (k * bandwidth))

    if latency == 0:
        return math.inf if seconds(2) < seconds(1) else 1
    k = 1
    while seconds(k + 1) < seconds(k):
        k += 1
    return k


test_best_workers_accepts = accepts(
    check_best_workers, best_by_formula, best_by_scan, best_by_walking, laws.best_ranks
)


def nearest(least, whole=round):
    """The square root made whole, where there is a turning point."""

    def attempt(work, nbytes, bandwidth, latency):
        gain = work - 2 * nbytes / bandwidth
        if gain <= 0 or latency == 0:
            return best_by_formula(work, nbytes, bandwidth, latency)
        return max(least, whole(math.sqrt(gain / (2 * latency))))

    return attempt


def scanned(limit):
    return lambda *link: best_by_scan(*link, limit=limit)


test_no_shortcut_gets_the_best = refuses(
    check_best_workers,
    {
        "a constant": lambda *link: 92,
        "the nearest": nearest(0),
        "the nearest, at least 1": nearest(1),
        "rounded down": nearest(1, math.floor),
        "rounded up": nearest(1, math.ceil),
        "1,000 at most": scanned(1_000),
        "5,000 at most": scanned(5_000),
        "10,000 at most": scanned(10_000),
        "only powers of 2": lambda *link: (
            2 ** round(math.log2(best_by_formula(*link)))
            if math.isfinite(best_by_formula(*link))
            else math.inf
        ),
        "never infinite": lambda *link: min(best_by_formula(*link), 10**6),
    },
)


def turning(square):
    return lambda *link: math.floor(math.sqrt(square(*link)))


test_best_workers_rejects = rejects(
    check_best_workers,
    (turning(lambda t, m, b, a: t / (2 * a)), "subtract it from the work"),
    (turning(lambda t, m, b, a: (t - 2 * m / b) / a), "2 latencies a worker"),
    (turning(lambda t, m, b, a: (t - 2 * m / b) / (2 * a)), "compare both neighbours"),
    (lambda t, m, b, a: math.sqrt((t - 2 * m / b) / (2 * a)), "workers are whole numbers"),
    (lambda t, m, b, a: best_by_formula(t, m, b, a or 1e-9), "more always helps"),
    (lambda t, m, b, a: math.inf if a == 0 else best_by_formula(t, m, b, a), "stay at 1"),
    (lambda t, m, b, a: math.inf, "there is a best K"),
    (lambda t, m, b, a: best_by_formula(t, m, b, a) * a / a, "it raised ZeroDivisionError; without latency"),
    (lambda t, m, b, a: round(math.sqrt((t - 2 * m / b) / (2 * a))) if a else math.inf, "ValueError; 2M/B"),
    (lambda t, m, b, a: 92, "92 workers: |take"),
    (lambda t, m, b, a: print(end="") if t else t, "is a return missing?"),
    (lambda t, m, b, a: 0, "workers are whole numbers|more"),
    (lambda t, m, b, a: math.nan, "not a number"),
)


# --- what the chapter claims


def test_a_replica_of_seven_billion_fits_no_gpu_of_80_gb():
    bytes_each = {"weights": 2, "gradients": 2, "master": 4, "mean": 4, "square": 4}
    picture = replica_memory(bytes_each, 7e9, [1, 2, 8], 80e9)
    assert "112 GB" in picture.alt and "112 GB" in title(picture) and len(title(picture)) <= 60
    assert "80 80" in picture.numbers[1]


def lesson(comm):
    if comm.rank == 0:
        comm.compute(2)
    comm.barrier()
    comm.compute(8 / comm.size)


@pytest.mark.parametrize("ranks", [1, 2, 7])
def test_the_lesson_is_amdahls(ranks):
    seconds = simulate(lesson, ranks, link=Link(0, math.inf)).seconds
    assert 10 / seconds == pytest.approx(laws.amdahl_speedup(0.8, ranks))


def test_the_ring_without_latency_is_amdahl_in_disguise():
    workers = np.arange(1, 5001)
    speedups = laws.speedup_with_ring(ranks=workers, **EXAMPLE)
    assert np.allclose(speedups, laws.amdahl_speedup(1 - 0.16, workers), rtol=1e-12)
    assert np.all(np.diff(speedups) > 0) and speedups.max() < 6.25


def test_a_slow_link_makes_every_extra_worker_a_loss():
    """2M/B above the work: bandwidth alone makes a step longer."""
    seconds = laws.step_time(0.1, EXAMPLE["nbytes"], np.array([1, 2, 4, 8]), EXAMPLE["bandwidth"])
    assert np.allclose(seconds, [0.1, 0.13, 0.145, 0.1525])
    assert laws.best_ranks(0.1, EXAMPLE["nbytes"], EXAMPLE["bandwidth"], 0) == 1


def test_the_same_seconds_by_two_yardsticks():
    """90 % on 512: a tenth of the class's time, 0.00022 of the time one worker would need."""
    speedup = 0.9 * 512
    gustafson, amdahl = (512 - speedup) / 511, laws.karp_flatt(speedup, 512)
    assert laws.gustafson_speedup(1 - gustafson, 512) == pytest.approx(speedup)
    assert gustafson == pytest.approx(0.1, rel=0.01) and amdahl == pytest.approx(gustafson / speedup)


def ring_step(comm):
    comm.compute(1.0 / comm.size)
    comm.all_reduce(np.zeros(12 * comm.size))


def test_92_workers_are_best_by_simulation_too():
    def seconds(workers):
        nbytes = 8 * 12 * workers
        link = Link(LATENCY, nbytes * EXAMPLE["bandwidth"] / EXAMPLE["nbytes"])
        return simulate(ring_step, workers, link=link).seconds

    times = {workers: seconds(workers) for workers in (91, 92, 93)}
    assert min(times, key=times.get) == 92
    assert times == pytest.approx(
        {workers: laws.step_time(ranks=workers, latency=LATENCY, **EXAMPLE) for workers in times}
    )


def threads(comm):
    import torch

    return torch.get_num_threads()


@pytest.mark.parametrize(("ranks", "told"), [(1, None), (2, None), (1, 1)])
def test_c21_threads_of_a_rank(ranks, told):
    """C21: max(1, cores // ranks) unless told; one thread for an honest baseline."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert launch(threads, ranks, threads=told).values == [told or max(1, cores // ranks)] * ranks


# --- pictures


def title(picture):
    return picture.numbers[0].split(" [")[0]


def test_pictures_show_their_numbers():
    curves = amdahl_curves([0.5, 0.8])
    assert "80% parallel: limit 5, nine tenths of it from 36 workers on" in curves.alt
    assert any(line.endswith("36 | 4.5") for line in curves.numbers)
    measured = measured_speedups({"matrix products": {2: 1.6}, "slept step": {2: 1.9, 4: 3.2}})
    assert "1.60 on 2 workers, serial fraction 0.25" in measured.alt
    assert title(measured).startswith("Slept step, 4 workers: 3.20 times")
    both = strong_and_weak(0.8, {"strong": {4: 2.5}, "weak": {4: 3.4}})
    assert title(both).startswith("64 workers: 4.7 times as fast, or 51 times the work")
    ring = ring_speedups(**EXAMPLE, latency=LATENCY, simulated={4: 2.7})
    assert "highest at 92 workers, 5.61" in ring.alt and "6.25" in ring.alt
    slowest = slowest_of({4: 2.0})
    assert "2.00 for 4" in slowest.alt and "6.12 at 256" in slowest.alt
    assert max(len(title(picture)) for picture in (curves, measured, both, ring, slowest)) <= 60


@pytest.mark.parametrize("speedup", [0.4, 1.0, 2.5])
def test_a_noisy_measurement_can_be_drawn(speedup):
    """Slower than one worker, or faster than two: serial fractions above 1 and below 0."""
    picture = measured_speedups({"computed": {2: speedup}})
    assert f"{speedup:.2f} on 2" in picture.alt
    curve = picture.numbers[2]
    assert ("no such curve" in curve) == ("nan" in curve) == (speedup != 1.0)
