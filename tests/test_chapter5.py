"""Chapter 5: its checkers accept what is right and reject what is wrong, with a message that helps."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib import Link, RankError, collectives, launch, laws, simulate
from course_lib.exercises import chapter5
from course_lib.exercises.chapter5 import check_link, check_rank, check_ring, hand_arrays, passed_on
from course_lib.pictures import all_reduce as pictures

ROOT = Path(__file__).resolve().parents[1]


# --- 5.1


@pytest.mark.parametrize("stub", [[None] * 4, [...] * 4])
def test_nothing_played_is_not_a_failure(stub):
    report = check_rank(2, stub)
    assert report.passed is None and "Not attempted yet" in repr(report)


def test_the_right_numbers_pass():
    assert check_rank(2, [300, 220, 111, 4444]).passed
    assert all(check_rank(rank, numbers[:4]).passed for rank, numbers in enumerate(passed_on()))


@pytest.mark.parametrize(
    ("numbers", "hint"),
    [
        ([100, 220, 111, 4444], "rank 2 starts with chunk 2"),
        ([200, 220, 111, 4444], "starts with its own chunk 2"),
        ([300, 200, 111, 4444], "add what has just arrived"),
        ([300, 20, 111, 4444], "add your own number of chunk 1"),
        ([300, 220, 100, 4444], "add what has just arrived"),
        ([300, 220, 11, 4444], "add your own number of chunk 0"),
        ([300, 220, 555, 4444], "pass on chunk 0"),
        ([300, 220, 111, 400], "adding is over"),
        ([300, 220, 111, 4044], "add your own number of chunk 3"),
        ([300, 220, 111, None], "round 4: this number is missing"),
        ([300, 220, 111], "3 numbers"),
    ],
)
def test_slips_by_hand_are_explained(numbers, hint):
    report = check_rank(2, numbers)
    assert report.passed is False
    assert hint in repr(report), report


# --- 5.2


def ring_of(first=0, direction=1, forget=None, short=0, extra=0, keep=False, op="sum"):
    """A ring, right as it stands; each argument spoils it in one way (first, direction: not)."""

    def ring(comm, array):
        K = comm.size
        total = array if keep else array.copy()
        chunks = np.array_split(total, K)
        place = comm.rank * direction
        to, source = (comm.rank + direction) % K, (comm.rank - direction) % K
        for turn in range(K - 1 - short):
            send, add = (place + first - turn) % K, (place + first - turn - 1) % K
            arrived = comm.sendrecv(chunks[send], to, source)
            if add != forget:
                chunks[add] += arrived
        for turn in range(K - 1 + extra):
            send, put = (place + first + 1 - turn) % K, (place + first - turn) % K
            chunks[put][:] = comm.sendrecv(chunks[send], to, source)
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


def forgets_return(comm, array):
    ring_of()(comm, array)


def server(comm, array):
    K, total = comm.size, array.copy()
    for chunk in np.array_split(total, K):
        if comm.rank:
            comm.send(chunk, 0)
            chunk[:] = comm.recv(0)
        else:
            chunk += sum(comm.recv(rank) for rank in range(1, K))
            for rank in range(1, K):
                comm.send(chunk, rank)
    return total


def stays_within(comm, array):
    if comm.size == 2:
        return ring_of()(comm, array)
    return server(comm, array)


def nobody_receives(comm, array):
    total = ring_of()(comm, array)
    if comm.size > 1:
        comm.send(total[:1], (comm.rank + 1) % comm.size)
    return total


@pytest.mark.parametrize("untouched", [NotImplementedError, Ellipsis])
def test_an_untouched_ring_is_not_a_failure(untouched):
    def stub(comm, array):
        if untouched is Ellipsis:
            return ...
        raise untouched

    report = check_ring(stub)
    assert report.passed is None and "Not attempted yet" in repr(report)


@pytest.mark.parametrize(
    "right",
    [
        ring_of(),
        ring_of(first=1),
        ring_of(first=-1),
        ring_of(direction=-1),
        by_send_and_recv,
        collectives.ring_all_reduce,
    ],
)
def test_rings_pass(right):
    report = check_ring(right)
    assert report.passed, report


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (everyone_starts_with_0, "All must start with different chunks, rank r with chunk r"),
        (ring_of(forget=0), "A chunk was forgotten"),
        (ring_of(short=1), "sent by rank 0: 1. In a ring of 2 every rank sends 2·(2−1) = 2"),
        (ring_of(extra=1), "sent by rank 0: 3"),
        (ring_of(extra=-1), "sent by rank 0: 1"),
        (ring_of(op="mean"), "this is the mean"),
        (whole_array, "the whole array"),
        (ring_of(keep=True), "own array was changed"),
        (drops_the_rest, "do not divide by 2"),
        (forgets_return, "is a return missing?"),
        (lambda comm, array: None, "is a return missing?"),
        (lambda comm, array: array.copy(), "no message was sent"),
        (lambda comm, array: comm.all_reduce(array), "use only comm.sendrecv"),
        (lambda comm, array: list(by_send_and_recv(comm, array)), "not an array"),
        (lambda comm, array: by_send_and_recv(comm, array)[:1], "returned shape"),
        (stays_within, "sent by rank 0: 6"),
        (nobody_receives, "nobody received"),
        (lambda comm, array: comm.recv((comm.rank + 1) % comm.size), "waits in recv"),
        (lambda comm, array: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_wrong_rings_are_rejected(wrong, hint):
    report = check_ring(wrong)
    assert report.passed is False
    assert hint in repr(report), report
    assert "course_lib" not in repr(report)


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


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda n, s, k: two_equations(n, s, k)[::-1], "wrong order"),
        (lambda n, s, k: (0.0, 2 * (k - 1) / k * n[1] / s[1]), "bandwidth is"),
        (lambda n, s, k: (two_equations(n, s, k)[0], (n[1] - n[0]) / (s[1] - s[0])), "2(K−1)/K = "),
        (lambda n, s, k: (s[0], two_equations(n, s, k)[1]), "the latency"),
        (lambda n, s, k: (2 * (k - 1) * two_equations(n, s, k)[0], two_equations(n, s, k)[1]), "rounds"),
        (lambda n, s, k: None, "is a return missing?"),
        (lambda n, s, k: 1.0, "not a pair"),
    ],
)
def test_wrong_links_are_rejected(wrong, hint):
    report = check_link(wrong)
    assert report.passed is False
    assert hint in repr(report), report


def test_an_untouched_link_is_not_a_failure():
    def stub(nbytes, seconds, ranks):
        raise NotImplementedError

    assert check_link(stub).passed is None
    assert check_link(lambda *_: ...).passed is None


# --- what the chapter says


def test_all_from_chunk_0_gives_sums_of_two_at_most_and_ranks_disagree():
    arrays = hand_arrays()
    rows = simulate(lambda comm: everyone_starts_with_0(comm, arrays[comm.rank]), 4).values
    assert len({row.tobytes() for row in rows}) == 4
    assert max(sum(digit != "0" for digit in str(number)) for row in rows for number in row) == 2


@pytest.mark.parametrize(("ranks", "bus"), [(2, 1.0), (4, 1.5), (8, 1.75)])
def test_c22_bus_bandwidth(ranks, bus):
    assert laws.bus_bandwidth(1e9, 1.0, ranks) == bus * 1e9
    assert laws.algorithm_bandwidth(1e9, 1.0) == 1e9


def test_seven_billion_parameters_on_eight():
    assert round(1e3 * laws.ring_time(14e9, 8, 300e9)) == 82
    assert round(laws.ring_time(14e9, 8, 12.5e9), 2) == 1.96


def test_latency_and_transfer_are_even_at_k_alpha_b():
    size = laws.latency_bytes(8, 1.25e9, 50e-6)
    assert size == pytest.approx(500_000)
    assert laws.ring_time(0, 8, 1.25e9, 50e-6) == pytest.approx(laws.ring_time(size, 8, 1.25e9))


def test_the_slowest_link_sets_the_pace():
    def seconds(links):
        worker = lambda comm: collectives.ring_all_reduce(comm, np.zeros(40_000))  # noqa: E731
        return simulate(worker, 4, link=Link(0, 1e9), links=links).seconds

    assert seconds({(1, 2): Link(0, 1e8)}) / seconds(None) == pytest.approx(10, rel=0.05)


def test_a_dead_rank_stops_all():
    def worker(comm):
        if comm.rank == 1:
            import os
            import signal

            os.kill(os.getpid(), signal.SIGKILL)
        return by_send_and_recv(comm, np.ones(4))

    with pytest.raises(RankError) as error:
        launch(worker, 2, timeout=10)
    assert (error.value.rank, error.value.reason) == (1, "killed")


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
    for rank, numbers in enumerate(passed_on(ranks)):
        for turn, number in enumerate(numbers):
            chunk = (rank - turn) % ranks
            parts = sum(digit != "0" for digit in str(number))
            assert states[turn][rank, chunk] == parts
            assert ((rank + 1) % ranks, chunk) in receives[turn]


def test_pictures_show_their_numbers():
    drawn = pictures.ring_rounds(3)
    assert "after round 4 all cells are 3" in drawn.alt
    ring = simulate(lambda comm: collectives.ring_all_reduce(comm, np.zeros(40)), 4)
    assert pictures.busiest_bytes(ring, 320) == 1.5
    assert "ring 1.33" in pictures.against_bound([2, 3], {"ring": [1, 4 / 3]}, [1, 4 / 3]).alt
    assert "1 MB 3" in pictures.ring_scaling([2, 4], {1e6: [1, 3]}, {1e6: ([2], [1])}).alt
    curves, points = {"ring": [1e-3, 2e-3], "tree": [1e-3, 4e-3]}, {"ring": ([1e3], [1e-3])}
    assert "tree 5 kB" in pictures.times_against_size([1e3, 1e4], curves, points, {"tree": 5e3}).alt
    assert "tree 4 ms" in pictures.times_against_ranks([2, 4], curves, {}).alt
    fit = pictures.fitted([1, 2, 4, 8], [1.0, 2, 4, 8], [1.0, 2.2, 4, 9.6], [True, False, True, False])
    assert "15% at the median" in fit.alt and "20% at most" in fit.alt


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
