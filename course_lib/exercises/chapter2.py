"""Checkers of chapter 2's exercises: the laws of speed-up, and a step that shares its samples."""

import math
from numbers import Real

import numpy as np

from course_lib import laws
from course_lib.exercises.asking import ask, expect_function, expect_number, is_empty
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

# Of exercise 2.1: (p, target). 3.8237 needs 13.002 workers; the last two are far outside the others.
REACHED = (
    *((0.8, 3.9), (0.75, 2), (0.9, 5.3), (0.99, 87), (1.0, 6.5), (1.0, 5_000), (0.5, 1.4), (0.5, 1.5)),
    *((0.8, 3.8237), (0.9999, 4_000), (1.0, 12_000)),
)
BEYOND = (0.8, 6), (0.75, 4), (0.8, 5), (0.9, 10), (0.75, 100), (0.0, 1.5)


@exercise("2.1")
def check_workers_for(workers_for):
    """Exercise 2.1: workers_for(p, target) → the least N whose Amdahl speed-up reaches target, or None."""
    return checked(lambda: _workers_for(workers_for), "targets within reach, at the limit and beyond it")


@exercise("2.2")
def check_serial_fractions(serial_fractions):
    """Exercise 2.2: serial_fractions({workers: seconds}) → {workers: serial fraction}, from 2 workers."""
    return checked(lambda: _serial_fractions(serial_fractions), "times on 1 to 100,000 workers")


@exercise("2.3")
def check_strong_step(strong_step):
    """Exercise 2.3: strong_step(comm, samples, seconds, gradient_sum) → the mean gradient, work shared."""
    return checked(lambda: _strong_step(strong_step), "1 to 25 workers: shares, seconds, values, bytes")


@exercise("2.4")
def check_best_workers(best_workers):
    """Exercise 2.4: best_workers(work, nbytes, bandwidth, latency) → the K of the shortest step."""
    return checked(lambda: _best_workers(best_workers), "slow and fast links, with and without latency")


def _workers_for(workers_for):
    for p, target in REACHED:
        case = f"p = {p:g}, target {target:g}"
        hint = "; with p = 1 nothing is serial: every target can be reached" if p == 1 else ""
        value = ask(case, workers_for, p, target, hint=hint)
        expect(
            value is not None, case, "it returned None, but this target can be reached; is a return missing?"
        )
        expect_number(case, value)
        expect(math.isfinite(value), case, "it returned infinity, but this target can be reached")
        expect(value >= 1, case, f"it returned {value:g}; there is at least one worker")
        expect(
            value == int(value), case, f"it returned {value:.5g}; workers are whole: take the next larger one"
        )
        speedup = laws.amdahl_speedup(p, int(value))
        expect(speedup >= target * (1 - 1e-9), case, f"{workers(int(value))}: only {speedup:.5g}")
        fewer = laws.amdahl_speedup(p, int(value) - 1) if value > 1 else 0.0
        exact = _near(fewer, target)
        hint = "; numbers are rounded, so 3 may come out as 3.0000000000000004" if exact else ""
        expect(
            fewer < target * (1 - 1e-9),
            case,
            f"{value:g} is too many: {value - 1:g} give {fewer:.5g} already{hint}",
        )
    for p, target in BEYOND:
        case, limit = f"p = {p:g}, target {target:g}", laws.amdahl_limit(p)
        rounded = "; numbers are rounded: compare with a tolerance" if _near(target, limit) else ""
        hint = f"; the speed-up stays below {limit:g}: return None{rounded}"
        value = ask(case, workers_for, p, target, hint=hint)
        expect(value is None, case, f"it returned {value!r}{hint}")


def _serial_fractions(serial_fractions):
    counts = (4, 1, 2, 7, 3)  # not in order: the time of one worker is found by its key
    for fraction in (0.1, 0.0, 0.5, 1.0):
        case = f"a serial fraction of {fraction:g}"
        _compare_fractions(case, serial_fractions, {k: 8 * (fraction + (1 - fraction) / k) for k in counts})
    overhead = {k: 2.0 / k + 0.05 * k * (k > 1) for k in counts}
    _compare_fractions("an overhead that grows", serial_fractions, overhead)
    _compare_fractions("2 workers faster than twice", serial_fractions, {1: 2.0, 2: 0.8})
    far = {512: 0.0117, 1: 5.0, 3: 6.5, 100_000: 0.01}
    _compare_fractions("3 workers slower than one, 100,000 faster", serial_fractions, far)


