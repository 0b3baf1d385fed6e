"""Chapter 5: its checkers accept what is right and reject what is wrong, with a message that helps."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from attempts import accepts, rejected, rejects, waits_for
from waiting import limit

from course_lib import Link, RankError, collectives, launch, laws, simulate
from course_lib.exercises import chapter5
from course_lib.exercises.chapter5 import check_link, check_rank, check_ring, hand_arrays, passed_on
from course_lib.pictures import all_reduce as pictures

ROOT = Path(__file__).resolve().parents[1]


# --- 5.1


def played(numbers):
    return check_rank(2, numbers)


test_nothing_played_is_not_a_failure = waits_for(played, stubs=[[None] * 4, [...] * 4])

test_the_right_numbers_pass = accepts(played, [300, 220, 111, 4444], np.array([300, 220, 111, 4444]))


@pytest.mark.parametrize("rank", range(4))
def test_the_library_s_numbers_pass(rank):
    assert check_rank(rank, passed_on()[rank][:4]).passed


test_slips_by_hand_are_explained = rejects(
    played,
    ([100, 220, 111, 4444], "rank 2 starts with chunk 2"),
    ([200, 220, 111, 4444], "starts with its own chunk 2"),
    ([300, 200, 111, 4444], "add what has just arrived"),
    ([300, 20, 111, 4444], "add your own number of chunk 1"),
    ([300, 220, 555, 4444], "pass on chunk 0"),
    ([300, 220, 111, 400], "adding is over"),
    ([300, 220, 111, 4044], "add your own number of chunk 3"),
    ([300, 220, 111, None], "round 4: this number is missing"),
    ([300, 220, 111], "3 numbers"),
    ([300, "220", 111, 4444], "'220' is not a number"),
)


test_shortcuts_by_hand_are_refused = rejects(
    played,
    ([300] * 4, "round 2"),
    ([300, 220, 111, 4444.4], "round 4"),
    ([300, 220, 111, 4444, 1111], "5 numbers"),
    ([400, 440, 444, 4444], "starts with its own chunk 2"),
    ([0, 0, 0, 0], "starts with its own chunk 2"),
    ("4444", "no list"),
    (3, "no list"),
)

test_no_list_yet_is_not_a_failure = waits_for(played, stubs=[None, ...])


# --- 5.2


def ring_of(
    first=0, direction=1, forget=None, short=0, extra=0, keep=False, op="sum", gather=1, rebind="", count=-1
):
    """A ring, right as it stands; each argument spoils it in one way (first, direction: not)."""

    def ring(comm, array):
        K = comm.size
        total = array if keep else array.copy()
        chunks = np.array_split(total, K)
        place = comm.rank * direction
        to, source = (comm.rank + direction) % K, (comm.rank - direction) % K
        for turn in range(K - 1 - short):
            send, add = (place + first + count * turn) % K, (place + first + count * (turn + 1)) % K
            arrived = comm.sendrecv(chunks[send], to, source)
            if "add" in rebind:
                chunks[add] = chunks[add] + arrived
            elif add != forget:
                chunks[add] += arrived
        for turn in range(K - 1 + extra):
            send, put = (place + first + gather - turn) % K, (place + first + gather - turn - 1) % K
            arrived = comm.sendrecv(chunks[send], to, source)
            if "put" in rebind:
                chunks[put] = arrived
            else:
                chunks[put][:] = arrived
        return total / K if op == "mean" else total

    return ring


def by_send_and_recv(comm, array):
    K, total = comm.size, array.copy()
    chunks = np.array_split(total, K)
    for turn in range(2 * (K - 1)):
        send, get = (comm.rank - turn) % K, (comm.rank - turn - 1) % K
        comm.send(chunks[send], to=(comm.rank + 1) % K)
        arrived = comm.recv((comm.rank - 1) % K)
        chunks[get][:] = arrived + chunks[get] if turn < K - 1 else arrived
    return total


def everyone_starts_with_0(comm, array):
    K, total = comm.size, array.copy()
    chunks = np.array_split(total, K)
    for turn in range(2 * (K - 1)):
        chunk = chunks[-turn % K]
        arrived = comm.sendrecv(chunk, (comm.rank + 1) % K, (comm.rank - 1) % K)
        chunk[:] = chunk + arrived if turn < K - 1 else arrived
    return total


def whole_array(comm, array):
    total, moving = array.copy(), array
    for _ in range(comm.size - 1):
        moving = comm.sendrecv(moving, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
        total += moving
    return total


def drops_the_rest(comm, array):
    K, total = comm.size, array.copy()
    part = len(array) // K
    total[: part * K] = ring_of()(comm, array[: part * K])
    return total


def straight_to_its_place(comm, array):
    """Chunk r goes to rank r, which adds, and sends the sum to all: as many messages as a ring, across it."""
    total, others = array.copy(), [rank for rank in range(comm.size) if rank != comm.rank]
    chunks = np.array_split(total, comm.size)
    for rank in others:
        comm.send(chunks[rank], rank)
    for rank in others:
        chunks[comm.rank] += comm.recv(rank)
    for rank in others:
        comm.send(chunks[comm.rank], rank)
    for rank in others:
        chunks[rank][:] = comm.recv(rank)
    return total


def nobody_receives(comm, array):
    total = ring_of()(comm, array)
    if comm.size > 1:
        comm.send(total[:1], (comm.rank + 1) % comm.size)
    return total


def right_neighbour_taken_for_left(comm, array):
    K, total = comm.size, array.copy()
    chunks = np.array_split(total, K)
    for turn in range(2 * (K - 1)):
        send, get = (comm.rank - turn) % K, (comm.rank - turn - 1) % K
        arrived = comm.sendrecv(chunks[send], (comm.rank - 1) % K, (comm.rank + 1) % K)
        chunks[get][:] = arrived + chunks[get] if turn < K - 1 else arrived
    return total


def replaces_instead_of_adding(comm, array):
    K, total = comm.size, array.copy()
    chunks = np.array_split(total, K)
    for turn in range(2 * (K - 1)):
        send, get = (comm.rank - turn) % K, (comm.rank - turn - 1) % K
        chunks[get][:] = comm.sendrecv(chunks[send], (comm.rank + 1) % K, (comm.rank - 1) % K)
    return total


def begun_and_not_finished(comm, array):
    comm.sendrecv(array[:1], (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
    raise NotImplementedError


test_rings_pass = accepts(
    check_ring,
    ring_of(),
    ring_of(first=1),
    ring_of(first=-1),
    ring_of(direction=-1),
    by_send_and_recv,
    collectives.ring_all_reduce,
)

test_wrong_rings_are_rejected = rejects(
    check_ring,
    (everyone_starts_with_0, "All must start with different chunks, rank r with chunk r, say"),
    (ring_of(forget=0), "something else than what had just arrived plus its own chunk"),
    (ring_of(rebind="add"), "so adding is right. Look at how the sums get into total (chunks[c][:] ="),
    (ring_of(rebind="put"), "so adding is right. Look at how the sums get into total (chunks[c][:] ="),
    (ring_of(gather=0), "rank 0 passed on chunk 0, of which it has only its own numbers. Start with the"),
    (ring_of(count=1), "when chunks go to the right, the numbers count down, rank − turn"),
    (right_neighbour_taken_for_left, "rank − turn; here they go to the left"),
    (replaces_instead_of_adding, "Add each chunk that arrives to your own of the same number"),
    (begun_and_not_finished, "raise NotImplementedError is still there"),
    (lambda comm, array: by_send_and_recv(comm, array) * (comm.size > 1), "its own array is the sum"),
    (ring_of(short=1), "sent by rank 0: 1. In a ring of 2 every rank sends 2·(2−1) = 2"),
    (ring_of(extra=1), "sent by rank 0: 3"),
    (ring_of(op="mean"), "this is the mean"),
    (whole_array, "the whole array"),
    (ring_of(keep=True), "own array was changed"),
    (drops_the_rest, "do not divide by 2"),
    (lambda comm, array: None, "is a return missing?"),
    (lambda comm, array: array.copy(), "no message was sent"),
    (lambda comm, array: comm.all_reduce(array), "use only comm.sendrecv"),
    (lambda comm, array: list(by_send_and_recv(comm, array)), "not an array"),
    (lambda comm, array: by_send_and_recv(comm, array)[:1], "returned shape"),
    (straight_to_its_place, "in a ring it sends to its right neighbour"),
    (nobody_receives, "nobody received"),
    (lambda comm, array: comm.recv((comm.rank + 1) % comm.size), "waits in recv"),
)


def in_plain_python(comm, array):
    K, total = comm.size, array.tolist()
    cuts = [part * len(total) // K for part in range(K + 1)]
    for turn in range(2 * (K - 1)):
        out, into = (comm.rank - turn) % K, (comm.rank - turn - 1) % K
        chunk = np.array(total[cuts[out] : cuts[out + 1]])
        for place, number in enumerate(
            comm.sendrecv(chunk, (comm.rank + 1) % K, (comm.rank - 1) % K).tolist()
        ):
            before = total[cuts[into] + place] if turn < K - 1 else 0.0
            total[cuts[into] + place] = before + number
    return np.array(total)


def of(kind):
    """A right ring, in another type."""
    return lambda comm, array: ring_of()(comm, array.astype(kind)).astype(float)


test_unusual_rings_pass = accepts(check_ring, in_plain_python)

test_shortcuts_to_a_ring_are_refused = rejects(
    check_ring,
    (lambda comm, array: np.zeros_like(array), "no message was sent"),
    (lambda comm, array: 0 * ring_of()(comm, array), "2 workers"),
    (lambda comm, array: comm.size * array, "no message was sent"),
    (of(np.float32), "12 workers, array of length 1001: right to a few digits only"),
    (of(int), "12 workers, array of length 1001: right to a few digits only"),
    (lambda comm, array: ring_of()(comm, array).round(), "round nothing"),
    (lambda comm, array: ring_of()(comm, array) if comm.size < 8 else array.copy(), "12 workers"),
    (lambda comm, array: ring_of()(comm, array[:100]), "returned shape (100,), not (1001,)"),
    (lambda comm, array: np.abs(ring_of()(comm, array)), "12 workers"),
)


@pytest.mark.parametrize("check", [check_ring, check_link])
@pytest.mark.parametrize("nothing", [None, ...])
def test_nothing_is_not_attempted(check, nothing):
    report = check(nothing)
    assert report.passed is None and "Not attempted yet" in repr(report)


@pytest.mark.parametrize("check", [check_ring, check_link])
@pytest.mark.parametrize("thing", [3, [1.0, 2.0], "ring"])
def test_what_is_no_function_is_told_so(check, thing):
    rejected(check(thing), "a function is asked for")


def test_right_at_one_size_only_is_not_enough():
    def for_even_arrays(comm, array):
        return by_send_and_recv(comm, array) if len(array) % comm.size == 0 else array.copy()

    assert "no message was sent" in repr(check_ring(for_even_arrays))


# --- 5.3


def two_equations(nbytes, seconds, ranks):
    rounds = 2 * (ranks - 1)
    slope = (seconds[1] - seconds[0]) / (nbytes[1] - nbytes[0])
    return (seconds[0] - slope * nbytes[0]) / rounds, rounds / ranks / slope


def test_a_link_by_hand_and_by_fit():
    assert check_link(two_equations).passed
    assert check_link(lambda *given: np.array(laws.fit_link(*given))).passed


test_wrong_links_are_rejected = rejects(
    check_link,
    (lambda n, s, k: two_equations(n, s, k)[::-1], "wrong order"),
    (lambda n, s, k: (0.0, 2 * (k - 1) / k * n[1] / s[1]), "bandwidth is"),
    (lambda n, s, k: (two_equations(n, s, k)[0], (n[1] - n[0]) / (s[1] - s[0])), "2(K−1)/K = "),
    (lambda n, s, k: (two_equations(n, s, k)[0], 1 / two_equations(n, s, k)[1]), "is it 1/B?"),
    (lambda n, s, k: (s[0], two_equations(n, s, k)[1]), "the latency"),
    (lambda n, s, k: (2 * (k - 1) * two_equations(n, s, k)[0], two_equations(n, s, k)[1]), "rounds"),
    (lambda n, s, k: None, "is a return missing?"),
    (lambda n, s, k: 1.0, "not a pair"),
)


def by_least_squares(nbytes, seconds, ranks):
    rounds = 2 * (ranks - 1)
    rows = np.stack([np.full(2, rounds), rounds / ranks * nbytes], axis=1)
    return np.linalg.solve(rows, seconds) ** [1, -1]


def in_fractions(nbytes, seconds, ranks):
    from fractions import Fraction

    (few, many), (short, long) = ([Fraction(float(each)) for each in pair] for pair in (nbytes, seconds))
    slope = (long - short) / (many - few)
    return [float((short - slope * few) / (2 * ranks - 2)), float(Fraction(2 * ranks - 2, ranks) / slope)]


test_unusual_links_pass = accepts(check_link, by_least_squares, in_fractions)


def measured_at(few, many):
    """Two equations with sizes that are written into the function."""
    return lambda n, s, k: two_equations([few, many], s, k)


def rounded(places):
    return lambda n, s, k: (round(two_equations(n, s, k)[0], places), two_equations(n, s, k)[1])


def without_latency(nbytes, seconds, ranks):
    return seconds[0] / (2 * (ranks - 1)), 2 * (ranks - 1) / ranks * nbytes[1] / seconds[1]


test_shortcuts_to_a_link_are_refused = rejects(
    check_link,
    (lambda n, s, k: (50e-6, 1.25e9), "2 workers"),
    (without_latency, "the bandwidth is"),
    (measured_at(1e5, 1e8), "4096 workers"),
    (rounded(6), "4096 workers"),
    (lambda n, s, k: two_equations(n, s, 4), "2 workers"),
    (lambda n, s, k: two_equations(n, np.float32(s), k), "is"),
    (
        lambda n, s, k: (two_equations(n, s, k)[0], round(two_equations(n, s, k)[1] / 1e9, 1) * 1e9),
        "bandwidth",
    ),
    (lambda n, s, k: two_equations(n, s, k) if k < 100 else (0.0, 1.0), "4096 workers"),
)


# --- what the chapter says


def test_all_from_chunk_0_gives_sums_of_two_at_most_and_ranks_disagree():
    arrays = hand_arrays()
    rows = simulate(lambda comm: everyone_starts_with_0(comm, arrays[comm.rank]), 4).values
    assert len({row.tobytes() for row in rows}) == 4
    assert max(sum(digit != "0" for digit in str(number)) for row in rows for number in row) == 2


def test_passing_on_what_has_just_arrived_never_moves_the_other_chunks():
    arrays = hand_arrays()

    def literal(comm):
        total = arrays[comm.rank].copy()
        for turn in range(6):
            arrived = comm.sendrecv(total[:1], (comm.rank + 1) % 4, (comm.rank - 1) % 4)
            total[0] = total[0] + arrived[0] if turn < 3 else arrived[0]
        return total

    rows = simulate(literal, 4).values
    assert sorted(row[0] for row in rows) == [1133, 1331, 3113, 3311]
    assert all((row[1:] == array[1:]).all() for row, array in zip(rows, arrays, strict=True))


FIVE = "ring", "halving_doubling", "tree", "parameter_server", "naive"


def seconds_on_ethernet(name, nbytes, ranks):
    all_reduce = getattr(collectives, f"{name}_all_reduce")
    worker = lambda comm: all_reduce(comm, np.zeros(int(nbytes) // 8))  # noqa: E731
    return simulate(worker, ranks, link=Link(50e-6, 1.25e9)).seconds


def test_which_of_the_five_is_fastest():
    sizes = (1e3, 1e4, 1e5, 1e6, 1e7)
    seconds = {way: np.array([seconds_on_ethernet(way, nbytes, 8) for nbytes in sizes]) for way in FIVE}
    fastest = [min(FIVE, key=lambda way: seconds[way][sizes.index(nbytes)]) for nbytes in (1e4, 1e6)]
    assert fastest == ["naive", "halving_doubling"]
    assert (seconds["halving_doubling"] < seconds["ring"]).all()
    assert seconds["tree"][2] == pytest.approx(seconds["ring"][2], rel=1e-3)


@pytest.mark.parametrize("way", FIVE)
@pytest.mark.parametrize(("ranks", "exact"), [(2, False), (3, True), (7, True), (8, False)])
def test_the_laws_of_the_five_and_where_the_trees_is_exact(way, ranks, exact):
    law = laws.all_reduce_time(840_000, ranks, 1.25e9, 50e-6, way)
    run = seconds_on_ethernet(way, 840_000, ranks)
    assert (run == pytest.approx(law)) == (exact or way != "tree")
    assert run <= law * (1 + 1e-9)


def test_a_flat_ring_over_machines_waits_for_slow_links_in_every_eighth_hop():
    within, between = Link(5e-6, 300e9), Link(20e-6, 12.5e9)
    pairs = [(a, b) for a in range(32) for b in range(32) if a != b]
    cluster = {(a, b): within for a, b in pairs if a // 8 == b // 8}

    def seconds(all_reduce, **options):
        worker = lambda comm: all_reduce(comm, np.zeros(256_000), **options)  # noqa: E731
        return simulate(worker, 32, link=between, links=cluster).seconds

    slow, fast = (link.latency + 64_000 / link.bandwidth for link in (between, within))
    assert seconds(collectives.ring_all_reduce) == pytest.approx(8 * slow + 54 * fast)
    two_level = laws.hierarchical_time(2_048_000, 32, 8, 12.5e9, 20e-6, 300e9, 5e-6)
    assert seconds(collectives.hierarchical_all_reduce, group=8) == pytest.approx(two_level)


def test_halving_doubling_on_four_swaps_halves_then_quarters_and_back():
    run = simulate(lambda comm: collectives.halving_doubling_all_reduce(comm, np.zeros(4)), 4)
    swaps = [(message.target, message.nbytes) for message in run.messages if message.source == 0]
    assert swaps == [(2, 16), (1, 8), (1, 8), (2, 16)]


def exchange(comm, first):
    import torch
    import torch.distributed as dist

    mine, theirs, other = torch.full((1000,), comm.rank + 1.0), torch.empty(1000), 1 - comm.rank
    sending = getattr(dist, first)(mine, other)
    dist.recv(theirs, other)
    if sending is not None:
        sending.wait()
    return theirs[0].item()


def test_who_sends_first_waits_for_ever_unless_the_send_returns_at_once():
    assert launch(lambda comm: exchange(comm, "isend"), 2, timeout=limit(200)).values == [2.0, 1.0]
    with pytest.raises(RankError) as caught:
        launch(lambda comm: exchange(comm, "send"), 2, timeout=limit(10))
    assert caught.value.reason == "timeout"


def test_a_pipelined_double_tree_at_best_and_rotated_rings():
    ring, tree = (laws.all_reduce_time(1e7, 1024, 1.25e9, 50e-6, way) for way in ("ring", "tree"))
    assert ring == pytest.approx(0.118, abs=5e-4) and tree == pytest.approx(0.321, abs=5e-4)
    one, eight = (laws.ring_time(nbytes, 32, 12.5e9, 20e-6) for nbytes in (2e9, 2e9 / 8))
    levels = laws.hierarchical_time(2e9, 32, 8, 12.5e9, 20e-6, 300e9, 5e-6)
    assert one > 7 * eight and eight == pytest.approx(levels, rel=0.06)


def test_c22_bus_bandwidth():
    assert (laws.bus_bandwidth(1e9, 1.0, 8), laws.algorithm_bandwidth(1e9, 1.0)) == (1.75e9, 1e9)


def test_latency_and_transfer_are_even_at_k_alpha_b():
    size = laws.latency_bytes(8, 1.25e9, 50e-6)
    assert size == pytest.approx(500_000)
    assert laws.ring_time(0, 8, 1.25e9, 50e-6) == pytest.approx(laws.ring_time(size, 8, 1.25e9))


def test_the_slowest_link_sets_the_pace():
    def seconds(links):
        worker = lambda comm: collectives.ring_all_reduce(comm, np.zeros(40_000))  # noqa: E731
        return simulate(worker, 4, link=Link(0, 1e9), links=links).seconds

    assert seconds({(1, 2): Link(0, 1e8)}) / seconds(None) == pytest.approx(10, rel=0.05)


def test_the_two_halves_are_the_ring():
    arrays = [np.random.default_rng(rank).normal(size=12) for rank in range(4)]

    def halves(comm):
        part = collectives.reduce_scatter(comm, arrays[comm.rank])
        return np.concatenate(collectives.all_gather(comm, part))

    def ring(comm):
        return collectives.ring_all_reduce(comm, arrays[comm.rank])

    two, one = simulate(halves, 4), simulate(ring, 4)
    assert np.allclose(two.values[0], one.values[0])
    assert two.seconds == pytest.approx(one.seconds)


# --- pictures


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_the_rounds_are_those_of_the_librarys_ring(ranks):
    """Digits of what the library's ring passes on tell how many ranks are in each chunk."""
    states, receives = pictures.ring_states(ranks)
    assert (states[-1] == ranks).all() and len(states) == 2 * ranks - 1
    assert ((states[ranks - 1] == ranks).sum(axis=1) == 1).all()
    rounds = enumerate(passed_on(ranks))
    moves = [(rank, turn, number) for rank, numbers in rounds for turn, number in enumerate(numbers)]
    parts = [sum(digit != "0" for digit in str(number)) for *_, number in moves]
    assert [states[turn][rank, (rank - turn) % ranks] for rank, turn, _ in moves] == parts
    arrivals = [((rank + 1) % ranks, (rank - turn) % ranks) in receives[turn] for rank, turn, _ in moves]
    assert all(arrivals)


