"""Checkers of chapter 12's exercises: a ring, a cluster and a compressed gradient, worked out in code."""

import math

from course_lib import laws
from course_lib.exercises.asking import ask, expect_number
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import WORKER_COUNTS, checked, expect, workers
from course_lib.labels import label

# Bytes a parameter under mixed-precision Adam (Rajbhandari et al. 2020): whole on each GPU, cut over all.
STAGES = {0: (16, 0), 1: (4, 12), 2: (2, 14), 3: (0, 16)}
AUTOCAST = {0: (16, 0), 1: (8, 8), 2: (4, 12), 3: (0, 16)}  # the other recipe: 4-byte weights and gradients
# (parameters, width, ranks, bandwidth, latency): small ones for each number of workers, then some far away.
RINGS = [
    (parameters, width, ranks, 1.25e9, latency)
    for parameters, width, latency in ((25e6, 4, 0.0), (7e9, 2, 5e-6), (1000, 4, 50e-6))
    for ranks in WORKER_COUNTS
]
RINGS += [(70e9, 2, 1024, 50e9, 2e-6), (10, 1, 3, 1e6, 0.0), (1e6, 8, 300, 2e8, 1e-3)]
SAVINGS = [(share, ranks) for ranks in WORKER_COUNTS for share in (0.5, 0.25, 0.1)]
SAVINGS += [(0.01, 1000), (0.00123, 512), (1.2, 16), (0.0, 5)]


@exercise("12.1")
def check_ring_seconds(ring_seconds):
    """Exercise 12.1: ring_seconds(parameters, width, ranks, bandwidth, latency) → seconds of the ring."""
    return checked(lambda: _ring_seconds(ring_seconds), label("ch12_ring_passed"))


@exercise("12.2")
def check_least_ranks(least_ranks):
    """Exercise 12.2: least_ranks(parameters, stage, memory) → the fewest GPUs that hold it, or None."""
    return checked(lambda: _least_ranks(least_ranks), label("ch12_fit_passed"))


@exercise("12.3")
def check_wire_saving(saving):
    """Exercise 12.3: saving(share, ranks, collective) → the share of a ring's bytes that is saved."""
    return checked(lambda: _saving(saving), label("ch12_wire_passed"))


def _ring_seconds(ring_seconds):
    for parameters, width, ranks, b, latency in RINGS:
        case = label(
            "ch12_ring_case",
            parameters=parameters,
            width=width,
            workers=workers(ranks),
            bandwidth=b,
            latency=latency,
        )
        m = parameters * width
        looks = {
            "ch12_ring_bits": laws.ring_time(m, ranks, b / 8, latency),
            "ch12_ring_phase": laws.ring_time(m, ranks, b, latency) / 2,
            "ch12_ring_ms": 1e3 * laws.ring_time(m, ranks, b, latency),
            "ch12_ring_whole": 2 * (ranks - 1) * (latency + m / b),
            "ch12_ring_width": laws.ring_time(parameters, ranks, b, latency),
            "ch12_ring_latency": laws.ring_time(m, ranks, b),
            "ch12_ring_rounds": 2 * ranks * (latency + m / (ranks * b)),
        }
        looks["ch12_ring_latency "] = laws.ring_time(m, ranks, b) + latency
        got = ask(case, ring_seconds, parameters, width, ranks, b, latency)
        _expect_value(case, got, laws.ring_time(m, ranks, b, latency), looks)


def _least_ranks(least_ranks):
    for parameters, stage, memory in (
        (1e9, 0, 16e9),
        (7e9, 0, 80e9),
        (7e9, 1, 80e9),
        (7e9, 2, 24e9),
        (7e9, 2, 14e9),
        (7e9, 2, 12e9),
        (7e9, 3, 24e9),
        (1e9, 3, 8e9),
        (1e9, 2, 3e9),
        (13e9, 1, 80e9),
        (1e9, 1, 80e9),
        (671e9, 3, 80e9),
        (1e12, 2, 2.00015e12),  # 93,334: nobody counts up to that by hand
    ):
        _expect_ranks(least_ranks, parameters, stage, memory)


def _expect_ranks(least_ranks, parameters, stage, memory):
    case = label("ch12_fit_case", parameters=parameters, stage=stage, memory=memory)
    whole, cut = (each * parameters for each in STAGES[stage])
    never = memory < whole or (memory == whole and cut > 0)
    nothing_left = label("ch12_fit_full" if cut else "ch12_fit_nothing") if memory == whole else ""
    got = ask(case, least_ranks, parameters, stage, memory, hint=nothing_left)
    if never:
        expect(got is None, case, label("ch12_fit_never", got=got, rest=whole))
        return
    wanted = max(1, math.ceil(cut / (memory - whole) - 1e-9)) if cut else 1
    exactly = math.isclose(whole + cut / wanted, memory)
    expect(got is not None, case, label("ch12_fit_exactly" if exactly else "ch12_fit_none", ranks=wanted))
    expect_number(case, got)
    good = math.isfinite(got) and got >= 1 and got == int(got)
    expect(good, case, label("ch12_fit_whole", got=got))
    need = whole + cut / got
    whole, cut = (each * parameters for each in AUTOCAST[stage])
    recipe = label("ch12_fit_autocast") if whole < memory and got == math.ceil(cut / (memory - whole)) else ""
    expect(got >= wanted, case, label("ch12_fit_few", ranks=int(got), need=need))
    expect(got <= wanted, case, label("ch12_fit_many", ranks=int(got), fewer=wanted) + recipe)


def _saving(saving):
    for share, ranks in SAVINGS:
        for collective in ("ring", "all_gather"):
            case = label("ch12_wire_case", share=share, workers=workers(ranks), collective=collective)
            wanted = laws.wire_saving(share, ranks, collective) if ranks > 1 else 0.0
            arrays = 2 * (ranks - 1) / ranks if collective == "ring" else ranks - 1
            looks = {
                "ch12_wire_ring": 1 - share * arrays,
                "ch12_wire_sent": 1 - wanted,
                "ch12_wire_clipped": max(0.0, wanted),
                "ch12_wire_payload": 1 - share,
            }
            one = label("ch12_wire_one") if ranks == 1 else ""
            got = ask(case, saving, share, ranks, collective, hint=one)
            _expect_value(case, got, wanted, looks if ranks > 1 else {}, one)


def _expect_value(case, got, wanted, looks, hint=""):
    """A number near `wanted`; else what it looks like, {key of a hint: wrong value}, or `hint`."""
    expect(got is not None, case, label("ch12_returned_none"))
    expect_number(case, got)
    got = float(got)  # of a Fraction, say
    if not _near(got, wanted):
        hint = next((label(key.strip()) for key, wrong in looks.items() if _near(got, wrong)), hint)
        digits = 5 if f"{got:.5g}" != f"{wanted:.5g}" else 12
        texts = {"got": f"{got:.{digits}g}", "wanted": f"{wanted:.{digits}g}"}
        expect(False, case, label("ch12_off", **texts, hint=hint))


def _near(one, other):
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)
