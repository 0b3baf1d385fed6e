"""Checkers of chapter 1's exercises: bytes over a link, who waits how long, places on machines."""

import math

import numpy as np

from course_lib.exercises.asking import ask
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import WORKER_COUNTS, checked, expect, real_array, workers
from course_lib.labels import label
from course_lib.pictures.wording import exact_text

GRADIENTS = (1200, 27_728, 1000, 14_000_000_000)  # bytes
FAR = 1024  # students: no table of the small classes has them, and 2 gradients are nearly right
READY = {  # milliseconds, a student each
    1: (57,),
    2: (40, 55),
    3: (62, 57, 60),
    4: (57, 57, 114, 57),
    7: (30, 30, 80, 45, 80, 31.25, 60),
    40: (1e6 + 0.25, 0, *range(500, 4300, 100)),
}
PLACES = ((8, 4), (9, 3), (14, 7), (6, 2), (6, 6), (4, 1))  # ranks, of them on each node
FAR_RANKS = ((16_383, 8), (1000, 72), (71, 72))  # rank, processes on each node
TELLING = 6  # the rank tried first, where no two slips give the same


@exercise("1.1")
def check_link_bytes(link_bytes):
    """Exercise 1.1: link_bytes(gradient, ranks) → bytes over one link of the ring for one mean."""
    return checked(lambda: _link_bytes(link_bytes), label("ch1_link_passed"))


@exercise("1.2")
def check_waits(waits):
    """Exercise 1.2: waits(ready) → how long each waits for the last, a list."""
    return checked(lambda: _waits(waits), label("ch1_waits_passed"))


@exercise("1.3")
def check_place(place):
    """Exercise 1.3: place(rank, per_node) → (node, local rank)."""
    return checked(lambda: _place(place), label("ch1_place_passed"))


# --- bytes over a link


def _link_bytes(link_bytes):
    for ranks in sorted((*WORKER_COUNTS, FAR), key=lambda ranks: (ranks != 4, ranks)):
        for gradient in GRADIENTS:
            case = label("ch1_link_case", workers=workers(ranks), gradient=f"{gradient:,}")
            value = _number(case, ask(case, link_bytes, gradient, ranks))
            turns = 2 * (ranks - 1)
            if abs(value - turns * gradient / ranks) > turns:  # chunks may differ by a byte
                why = label(f"ch1_link_{_wrong_bytes(value, gradient, ranks)}", ranks=ranks, turns=turns)
                expect(False, case, label("ch1_link_wrong", value=f"{value:,.0f}", why=why))


def _wrong_bytes(value, gradient, ranks):
    slips = {
        "alone": None if ranks > 1 else value,
        "whole_gradient": gradient,
        "one_chunk": gradient / ranks,
        "one_trip": (ranks - 1) * gradient / ranks,
        "twice_around": 2 * gradient,
        "whole_each_time": 2 * (ranks - 1) * gradient,
        "one_trip_whole": (ranks - 1) * gradient,
        "kilo": 2 * (ranks - 1) * gradient / ranks / 1e3 if ranks > 1 else None,
        "kibi": 2 * (ranks - 1) * gradient / ranks / 1024 if ranks > 1 else None,
    }
    near = (name for name, slip in slips.items() if slip is not None and np.isclose(value, slip, rtol=1e-6))
    return next(near, "unknown")


# --- waiting


def _waits(waits):
    for ready in sorted(READY.values(), key=lambda ready: (len(ready) != 4, len(ready))):
        case = label("ch1_waits_case", ready=_listed(ready))
        mine = list(ready)
        value = ask(case, waits, mine)
        expect(mine == list(ready), case, label("ch1_waits_changed"))
        value = _numbers(case, value, label("ch1_of_waits"))
        right = np.max(ready) - np.array(ready)
        wanted = value.shape == right.shape
        expect(wanted, case, label("ch1_waits_count", got=value.size, wanted=len(ready)))
        if not np.allclose(value, right, atol=1e-6):
            why = label(f"ch1_waits_{_wrong_waits(value, np.array(ready))}")
            expect(False, case, label("ch1_waits_wrong", value=_listed(value), why=why))


def _wrong_waits(value, ready):
    slips = {
        "sign": ready - ready.max(),
        "first": ready - ready.min(),
        "mean": ready.mean() - ready,
        "ready": ready,
        "last": np.full(len(ready), ready.max()),
        "neighbour": np.maximum(np.roll(ready, 1) - ready, 0),
    }
    return next((name for name, slip in slips.items() if np.allclose(value, slip)), "unknown")


# --- places


def _place(place):
    for ranks, per_node in PLACES:
        for rank in sorted(range(ranks), key=lambda rank: rank != TELLING):
            _place_of(place, rank, per_node, ranks)
    for rank, per_node in FAR_RANKS:
        _place_of(place, rank, per_node, (rank // per_node + 1) * per_node)


def _place_of(place, rank, per_node, ranks):
    case = label("ch1_place_case", rank=rank, per_node=per_node)
    value = _numbers(case, ask(case, place, rank, per_node), label("ch1_of_places"))
    expect(value.shape == (2,), case, label("ch1_place_pair", got=value.size))
    if not np.array_equal(value, divmod(rank, per_node)):
        why = label(f"ch1_place_{_wrong_place(value.tolist(), rank, per_node, ranks)}", rank=rank)
        expect(False, case, label("ch1_place_wrong", value=_listed(value), why=why))


def _wrong_place(value, rank, per_node, ranks):
    node, local = divmod(rank, per_node)
    nodes = ranks // per_node
    slips = {
        "fraction": [rank / per_node, local],
        "always_four": [rank // 4, rank % 4] if per_node != 4 else [math.nan, math.nan],
        "swapped": [local, node],
        "local_is_rank": [node, rank],
        "one_by_one": [rank % nodes, rank // nodes],
        "from_one": [node + 1, local + 1],
        "node_from_one": [node + 1, local],
        "local_from_one": [node, local + 1],
    }
    return next((name for name, slip in slips.items() if np.allclose(value, slip)), "unknown")


# --- what came back


def _number(case, value):
    expect(value is not None, case, label("ch1_none"))
    array = real_array(value)
    single = array is not None and array.size == 1 and np.isfinite(array).all()
    expect(single, case, label("ch1_no_number", kind=type(value).__name__))
    return float(np.asarray(array, float).reshape(()))


def _numbers(case, value, wanted):
    expect(value is not None, case, label("ch1_none"))
    array = real_array(value)
    several = array is not None and array.ndim == 1 and np.isfinite(array).all()
    expect(several, case, label("ch1_no_numbers", kind=type(value).__name__, wanted=wanted))
    return np.asarray(array, float)


def _listed(values):
    return "[" + ", ".join(exact_text(float(value)) for value in values) + "]"