def test_pictures_show_their_numbers():
    drawn = pictures.ring_rounds(3)
    assert "after round 4 all cells are 3" in drawn.alt
    ring = simulate(lambda comm: collectives.ring_all_reduce(comm, np.zeros(40)), 4)
    assert pictures.busiest_bytes(ring, 320) == 1.5
    assert "ring 1.33" in pictures.against_bound([2, 3], {"ring": [1, 4 / 3]}, [1, 4 / 3]).alt
    assert "1 MB 3" in pictures.ring_scaling([2, 4], {1e6: [1, 3]}, {1e6: ([2], [1])}).alt
    curves, points = {"ring": [1e-3, 2e-3], "tree": [1e-3, 4e-3]}, {"ring": ([1e3], [1e-3])}
    assert "tree 5 kB" in pictures.times_against_size([1e3, 1e4], curves, points, {"tree": 5e3}).alt
    points = {"ring": ([2], [1e-3]), "tree": ([2, 4], [1e-3, 4e-3])}
    assert "tree 4 ms" in pictures.times_against_ranks([2, 4], {"ring": [1e-3, 2e-3]}, points).alt
    only_points = pictures.times_against_size([1e3, 1e4], {"ring": [1e-3, 2e-3]}, points, {})
    assert "tree: 2 4 | 1 4" in repr(only_points)
    fit = pictures.fitted([1, 2, 4, 8], [1.0, 2, 4, 8], [1.0, 2.2, 4, 9.6], [True, False, True, False])
    assert "15% at the median" in fit.alt and "20% at most" in fit.alt


