"""Closed forms: known values, limits, shapes, and bad input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib import laws


def test_amdahl():
    assert laws.amdahl_limit(0.8) == pytest.approx(5)
    assert laws.amdahl_limit(1) == math.inf
    assert laws.amdahl_speedup(0.8, np.arange(1, 10**4)).max() < laws.amdahl_limit(0.8)
    assert laws.amdahl_speedup(0.8, 10**6) == pytest.approx(1 / (0.2 + 0.8e-6))
    assert laws.amdahl_speedup(0, 7) == 1
    assert laws.amdahl_speedup(1, 10**6) == 10**6
    assert laws.amdahl_speedup(0.3, 1) == pytest.approx(1)


def test_amdahl_broadcasts():
    table = laws.amdahl_speedup(np.array([[0.5], [0.9]]), np.array([1, 2, 4]))
    assert table.shape == (2, 3)
    assert table[1, 2] == laws.amdahl_speedup(0.9, 4)
    assert isinstance(laws.amdahl_speedup(0.9, 4), float)


@given(st.floats(0, 0.999))
@example(0.0)
@example(0.9)
def test_workers_for_nine_tenths(p):
    n = laws.amdahl_workers(p)
    assert laws.amdahl_speedup(p, n) >= 0.9 * laws.amdahl_limit(p) * (1 - 1e-12)
    assert n == 1 or laws.amdahl_speedup(p, n - 1) < 0.9 * laws.amdahl_limit(p)


def test_amdahl_fitted_to_ninety_percent_at_512():
    assert laws.karp_flatt(0.9 * 512, 512) == pytest.approx(2.2e-4, rel=0.02)


@given(st.floats(0, 1), st.integers(2, 10**4))
def test_karp_flatt_undoes_amdahl(p, n):
    assert laws.karp_flatt(laws.amdahl_speedup(p, n), n) == pytest.approx(1 - p, abs=1e-9)


def test_gustafson():
    assert laws.gustafson_speedup(0.8, 10) == pytest.approx(8.2)
    assert laws.gustafson_speedup(1, 64) == 64


@given(st.floats(0, 1e12), st.integers(1, 10**5), st.floats(1, 1e12), st.floats(0, 1))
def test_article_ring_formula_with_latency(nbytes, ranks, bandwidth, latency):
    article = 2 * (ranks - 1) * (nbytes / (ranks * bandwidth) + latency)
    assert laws.ring_time(nbytes, ranks, bandwidth, latency) == pytest.approx(article, rel=1e-12)


@pytest.mark.parametrize(
    ("bandwidth", "milliseconds"),
    [(450e9, 54), (300e9, 82), (31e9, 790), (3.125e9, 7840)],
)
def test_seven_billion_parameters_on_eight(bandwidth, milliseconds):
    assert laws.ring_time(14e9, 8, bandwidth) * 1000 == pytest.approx(milliseconds, rel=0.01)


@pytest.mark.parametrize("algorithm", laws.ALGORITHMS)
def test_one_rank_costs_nothing(algorithm):
    assert laws.all_reduce_time(1e9, 1, 1e9, 1e-3, algorithm) == 0


def test_costs_at_eight():
    seconds = {name: laws.all_reduce_time(8e6, 8, 1e9, 1e-3, name) for name in laws.ALGORITHMS}
    assert seconds["ring"] == pytest.approx(14e-3 + 14e-3)
    assert seconds["tree"] == pytest.approx(6e-3 + 96e-3)
    assert seconds["halving_doubling"] == pytest.approx(6e-3 + 14e-3)
    assert seconds["recursive_doubling"] == pytest.approx(3e-3 + 24e-3)
    assert seconds["parameter_server"] == pytest.approx(2e-3 + 112e-3)
    assert seconds["naive"] == pytest.approx(1e-3 + 56e-3)


def test_crossover():
    size = laws.crossover_bytes("recursive_doubling", "ring", 8, 1e9, 50e-6)
    before, after = (
        [laws.all_reduce_time(size * factor, 8, 1e9, 50e-6, name) for name in ("recursive_doubling", "ring")]
        for factor in (0.9, 1.1)
    )
    assert before[0] < before[1] and after[0] > after[1]
    assert math.isnan(laws.crossover_bytes("halving_doubling", "ring", 8, 1e9, 50e-6))


def test_hierarchy_pays_on_a_slow_outer_link():
    slow, fast = (1.25e9, 50e-6), (300e9, 5e-6)
    flat = laws.ring_time(1e9, 64, *slow)
    assert laws.hierarchical_time(1e9, 64, 8, *slow, *fast) < flat / 6
    assert laws.hierarchical_time(1e9, 8, 8, *slow, *fast) == pytest.approx(laws.ring_time(1e9, 8, *fast))
    with pytest.raises(ValueError, match="multiple of group"):
        laws.hierarchical_time(1e9, 9, 8, *slow, *fast)


def test_best_number_of_workers():
    example = {"work": 1.0, "nbytes": 100e6, "bandwidth": 1.25e9}
    assert laws.best_ranks(**example, latency=50e-6) == 92
    times = [laws.step_time(ranks=k, latency=50e-6, **example) for k in range(1, 200)]
    assert np.argmin(times) + 1 == 92
    assert laws.best_ranks(**example, latency=0) == math.inf
    assert np.all(np.diff([laws.step_time(ranks=k, **example) for k in range(1, 200)]) < 0)
    assert laws.speedup_with_ring(ranks=10**9, **example) == pytest.approx(1.25e9 / 2e8, rel=1e-6)
    assert laws.best_ranks(0.1, 100e6, 1.25e9, 50e-6) == 1


@pytest.mark.parametrize(("ranks", "bus"), [(2, 1.0), (4, 1.5), (8, 1.75)])
def test_bus_bandwidth(ranks, bus):
    assert laws.bus_bandwidth(1e9, 1.0, ranks) == pytest.approx(bus * 1e9)


def test_bus_bandwidth_of_a_perfect_ring_is_the_links():
    seconds = laws.ring_time(1e8, 16, 12.5e9)
    assert laws.bus_bandwidth(1e8, seconds, 16) == pytest.approx(12.5e9)
    assert laws.algorithm_bandwidth(1e8, seconds) < 12.5e9


def test_fit_finds_the_link_again():
    sizes = np.geomspace(1e3, 1e8, 12)
    seconds = laws.ring_time(sizes, 4, 1.25e9, 50e-6)
    latency, bandwidth = laws.fit_link(sizes, seconds, 4)
    assert (latency, bandwidth) == (pytest.approx(50e-6), pytest.approx(1.25e9))


def test_fit_is_never_negative():
    sizes = np.array([1e6, 1e7])
    # The best x of c x = t with one unknown alone, in relative error: sum(c / t) / sum(c^2 / t^2).
    assert laws.fit_link(sizes, np.array([1e-3, 2e-2]), 2) == (0, pytest.approx(1.25e18 / 1.5e9))
    assert laws.fit_link(sizes, np.array([1e-2, 1e-3]), 2) == (pytest.approx(2200 / 4.04e6), math.inf)


@pytest.mark.parametrize("tau", [0, 1, 5])
def test_staleness_limit_by_simulation(tau):
    def ends(rate):
        history = [1.0] * (tau + 1)
        for _ in range(4000):
            history.append(history[-1] - rate * history[-1 - tau])
        return max(np.abs(history[-50:]))

    assert ends(0.98 * laws.staleness_limit(tau)) < 1 < ends(1.02 * laws.staleness_limit(tau))


def test_expected_slowest():
    assert laws.expected_slowest(1) == 1
    assert np.round(laws.expected_slowest(np.array([8, 64, 256])), 2).tolist() == [2.72, 4.74, 6.12]


def test_scaled_learning_rate():
    assert laws.scaled_learning_rate(0.1, 256, 8192) == pytest.approx(3.2)
    assert laws.square_root_learning_rate(0.001, 256, 4096) == pytest.approx(0.004)
    assert laws.square_root_learning_rate(0.1, 8, np.array([8, 32])) == pytest.approx([0.1, 0.2])
    with pytest.raises(ValueError, match="base_lr must be above 0"):
        laws.square_root_learning_rate(0, 8, 16)


@pytest.mark.parametrize(
    ("law", "arguments", "message"),
    [
        (laws.amdahl_speedup, (1.2, 4), "p must be between 0 and 1; got 1.2"),
        (laws.amdahl_speedup, (-0.1, 4), "p must be between 0 and 1; got -0.1"),
        (laws.amdahl_speedup, (math.nan, 4), "p must be between 0 and 1; got nan"),
        (laws.amdahl_speedup, (0.8, 0), "n must be a whole number of at least 1; got 0"),
        (laws.amdahl_speedup, (0.8, 2.5), "n must be a whole number of at least 1; got 2.5"),
        (laws.amdahl_speedup, (0.8, [4, 2.5]), "got 2.5"),
        (laws.amdahl_workers, (1.0,), "below 1"),
        (laws.gustafson_speedup, (2, 2), "p must be"),
        (laws.karp_flatt, (1.5, 1), "n must be a whole number of at least 2"),
        (laws.karp_flatt, (0, 2), "speedup must be above 0"),
        (laws.ring_time, (-1, 2, 1e9), "nbytes must be at least 0"),
        (laws.ring_time, (1, 0, 1e9), "ranks must be"),
        (laws.ring_time, (1, 2, 0), "bandwidth must be above 0"),
        (laws.ring_time, (1, 2, 1e9, math.nan), "latency must be"),
        (laws.all_reduce_time, (1, 2, 1e9, 0, "star"), "algorithm must be one of ring, tree"),
        (laws.bus_bandwidth, (1, 0, 2), "seconds must be above 0"),
        (laws.fit_link, ([1e6], [1e-3], 2), "two sizes"),
        (laws.fit_link, ([1e6, 2e6], [1e-3, 2e-3], 1), "ranks must be"),
        (laws.staleness_limit, (-1,), "tau must be a whole number of at least 0"),
        (laws.expected_slowest, (0,), "k must be"),
        (laws.scaled_learning_rate, (0.1, 0, 8), "base_batch must be"),
        (laws.best_ranks, (0, 1, 1, 1), "work must be above 0"),
    ],
)
def test_bad_input(law, arguments, message):
    with pytest.raises(ValueError, match=message):
        law(*arguments)


@pytest.mark.parametrize(
    "p", ["0.5", b"0.5", ["0.5"], 0.5 + 0j, np.array([0.5 + 0j]), np.array(["0.5"], object)]
)
def test_strings_and_complex_numbers_are_refused(p):
    with pytest.raises(TypeError, match="p must be"):
        laws.amdahl_speedup(p, 4)


@pytest.mark.parametrize("law", [laws.step_time, laws.speedup_with_ring])
@pytest.mark.parametrize("work", [10**400, [1, 10**400]])
def test_numbers_too_large_are_named(work, law):
    with pytest.raises(ValueError, match="work must be above 0; got a number too large for a float"):
        law(work, 1, 2, 1.0)


def test_fractions_are_numbers():
    assert laws.amdahl_limit(Fraction(1, 2)) == 2


def test_the_slowest_of_very_many():
    k = np.array([10**6 - 1, 10**6, 10**6 + 1, 10**10])
    below, at, above, many = laws.expected_slowest(k)
    assert at - below == pytest.approx(1e-6, rel=1e-6) and above - at == pytest.approx(1e-6, rel=1e-6)
    assert many == pytest.approx(math.log(10**10) + np.euler_gamma, rel=1e-11)
    assert laws.expected_slowest(1e300) == pytest.approx(math.log(1e300) + np.euler_gamma)


@pytest.mark.parametrize("value", [True, np.True_, np.array([True]), [True]])
def test_truth_values_are_no_numbers(value):
    with pytest.raises(TypeError, match="k must be a whole number of at least 1"):
        laws.expected_slowest(value)
