"""Chapter 6: what it says of waiting and staleness holds; its checkers and pictures."""

import heapq
import math

import numpy as np
import pytest
import torch
from attempts import accepts, rejected, rejects, waits_for
from hypothesis import given
from hypothesis import strategies as st

from course_lib import Link, laws, simulate
from course_lib.exercises.chapter6 import best_shares, check_safe_rate, check_server, check_shares
from course_lib.pictures import staleness as stale_pictures
from course_lib.pictures import waiting
from course_lib.sgd import (
    ComputeTimes,
    History,
    Reached,
    asynchronous,
    backup,
    delayed_descent,
    digits,
    local,
    quadratic,
    races,
    sharded,
    stale_synchronous,
    step_seconds,
    synchronous,
)

FREE = Link(0.0, math.inf)
VARIED = ComputeTimes("exponential", seed=3)
DIGITS = digits()


def train(worker, ranks, link=FREE):
    return simulate(worker, ranks, link=link).values[0]


# --- 6.1


def server_of(
    stop="all", answer="new", sign=-1, scale=1.0, base="newest", late=0, note=True, more=0, back="both"
):
    """A parameter server, right as it stands; each argument spoils it in one way."""

    def serve(comm, theta, rate, updates):
        workers, staleness = range(1, comm.size), []
        read, held = dict.fromkeys(workers, 0), dict.fromkeys(workers, theta)
        for worker in workers:
            comm.send(theta, worker)
        for version in range(updates + more):
            worker, gradient = comm.recv_any()
            staleness.append(version + late - read[worker])
            before, start = theta, held[worker] if base == "held" else theta
            theta = start + sign * scale * rate * gradient
            for other in workers if answer == "everybody" else [worker]:
                comm.send(before if answer == "old" else theta, other)
            held[worker] = theta
            if note:
                read[worker] = version + 1
        for worker in workers:
            if stop == "all" or worker == comm.size - 1:
                comm.send(np.empty(0), worker)
        answers = {"both": (theta, staleness), "theta": theta, "nothing": None, "before": (before, staleness)}
        return answers[back]

    return serve


def drains(comm, theta, rate, updates):
    """Another right one: after the last update it takes what is still under way before it stops anybody."""
    read, late = {}, np.zeros(updates, int)
    for worker in range(1, comm.size):
        comm.send(theta, to=worker)
        read[worker] = 0
    for version in range(updates):
        worker, gradient = comm.recv_any()
        late[version] = version - read[worker]
        theta = theta - rate * gradient
        comm.send(theta, to=worker)
        read[worker] = version + 1
    for _ in read:
        comm.send(np.empty(0), comm.recv_any()[0])
    return [theta, late]


def stops_one_by_one(comm, theta, rate, updates):
    """Right as well: whoever comes after the last update is answered by a stop, the rest at the end."""
    read, late = {}, []
    for worker in range(1, comm.size):
        comm.send(theta, worker)
        read[worker] = 0
    while len(late) < updates:
        worker, gradient = comm.recv_any()
        late.append(len(late) - read.pop(worker))
        theta -= rate * gradient  # the caller's array is the server's own
        if len(late) < updates:
            comm.send(theta, worker)
            read[worker] = len(late)
    for worker in range(1, comm.size):
        comm.send(np.empty(0), worker)
    return theta, late


def waits_for_all(comm, theta, rate, updates):
    workers, staleness = range(1, comm.size), []
    for worker in workers:
        comm.send(theta, worker)
    while len(staleness) < updates:
        gradients = [comm.recv_any()[1] for _ in workers]
        theta = theta - rate * np.mean(gradients, axis=0)
        staleness.append(0)
        for worker in workers:
            comm.send(theta, worker)
    for worker in workers:
        comm.send(np.empty(0), worker)
    return theta, staleness


def in_turn(comm, theta, rate, updates):
    for worker in range(1, comm.size):
        comm.send(theta, worker)
    for version in range(updates):
        worker = 1 + version % (comm.size - 1)
        theta = theta - rate * comm.recv(worker)
        comm.send(theta, worker)
    return theta, []