def _compare_fractions(case, serial_fractions, seconds):
    """The learner's fractions of `seconds` are Karp and Flatt's, or a hint at what they are instead."""
    wanted = {k: laws.karp_flatt(seconds[1] / seconds[k], k) for k in seconds if k > 1}
    alone = "; one worker tells nothing of the fraction (0/0): leave the key 1 out"
    got = ask(case, serial_fractions, dict(seconds), hint=alone)
    expect(got is not None, case, "it returned None; is a return missing?")
    expect(
        isinstance(got, dict),
        case,
        f"it returned a {type(got).__name__}, not a dictionary {{workers: fraction}}",
    )
    expect(1 not in got, case, alone.removeprefix("; "))
    keys = sorted(got) if all(isinstance(key, Real) for key in got) else list(got)
    expect(set(got) == set(wanted), case, f"the keys are {keys}, not {sorted(wanted)}")
    for k in sorted(wanted):
        expect_number(f"{case}, {workers(k)}", got[k])
        if not _near(got[k], wanted[k]):
            what = f"it returned {got[k]:.5g}, not {wanted[k]:.5g}{_mixed_up(got[k], wanted[k], seconds, k)}"
            expect(False, f"{case}, {workers(k)}", what)


def _mixed_up(got, wanted, seconds, k):
    """What a wrong fraction looks like, as the end of a sentence."""
    speedup = seconds[1] / seconds[k]
    looks = {
        "; that is the parallel share": 1 - wanted,
        "; the speed-up is t_1 / t_N, not t_N / t_1": (speedup - 1 / k) / (1 - 1 / k),
        "; divide by 1 - 1/N as well": 1 / speedup - 1 / k,
        "; that is the efficiency S / N": speedup / k,
        "; that is the speed-up": speedup,
        "; subtract 1/N first": 1 / speedup,
    }
    return next((text for text, value in looks.items() if _near(got, value)), "")


def _strong_step(strong_step):
    cases = [
        (ranks, *rest) for ranks in WORKER_COUNTS for rest in ((12, 4, 0.01), (10, 3, 0.01), (3, 5, 0.25))
    ]
    for ranks, samples, size, seconds in (*cases, (25, 1013, 2, 1e-5)):
        case = f"{workers(ranks)}, {samples} samples, gradients of length {size}"
        expect_function(case, strong_step)
        _try_step(case, strong_step, ranks, samples, size, seconds)


def _try_step(case, strong_step, ranks, samples, size, seconds):
    data = np.random.default_rng([ranks, samples]).normal(size=(samples, size))
    asked = [[] for _ in range(ranks)]

    def worker(comm):
        def gradient_sum(low, high):
            good = (
                all(isinstance(end, int | np.integer) for end in (low, high)) and 0 <= low <= high <= samples
            )
            expect(
                good, case, f"gradient_sum({low}, {high}): whole numbers with 0 <= low <= high <= {samples}"
            )
            asked[comm.rank] += range(low, high)
            return data[low:high].sum(axis=0)

        value = strong_step(comm, samples, seconds, gradient_sum)
        missing = value is None and not is_empty(strong_step)
        expect(not missing, case, f"rank {comm.rank} returned None; is a return missing?")
        return value

    run = run_attempt(case, worker, ranks)
    _expect_shares(case, asked, samples)
    _expect_seconds(case, run, asked, seconds)
    _expect_mean(case, run.values, data.mean(axis=0), ranks)
    _expect_bytes(case, run, ranks, 8 * size)


def _expect_shares(case, asked, samples):
    """Every sample counted by one worker, once, and nobody has more than the most even cut gives."""
    counts = np.bincount(np.concatenate(asked).astype(int), minlength=samples)
    expect(counts.max() <= 1, case, f"sample {int(np.argmax(counts))} was counted {counts.max()} times")
    expect(counts.min() == 1, case, f"sample {int(np.argmin(counts))} was counted by nobody")
    most = max(range(len(asked)), key=lambda rank: len(asked[rank]))
    even = math.ceil(samples / len(asked))
    expect(
        len(asked[most]) <= even,
        case,
        f"rank {most} has {len(asked[most])} samples; cut evenly, nobody has more than {even}",
    )


def _expect_seconds(case, run, asked, seconds):
    """Each rank was busy for as long as its own samples take, before it reduced."""
    for rank, mine in enumerate(asked):
        busy = [span for span in run.spans if span.rank == rank and span.kind == "compute"]
        spent, due = sum(span.stop - span.start for span in busy), len(mine) * seconds
        expect(
            _near(spent, due),
            case,
            f"rank {rank} computed for {spent:.4g} s; its {len(mine)} samples take {due:.4g} s",
        )
        sent = [message.start for message in run.messages if message.source == rank]
        early = busy and sent and min(sent) < max(span.stop for span in busy) - 1e-12
        expect(not early, case, f"rank {rank} sent something before it had computed its samples")