def test_an_algorithm_has_one_colour_and_mark_in_every_figure():
    looks = [pictures._look(name) for name in pictures.ALGORITHMS]
    assert len({look["color"] for look in looks}) == len({look["marker"] for look in looks}) == len(looks)


def test_titles_are_short():
    from course_lib.labels import LABELS

    titles = {name: text for name, text in LABELS.items() if name.startswith("ch5_") and "title" in name}
    long = {
        name for name, text in titles.items() if len(text.format(half=3, all=6, off=0, low=1, high=1)) > 75
    }
    assert not long


# --- the lab


def test_the_recording_of_the_lab_is_drawn():
    recording = json.loads((ROOT / "data/recorded/network_lab.json").read_text(encoding="utf-8"))
    assert {(row["algorithm"], row["ranks"]) for row in recording["times"]} == {
        (name, ranks) for name in ("ring", "parameter_server", "gloo") for ranks in (2, 4)
    }
    assert all(0.7 < row["seconds"] / row["predicted"] < 2 for row in recording["times"])
    assert "hosts" in pictures.lab_ratios(recording).alt
    shown = subprocess.run(
        [sys.executable, ROOT / "tests/lab_network.py", "--show"], capture_output=True, text=True, check=True
    )
    assert "measured / law" in shown.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere it asks for Linux first")
def test_a_lab_that_may_not_run_says_what_it_needs(tmp_path):
    """An empty PATH has no unshare; the lab may look in sbin for ip and tc."""
    tried = subprocess.run(
        [sys.executable, ROOT / "tests/lab_network.py", "--output", tmp_path / "out.json"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tmp_path)},
    )
    assert tried.returncode == 1
    assert "The network lab needs" in tried.stderr and "unshare" in tried.stderr
    assert not (tmp_path / "out.json").exists()


def test_the_watched_comm_refuses_what_the_exercise_does_not_allow():
    assert not hasattr(chapter5.Watched.__new__(chapter5.Watched), "__array__")