def stops_too_early(comm, theta, rate, updates):
    for worker in range(1, comm.size):
        comm.send(theta, worker)
    for worker in range(1, comm.size):
        comm.send(np.empty(0), worker)
    return theta, [comm.recv_any() for _ in range(updates)]


def frame(comm, theta, rate, updates):
    """The stub of the notebook."""
    read = {}
    for worker in range(1, comm.size):
        comm.send(theta, to=worker)
        read[worker] = 0
    for _version in range(updates):
        raise NotImplementedError
    return theta, []


def half_done(comm, theta, rate, updates):
    for worker in range(1, comm.size):
        comm.send(theta, to=worker)
    comm.recv_any()
    raise NotImplementedError


def swapped(comm, theta, rate, updates):
    read = dict.fromkeys(range(1, comm.size), 0)
    for worker in read:
        comm.send(theta, to=worker)
    gradient, worker = comm.recv_any()
    return theta, [0 - read[worker]]


def swapped_answer(comm, theta, rate, updates):
    for worker in range(1, comm.size):
        comm.send(theta, to=worker)
    gradient, worker = comm.recv_any()
    comm.send(theta - rate * gradient, to=worker)


def of_random(numbers):
    def serve(comm, theta, rate, updates):
        theta, staleness = server_of()(comm, theta, rate, updates)
        return theta, numbers(staleness)

    return serve


test_the_notebooks_stub_is_not_a_failure = waits_for(check_server, stubs=[frame])


test_servers_pass = accepts(check_server, server_of(), drains, stops_one_by_one)

test_wrong_servers_are_rejected = rejects(
    check_server,
    (server_of(stop="last"), "worker 1 was not told to stop, and waits for ever"),
    (server_of(answer="old"), "update first, then answer"),
    (server_of(answer="everybody"), "worker 2 was sent parameters while it was busy with older ones"),
    (server_of(sign=1), "goes uphill"),
    (server_of(scale=8), "the rate is missing"),
    (server_of(scale=0.5), "divided by the number of workers"),
    (server_of(scale=2), "the newest parameters are"),
    (server_of(base="held"), "others' updates are lost"),
    (server_of(late=1), "does not count itself"),
    (server_of(note=False), "note in read which version"),
    (server_of(more=-1), "the server took 2 gradients; each is one update, 3 were asked for"),
    (server_of(more=1), "a gradient more than the 3 asked for"),
    (server_of(back="theta"), "return two things"),
    (server_of(back="nothing"), "is a return missing?"),
    (server_of(back="before"), "the one from before the last update"),
    (of_random(lambda late: [0] * len(late)), "count them"),
    (of_random(lambda late: late[:-1]), "has 2 numbers, not 3"),
    (of_random(lambda late: "none"), "one whole number for each update"),
    (of_random(lambda late: [min(each, 1) for each in late]), "since that worker was sent"),
    (waits_for_all, "worker 1 stands idle: answer each gradient at once"),
    (in_turn, "comm.recv_any() takes whoever comes first"),
    (stops_too_early, "worker 1 was told to stop before the last update"),
    (half_done, "raise NotImplementedError is still there"),
    (swapped, "recv_any returns two things: first the source, then the array"),
    (swapped_answer, "the server sent to an array. recv_any returns two things"),
    (lambda comm, *_: comm.recv_any(), "worker 1 stands idle: send everybody the start"),
    (lambda comm, theta, rate, updates: comm.send(theta, 0), "the workers are ranks 1 to 2"),
    (lambda comm, theta, rate, updates: comm.send(2 * theta, 1), "begins with theta as it was given"),
    (lambda comm, theta, rate, updates: comm.all_reduce(theta), "use comm.send and comm.recv_any"),
    (lambda comm, theta, rate, updates: [each for each in iter(int, 1)], "still running"),
)


def capped(most):
    """Right as long as no more than `most` updates are asked for."""

    def serve(comm, theta, rate, updates):
        return server_of(more=min(0, most - updates))(comm, theta, rate, updates)

    return serve


def at_rate(fixed):
    def serve(comm, theta, rate, updates):
        return server_of()(comm, theta, fixed, updates)

    return serve