def _expect_mean(case, values, wanted, ranks):
    for rank, value in enumerate(values):
        known = real_array(value) is not None
        expect(known, case, f"rank {rank} returned {type(value).__name__}, not an array of numbers")
        shape = np.shape(value)
        expect(shape == wanted.shape, case, f"rank {rank} returned shape {shape}, not {wanted.shape}")
        expect_numbers(case, rank, value)
        if not np.allclose(value, wanted, rtol=1e-12, atol=1e-12):
            ratio = float(np.median(np.asarray(value) / wanted))
            hint = ": local sums need op='sum', then one division by all samples"
            hint = (
                f"; it is {ratio:.4g} times the mean"
                if _near(ratio % 1, 0) or _near(ratio * ranks, 1)
                else hint
            )
            expect(
                False,
                case,
                f"rank {rank} returned {np.round(value, 4)[:3]}, the mean is {wanted.round(4)[:3]}{hint}",
            )


def _expect_bytes(case, run, ranks, nbytes):
    """No more travels than one ring all-reduce of the gradient."""
    carried, due = sum(message.nbytes for message in run.messages), 2 * (ranks - 1) * nbytes
    expect(
        carried <= due, case, f"{carried} bytes travelled; one all-reduce of the gradient needs {due} in all"
    )


def _best_workers(best_workers):
    cases = (
        (1.0, 100e6, 1.25e9, 50e-6),
        (1.0, 0.0, 1.25e9, 50e-6),
        (0.3, 20e6, 12.5e9, 10e-6),
        (2.0, 400e6, 1.25e9, 1e-3),
        (0.05, 1e6, 1e9, 1e-3),
        (1.0, 100e6, 1.25e9, 0.0),
        (0.1, 100e6, 1.25e9, 50e-6),
        (0.1, 100e6, 1.25e9, 0.0),
        (0.05, 1e6, 1e9, 0.0115),  # the square root is 1.44: 2 workers, not 1
        (0.05, 1e6, 1e9, 0.5),  # 0.22: there is at least one
        (300.0, 10e6, 12.5e9, 1e-6),  # 12,247: far outside the others
    )
    for link in cases:
        work, nbytes, bandwidth, latency = link
        case = f"work {work:g} s, {nbytes / 1e6:g} MB, {bandwidth / 1e9:g} GB/s, latency {latency * 1e6:g} µs"
        value, best = ask(case, best_workers, *link, hint=_edge(*link)), laws.best_ranks(*link)
        expect(value is not None, case, "it returned None; is a return missing?")
        expect_number(case, value)
        if best == math.inf:
            expect(value == math.inf, case, f"it returned {value:g}{_edge(*link)}")
            continue
        if best == 1:
            expect(value == 1, case, f"it returned {value:g}{_edge(*link)}")
            continue
        expect(math.isfinite(value), case, "it returned infinity; with latency there is a best K")
        expect(
            value == int(value) and value >= 1, case, f"it returned {value:.5g}; workers are whole numbers"
        )
        mine, least = (laws.step_time(work, nbytes, int(k), bandwidth, latency) for k in (value, best))
        hint = _turning_point(value, work, nbytes, bandwidth, latency)
        expect(
            mine <= least * (1 + 1e-12),
            case,
            f"{workers(int(value))}: {mine:.7g} s, {best:g} take {least:.7g} s{hint}",
        )


def _edge(work, nbytes, bandwidth, latency):
    """What is special where there is no turning point, as the end of a sentence."""
    if 2 * nbytes / bandwidth >= work:
        return "; 2M/B alone takes as long as the work or longer: stay at 1"
    return "; without latency more always helps: math.inf" if latency == 0 else ""


def _turning_point(value, work, nbytes, bandwidth, latency):
    """Which term a wrong turning point has forgotten, as the end of a sentence."""
    gain = work - 2 * nbytes / bandwidth
    looks = {
        "; the ring's 2M/B is not gained back: subtract it from the work": work / (2 * latency),
        "; there are 2(K-1) rounds, so 2 latencies a worker": gain / latency,
        "; compare both neighbours of the square root": None,
    }
    for text, square in looks.items():
        if square is None or abs(value - math.sqrt(square)) <= 1:
            near = abs(value - math.sqrt(gain / (2 * latency))) <= 1
            if (square is None) == near:
                return text
    return ""


def _near(one, other):
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