def keeping(change):
    """A server whose parameters go through `change` after each update."""

    def serve(comm, theta, rate, updates):
        read, staleness = dict.fromkeys(range(1, comm.size), 0), []
        for worker in read:
            comm.send(theta, worker)
        for version in range(updates):
            worker, gradient = comm.recv_any()
            staleness.append(version - read[worker])
            theta = change(theta - rate * gradient)
            comm.send(theta, worker)
            read[worker] = version + 1
        for worker in read:
            comm.send(np.empty(0), worker)
        return theta, staleness

    return serve


def with_lateness(late):
    """A server that returns `late(workers, updates)` as the list of staleness."""

    def serve(comm, theta, rate, updates):
        theta, _ = server_of()(comm, theta, rate, updates)
        return theta, late(comm.size - 1, updates)

    return serve


test_shortcuts_of_a_server_are_rejected = rejects(
    check_server,
    (capped(12), "the server took 12 gradients"),
    (at_rate(0.125), "after update 1 the server sent"),
    (at_rate(0.5), "after update 1 the server sent"),
    (keeping(lambda theta: theta[:2]), "after update 1 the server sent"),
    (keeping(lambda theta: theta.astype(np.float32)), "the server sent"),
    (keeping(lambda theta: np.round(theta, 3)), "the server sent"),
    (keeping(lambda theta: theta.astype(int)), "the server sent"),
    (with_lateness(lambda k, n: [0] * n), "count them"),
    (with_lateness(lambda k, n: [k - 1] * n), "by the messages"),
    (with_lateness(lambda k, n: [min(k - 1, version) for version in range(n)]), "by the messages"),
    (with_lateness(lambda k, n: k - 1), "the list of staleness"),
)

test_nothing_yet_is_not_attempted = waits_for(check_server, check_shares, check_safe_rate, stubs=[None, ...])


@pytest.mark.parametrize("check", [check_server, check_shares, check_safe_rate])
@pytest.mark.parametrize("given", [3, "serve", [1, 2], np.ones(3)])
def test_what_is_no_function_gets_a_plain_sentence(check, given):
    rejected(check(given), "a function is asked for")


# --- 6.2


@given(seconds=st.lists(st.floats(0.1, 10), min_size=1, max_size=4), more=st.integers(0, 5))
def test_the_best_shares_are_the_best(seconds, more):
    """Against all ways to deal out few samples, one or more to each."""
    ways = np.array([way for way in np.ndindex(*[more + 1] * len(seconds)) if sum(way) == more]) + 1
    shares = best_shares(np.array(seconds), len(seconds) + more)
    assert sum(shares) == len(seconds) + more and min(shares) >= 1
    assert (shares * seconds).max() == pytest.approx((ways * seconds).max(axis=1).min())


def proportional(weight):
    def shares(seconds, total):
        ideal = total * weight(seconds) / weight(seconds).sum()
        mine = np.maximum(1, np.floor(ideal).astype(int))
        mine[-1] += total - mine.sum()
        return mine

    return shares


def by_bisection(seconds, total):
    """The shortest step by halving an interval; then the samples too many are taken back."""
    low, high = 0.0, float(max(seconds) * total)
    for _ in range(200):
        middle = (low + high) / 2
        most = [int(middle / each) for each in seconds]
        low, high = (low, middle) if min(most) >= 1 and sum(most) >= total else (middle, high)
    most = [int(high / each) for each in seconds]
    for worker, share in enumerate(most):
        most[worker] -= min(sum(most) - total, share - 1)
    return tuple(most)


def from_a_heap(seconds, total):
    queue = [(2 * each, worker) for worker, each in enumerate(seconds)]
    heapq.heapify(queue)
    shares = [1.0] * len(seconds)
    for _ in range(total - len(seconds)):
        done, worker = heapq.heappop(queue)
        shares[worker] += 1
        heapq.heappush(queue, (done + seconds[worker], worker))
    return np.array(shares)


test_right_shares_pass = accepts(
    check_shares,
    best_shares,
    lambda seconds, total: best_shares(seconds, total).tolist(),
    by_bisection,
    from_a_heap,
)


def greedy(start, most=10**9):
    """Each sample to whoever would be done first, from shares of `start`, up to `most` samples."""

    def shares(seconds, total):
        mine = np.full(len(seconds), start)
        while mine.sum() < min(total, most):
            mine[np.argmin((mine + 1) * seconds)] += 1
        return mine

    return shares


def remainders(least):
    """Rounded down, and what is left over to the largest remainders."""

    def shares(seconds, total):
        ideal = total / seconds / (1 / seconds).sum()
        mine = np.maximum(least, np.floor(ideal)).astype(int)
        mine[np.argsort(mine - ideal)[: max(0, total - mine.sum())]] += 1
        return mine

    return shares


def rest_to_the_fastest(seconds, total):
    mine = np.maximum(1, np.round(total / seconds / (1 / seconds).sum())).astype(int)
    mine[np.argmin(seconds)] += total - mine.sum()
    return mine


test_shortcuts_of_shares_are_rejected = rejects(
    check_shares,
    (greedy(0), "every worker gets at least one sample"),
    (greedy(1, most=1000), "are 1000 samples, not 25000"),
    (lambda s, n: np.array([18, 18, 18, 6][: len(s)]), "are 36 samples, not 60"),
    (remainders(0), "at least one sample|is possible"),
    (remainders(1), "samples, not|is possible"),
    (rest_to_the_fastest, "is possible"),
    (lambda s, n: np.eye(len(s))[np.argmin(s)] * n, "at least one sample"),
    (lambda s, n: best_shares(s, n) + 1e-6, "samples are whole"),
    (lambda s, n: best_shares(s, n).sum(), "one number for each worker"),
)

test_wrong_shares_are_rejected = rejects(
    check_shares,
    (lambda s, n: [n // len(s) + (i < n % len(s)) for i in range(len(s))], "All shares are equal"),
    (proportional(lambda s: s), "a share grows with speed"),
    (proportional(lambda s: 1 / s), "whoever would be done with it first"),
    (lambda s, n: np.round(n / s / (1 / s).sum()).astype(int), "rounding each share alone"),
    (lambda s, n: n / s / (1 / s).sum(), "samples are whole"),
    (lambda s, n: np.append(n, np.zeros(len(s) - 1, int)), "at least one sample"),
    (lambda s, n: np.full(len(s), np.inf), "are inf samples, not 60"),
    (lambda s, n: np.full(len(s), np.nan), "samples are whole"),
    (lambda s, n: n, "one number for each worker"),
    (lambda s, n: None, "is a return missing?"),
)


# --- 6.3


def by_law(curvatures, workers):
    return laws.staleness_limit(workers - 1) / max(curvatures)


def by_simulation(curvatures, workers):
    low, high = 0.0, 4.0 / max(curvatures)
    while high - low > 0.004 * low:
        middle = (low + high) / 2
        runs = [delayed_descent(middle, workers - 1, 3000, curvature=each) for each in curvatures]
        low, high = (middle, high) if np.max(np.abs(runs)[:, -50:]) < 1 else (low, middle)
    return np.array([low])


def as_tensor(curvatures, workers):
    return torch.tensor(by_law(curvatures, workers))


def by_roots(curvatures, workers):
    """Where the largest solution of z^K = z^(K - 1) - rate * curvature leaves the unit circle."""
    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        powers = np.zeros(workers + 1)
        powers[:2] += 1, -1
        powers[-1] += middle
        low, high = (middle, high) if np.abs(np.roots(powers)).max() < 1 else (low, middle)
    return low / np.max(curvatures)


def least_of_each(curvatures, workers):
    return min(float(laws.staleness_limit(workers - 1)) / each for each in curvatures.tolist())


test_safe_rates_pass = accepts(check_safe_rate, by_law, by_simulation, by_roots, least_of_each, as_tensor)


def scanned(rates):
    """The largest of these rates that is stable, by simulation."""

    def stable(rate, workers, curvatures):
        paths = [delayed_descent(rate, workers - 1, 500, curvature=each) for each in curvatures]
        return np.abs(paths).max() < 3

    return lambda c, k: max((rate for rate in rates if stable(rate, k, c)), default=rates[0])


def looked_up(curvatures, workers):
    return {1: 2, 2: 1, 4: 0.445, 8: 0.209}.get(workers, 0.2) / max(curvatures)


test_shortcuts_of_a_rate_are_rejected = rejects(
    check_safe_rate,
    (lambda c, k: 0.445, "the largest curvature|divide"),
    (looked_up, "does not settle"),
    (lambda c, k: 2 / k / max(c), "does not settle"),
    (lambda c, k: math.pi / (2 * k - 1) / max(c), "does not settle"),
    (lambda c, k: np.round(by_law(c, k), 2), "stable|settle|above 0"),
    (scanned(np.linspace(0.01, 2, 100)), "stable|settle"),
    (lambda c, k: min(by_law(c, k), 2), "so is a rate"),
    (lambda c, k: laws.staleness_limit(k - 1) / c[-1], "the largest curvature"),
)

test_wrong_rates_are_rejected = rejects(
    check_safe_rate,
    (lambda c, k: laws.staleness_limit(k) / max(c), "its own does not count"),
    (lambda c, k: laws.staleness_limit(max(k - 2, 0)) / max(c), "a gradient is K − 1 = 3 updates old"),
    (lambda c, k: 2 / max(c), "gradients that are not stale"),
    (lambda c, k: laws.staleness_limit(k - 1) / min(c), "the largest curvature"),
    (lambda c, k: laws.staleness_limit(k - 1) / sum(c), "Directions do not add up"),
    (lambda c, k: laws.staleness_limit(k - 1), "divide by a curvature"),
    (lambda c, k: laws.staleness_limit(k - 1) / max(c) ** 2, "divide it by the largest"),
    (lambda c, k: 0.1 * by_law(c, k), "so is a rate 10 times as large"),
    (lambda c, k: None, "is a return missing?"),
    (lambda c, k: "fast", "one number is asked for"),
    (lambda c, k: np.ones(2), "one number is asked for"),
    (lambda c, k: -1.0, "above 0"),
    (lambda c, k: math.nan, "above 0"),
)


# --- what the chapter says


def test_a_pass_with_a_larger_batch_at_the_same_rate_gets_less_far():
    small, large = (
        train(synchronous(DIGITS, 1536 // size, 1.0, batch=size), 1).losses(DIGITS)[-1] for size in (16, 64)
    )
    assert small < 0.5 * large


def test_the_barrier_of_uniform_times_is_bounded_and_one_slow_worker_sets_the_pace():
    uniform = ComputeTimes("uniform", spread=0.5, seed=3).table(4000, 64)
    assert step_seconds(uniform).mean() == pytest.approx(0.5 + 64 / 65, rel=0.01) and uniform.max() < 1.5
    assert (step_seconds(ComputeTimes(factors=(3,)).table(10, 64)) == 3).all()


@pytest.mark.parametrize(("kind", "saved"), [("constant", 1.0), ("exponential", laws.expected_slowest(8))])
def test_at_eta_over_k_async_uses_as_many_gradients_and_saves_the_barrier(kind, saved):
    given = {"batch": 8, "times": ComputeTimes(kind, seed=3)}
    sync = train(synchronous(DIGITS, 45, 1.0, **given), 8).reached(DIGITS, 0.5)
    late = train(asynchronous(DIGITS, 360, 1 / 8, **given), 9).reached(DIGITS, 0.5)
    assert late.gradients == pytest.approx(sync.gradients, rel=0.15)
    assert late.updates == pytest.approx(8 * sync.updates, rel=0.15)
    assert sync.seconds / late.seconds == pytest.approx(saved, rel=0.15)


def best_seconds(way, kind):
    """Of each seed, at the rate whose median over the seeds is the least."""
    seconds = races.recorded()[way, kind]["seconds"]
    return seconds[:, np.median(seconds, axis=0).argmin()]


def test_at_the_best_rate_of_each_sync_wins_with_most_seeds_where_times_are_constant():
    sync, late = best_seconds("sync", "constant"), best_seconds("async", "constant")
    assert 15 <= (sync < late).sum() < 20 and 1.15 < np.median(late) / np.median(sync) < 1.3


def test_at_the_best_rate_of_each_async_wins_with_every_seed_where_times_are_exponential():
    sync, late = best_seconds("sync", "exponential"), best_seconds("async", "exponential")
    assert (late < sync).all() and 2.7 < np.median(sync) / np.median(late) < 3.5


RACES = [*[(way, kind, 2) for way in ("sync", "async") for kind in ("constant", "exponential")]]
RACES += [(way, "exponential", 1) for way in ("backup", "local", "slack")]


@pytest.mark.parametrize(("way", "kind", "rate"), RACES)
def test_a_race_comes_out_as_it_was_recorded(way, kind, rate):
    rows, column = races.recorded()[way, kind], races.RATES.index(rate)
    assert rows.shape == (races.SEEDS, len(races.RATES) if rate == 2 else 1)
    again = races.finish(races.race(way, kind, rate, seed=5))
    assert again == pytest.approx(rows[5, column].tolist(), abs=1e-3)


@pytest.mark.parametrize("rate", [1, 4])
def test_alone_comes_out_as_it_was_recorded(rate):
    assert races.alone(16, rate, seed=5) == pytest.approx(races.recorded()[16, rate][5], abs=1e-5)


def test_longer_alone_lowers_the_loss_at_a_small_rate_and_raises_it_at_a_large_one():
    kept = races.recorded()
    small, large = ([np.median(kept[period, rate]) for period in (1, 4, 16, 64)] for rate in (1, 4))
    assert small == sorted(small, reverse=True) and large == sorted(large) and max(large) < min(small)


def test_a_race_that_never_ends():
    assert races.finish(races.race("sync", "constant", 0.01, seed=0, gradients=16)) == (math.inf,) * 4


def test_at_one_rate_constant_times_diverge_and_random_ones_do_not():
    def end(kind):
        times = ComputeTimes(kind, spread=0.5, seed=1)
        path = train(asynchronous(quadratic(), 600, 0.24, times=times), 9).parameters[-50:, 0]
        return np.abs(path).max()

    assert end("constant") > 1e3 and end("lognormal") < 1e-3 and end("exponential") < 1e-8
    sync = train(synchronous(quadratic(), 75, 8 * 0.24), 8)  # the same weight for each gradient
    assert abs(sync.theta[0]) < 0.01


def test_async_can_diverge_even_at_eta_over_k_where_sync_converges():
    times = ComputeTimes()
    late = train(asynchronous(quadratic(), 2000, 1.8 / 8, times=times), 9)
    assert abs(train(synchronous(quadratic(), 250, 1.8), 8).theta[0]) < 1e-6
    assert abs(late.theta[0]) > 10
    assert 8 * laws.staleness_limit(7) < 1.8 < 2


def test_at_eta_over_k_a_thousand_workers_bear_nearly_as_much_as_one():
    workers = np.array([2, 4, 8, 64, 1024, 10**6])
    shares = workers * laws.staleness_limit(workers - 1) / 2
    assert (np.diff(shares) < 0).all() and shares[-1] == pytest.approx(math.pi / 4, rel=1e-5)


@pytest.mark.parametrize("slack", [1, 16])
def test_slack_does_not_help_against_a_worker_that_stays_slow(slack):
    slow = ComputeTimes("lognormal", spread=0.3, factors=(1,) * 7 + (4,), seed=1)
    bound = train(stale_synchronous(quadratic(), 1200, 0.001, slack, times=slow), 9)
    free = train(asynchronous(quadratic(), 1200, 0.001, times=slow), 9)
    assert bound.round_seconds(8) == pytest.approx(4, rel=0.05)
    assert free.round_seconds(8) == pytest.approx(8 / 7.25, rel=0.05)


def test_slack_evens_out_chance():
    def seconds(slack):
        return train(stale_synchronous(quadratic(), 1200, 0.001, slack, times=VARIED), 9).round_seconds(8)

    found = [seconds(slack) for slack in (0, 1, 4, 16)]
    assert found == sorted(found, reverse=True) and found[0] > 2.4 and found[-1] < 1.2


@pytest.mark.parametrize("workers", [2, 8])  # the compute sets the pace, and the port
def test_on_a_slow_link_the_servers_port_sets_the_pace(workers):
    link = Link(0.0, 5200 / 0.3)
    sync = train(synchronous(DIGITS, 20, 1.0, batch=8, times=1.0), workers, link)
    late = train(asynchronous(DIGITS, 40 * workers, 0.01, batch=8, times=1.0), workers + 1, link)
    assert sync.round_seconds(workers) == pytest.approx(1 + 2 * (workers - 1) / workers * 0.3, rel=0.01)
    assert late.round_seconds(workers) == pytest.approx(max(1.6, 0.3 * workers), rel=0.01)
    assert late.staleness[4 * workers :].mean() == pytest.approx(workers - 1, rel=0.02)
    served = train(backup(DIGITS, 20, 1.0, extra=0, batch=8, times=1.0), workers + 1, link)
    assert served.round_seconds(workers) == pytest.approx(1.3 + 0.3 * workers, rel=0.01)


@pytest.mark.parametrize(("workers", "servers"), [(4, 4), (16, 16), (16, 2)])
def test_sharded_servers_spread_the_traffic(workers, servers):
    link = Link(0.0, 5200 / 0.3)
    worker = sharded(DIGITS, 20, 1 / workers, servers, batch=8, times=1.0)
    found = train(worker, workers + servers, link).round_seconds(workers)
    assert found == pytest.approx(max(1.3 + 0.3 / servers, 0.3 * workers / servers), rel=0.01)


def test_shares_sized_to_speed_shorten_the_step_and_change_nothing_else():
    def run(shares):
        times = ComputeTimes(mean=0.001, factors=tuple(np.multiply(shares, (1, 1, 1, 3))))
        return train(synchronous(DIGITS, 10, 1.0, batch=shares, times=times), 4)

    equal, sized = run([15] * 4), run(best_shares(np.array([1, 1, 1, 3]), 60).tolist())
    assert equal.seconds[0] == pytest.approx(0.045) and sized.seconds[0] == pytest.approx(0.018)
    np.testing.assert_allclose(sized.parameters, equal.parameters, rtol=0, atol=1e-12)


def test_late_backup_workers_are_not_interrupted():
    history = train(backup(quadratic(), 600, 0.01, extra=2, times=VARIED), 11)
    law = laws.expected_backup(8, 2)
    assert step_seconds(VARIED.table(2000, 10), 2).mean() == pytest.approx(law, rel=0.03)
    assert 1.15 * law < history.seconds[-1] / 600 < 1.3 * law
    assert 0.1 < history.dropped / (history.dropped + history.gradients[-1]) < 0.25


def test_longer_alone_waits_and_sends_less():
    def run(period):
        return simulate(local(DIGITS, 64 // period, 1.0, period, batch=8, times=VARIED), 8, link=FREE)

    one, four, many = (run(period) for period in (1, 4, 16))
    assert one.seconds > four.seconds > many.seconds > 64
    assert len(one.messages) == 4 * len(four.messages) == 16 * len(many.messages)


def test_the_roots_of_a_delayed_descent_are_on_the_unit_circle_at_the_limit():
    def largest_root(delay):
        return np.abs(np.roots([1, -1, *[0] * (delay - 1), laws.staleness_limit(delay)])).max()

    assert [largest_root(delay) for delay in range(1, 9)] == pytest.approx([1] * 8, abs=1e-6)
    assert laws.staleness_limit(0) == 2


# --- a history's way to a target


def test_what_it_took_to_reach_a_loss():
    history = train(synchronous(quadratic(), 4, 0.5, times=2.0), 3)  # losses 1/2, 1/8, 1/32, 1/128, 1/512
    assert history.reached(quadratic(), 0.1) == Reached(updates=2, gradients=6, seconds=4.0)
    assert history.reached(quadratic(), 0.6) == Reached(0, 0, 0.0)
    assert history.reached(quadratic(), 0.001) is None
    with pytest.raises(ValueError, match="below must be a number; got nan"):
        history.reached(quadratic(), math.nan)


def test_a_loss_is_reached_for_good():
    dips = np.array([[1.0], [0.1], [1.0], [0.2], [0.1], [0.1]])  # losses: half of the squares
    history = History(np.arange(1.0, 6), np.ones(5, int), np.zeros(5, int), np.arange(1, 6), dips)
    assert history.reached(quadratic(), 0.1) == Reached(updates=3, gradients=3, seconds=3.0)
    assert history.reached(quadratic(), 0.01) == Reached(updates=4, gradients=4, seconds=4.0)


@pytest.mark.parametrize("last", [1.0, np.nan])
def test_a_loss_that_is_lost_again_was_not_reached(last):
    path = np.array([[1.0], [0.1], [last]])
    history = History(np.arange(1.0, 3), *[np.arange(1, 3)] * 3, path)
    assert history.reached(quadratic(), 0.1) is None


# --- pictures


def test_pictures_of_waiting_show_their_numbers():
    drawn = waiting.barrier_costs({"even": {2: 1.5, 4: 2.0}}, {"even": {2: 1.4, 4: 2.1}, "odd": {2: 1, 4: 3}})
    assert "At 4 workers: even: 2.1; odd: 3" in drawn.alt and "2 4 | 1.5 2" in repr(drawn)
    pace = ComputeTimes("lognormal", spread=0.1, factors=(1, 3), seed=2)
    runs = {
        "sync": simulate(synchronous(quadratic(), 4, 0.1, times=pace), 2, link=FREE),
        "async": simulate(asynchronous(quadratic(), 30, 0.1, times=pace), 3, link=FREE),
    }
    lanes = waiting.who_waits(runs, until=6.0)
    counts = [int((run.values[0].seconds <= 6).sum()) for run in runs.values()]
    assert f"sync: {counts[0]}; async: {counts[1]}" in lanes.alt and counts[1] > 3 * counts[0]
    late = {"fast": np.array([2, 2, 3, 1]), "slow": np.array([30, 31])}
    shares = waiting.staleness_shares(late, {"slow": np.array([29])})
    assert "fast: mean 2.0; slow: mean 30.5" in shares.alt and "slow, real: mean 29.0: 29 | 1" in repr(shares)
    slack = waiting.slack_costs([0, 1, math.inf], {"mild": [3, 2, 1]}, {"barrier": 3})
    assert "0, 1, ∞ steps" in slack.alt and "mild: 3.00, 2.00, 1.00" in slack.alt
    link = waiting.rounds_on_a_link({"ring": {2: 1.3, 4: 1.4}}, {"ring": {4: 1.45}}, share=0.3)
    assert "At 4 workers: ring: 1.45 s" in link.alt


def test_pictures_of_staleness_show_their_numbers():
    draws = {"even": [(0.1, np.array([0.21, 0.22, 0.25])), (0.4, np.array([0.3, 0.5, 0.4]))]}
    stable = stale_pictures.stable_over_spread(draws, {"η": 0.24})
    assert "even: 0.220 at 0.10, 0.400 at 0.40" in stable.alt
    both = stale_pictures.fates({"up": 2.0 ** np.arange(60), "down": 0.5 ** np.arange(60)})
    assert "up: 6e+17; down: 1e-03" in both.alt
    history = train(synchronous(quadratic(), 4, 0.5, times=2.0), 3)
    axes = stale_pictures.losses_on_three_axes({"sync": history, "idle": history}, quadratic(), 0.1)
    assert "sync 2 updates, 6 gradients, 4 s" in axes.alt
    never = stale_pictures.losses_on_three_axes({"sync": history}, quadratic(), 1e-9)
    assert "sync never" in never.alt
    seconds = {
        "even": {"sync": [[4, 2], [5, 3]], "async": [[1, math.inf], [2, 9]]},
        "odd": {"sync": [[1, 1]] * 2},
    }
    best = stale_pictures.seconds_to_target([1, 2], seconds)
    assert "even, sync 2.5 s; even, async 1.5 s; odd, sync 1 s" in best.alt


def test_titles_are_short():
    from course_lib.labels import LABELS

    titles = {name: text for name, text in LABELS.items() if name.startswith("ch6_") and "title" in name}
    assert titles and all(len(text.format(low=2, high=30)) <= 65 for text in titles.values())
