"""The ways of SGD side by side: what the widget shows, without a browser, and what its presets claim."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from course_lib import laws, simulate
from course_lib.pictures.ways import loss_limits, window
from course_lib.sgd import asynchronous, quadratic, synchronous, ways
from course_lib.sgd.outcome import Outcome
from course_lib.sgd.ways import CURVATURES, SINGLE, WAYS, Setting, outcome
from course_lib.widgets import sync_async
from course_lib.widgets.sync_async import PRESETS
from course_lib.widgets.ways_view import view

EVEN = Setting(kind="constant")
RANDOM = Setting()
SEEDS = 1, 2, 6


def outcomes_of(widget):
    return [widget.outcomes[way] for way in widget.ways]


# What each way comes to


@pytest.mark.parametrize(
    ("way", "make", "updates", "rate"),
    [("synchronous", synchronous, 25, 0.5), ("asynchronous", asynchronous, 200, 0.5 / 8)],
)
def test_the_ways_are_those_of_the_simulator(way, make, updates, rate):
    worker, ranks = make(quadratic(CURVATURES), updates, rate, times=1.0), 8 + (way == "asynchronous")
    history = simulate(worker, ranks, link=EVEN.link).values[0]
    np.testing.assert_allclose(outcome(way, EVEN).history.parameters, history.parameters, rtol=1e-12)


@pytest.mark.parametrize("rate", [0.1, 1.5])
def test_synchronous_losses_by_formula(rate):
    shrunk = (1 - rate * CURVATURES) ** (2 * np.arange(26)[:, None])
    law = shrunk @ CURVATURES / CURVATURES.sum()
    np.testing.assert_allclose(outcome("synchronous", replace(EVEN, rate=rate)).losses, law, rtol=1e-9)


@pytest.mark.parametrize("workers", [2, 7])
@pytest.mark.parametrize("way", WAYS)
def test_each_way_gets_the_same_gradients(way, workers):
    done = outcome(way, Setting(workers=workers, period=3))
    assert done.history.gradients[-1] == pytest.approx(200, abs=1.5 * workers)
    assert len(done.lanes) == workers + 2 * (way == "backup")
    for axis in ("updates", "gradients", "seconds"):
        places = done.along(axis)
        assert len(places) == len(done.losses) and places[0] == 0 and (np.diff(places) >= 0).all()


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_takes_the_same_times_in_every_way(way):
    times = [[stop - start for start, stop, _ in lane] for lane in outcome(way, RANDOM).lanes[:8]]
    for lane, reference in zip(times, outcome("synchronous", RANDOM).lanes, strict=True):
        expected = [stop - start for start, stop, _ in reference]
        both = min(len(lane), len(expected))
        assert both > 8
        np.testing.assert_allclose(lane[:both], expected[:both], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_nobody_does_two_things_at_once(way):
    for lane in outcome(way, replace(RANDOM, latency=0.1, slow=4.0)).lanes:
        for (_, stop, _), (start, _, _) in zip(lane, lane[1:], strict=False):
            assert start >= stop


def test_gradients_in_vain_are_marked_where_they_were_computed():
    done = outcome("backup", replace(RANDOM, latency=0.05))
    marked = [bar for lane in done.lanes for bar in lane if bar[2]]
    assert len(marked) == done.history.dropped > 10
    for start, stop, _ in marked:  # an update was made meanwhile, or while messages were under way
        assert any(start - 0.05 <= update <= stop + 0.05 for update in done.history.seconds)
    assert not any(bar[2] for way in SINGLE for lane in outcome(way, RANDOM).lanes for bar in lane)


def test_waiting_by_hand():
    two = Setting(workers=2, kind="constant", slow=3.0, gradients=40)
    assert outcome("synchronous", two).waiting == pytest.approx(1 / 3)  # one works 1 s of 3, the other all
    assert outcome("synchronous", two).round_seconds == pytest.approx(3)
    assert outcome("asynchronous", two).waiting == 0
    assert outcome("asynchronous", two).round_seconds == pytest.approx(1.5, rel=0.05)


def test_what_is_computed_after_the_last_update_does_not_count():
    history = outcome("synchronous", replace(EVEN, gradients=32)).history  # 4 steps, 4 s
    late = Outcome("synchronous", 8, history, np.ones(5), (((0, 2, False), (3, 9, False)), ((5, 6, False),)))
    assert late.waiting == 1 - 3 / 8


def test_what_the_link_costs():
    """A ring of K workers costs a step 2(K-1) latencies and 2(K-1)/K transfers; a server's port is one."""
    linked = replace(EVEN, latency=0.1, transfer=0.2)
    ring = outcome("synchronous", linked)
    assert ring.round_seconds == pytest.approx(1 + 14 * 0.1 + 14 / 8 * 0.2)
    busy = outcome("asynchronous", replace(EVEN, transfer=0.5))
    assert busy.round_seconds == pytest.approx(8 * 0.5, rel=0.05)


def test_the_target_is_reached_for_good():
    history = outcome("synchronous", EVEN).history
    dips = Outcome("synchronous", 8, history, np.array([1, 0.01, 0.5, 0.009, 0.01, *[0.001] * 21]), ())
    assert dips.reached(0.01) == 3 and dips.seconds_to(0.01) == 3
    assert dips.reached(2) == 0 and dips.seconds_to(2) == 0
    assert dips.reached(1e-4) is None and dips.seconds_to(1e-4) is None and not dips.grew
    assert Outcome("synchronous", 8, history, np.array([1, math.inf]), ()).grew


def test_noise_is_that_of_a_gradient():
    sync, single = (outcome(way, replace(EVEN, noise=1.0)) for way in ("synchronous", "asynchronous"))
    assert 1e-3 < sync.losses[-5:].mean() < 0.1
    assert sync.losses[-1] > 3 * outcome("synchronous", EVEN).losses[-1]
    other = outcome("synchronous", replace(EVEN, noise=1.0, seed=5)).losses
    assert not np.allclose(other[1:], sync.losses[1:], rtol=0.01)  # it has draws of its own
    assert 0.2 < single.losses[-40:].mean() / sync.losses[-5:].mean() < 5  # at rate / K alike


def test_only_what_changed_is_run_again(monkeypatch):
    ran = []
    fresh = replace(RANDOM, seed=99)
    real = ways.simulate
    monkeypatch.setattr(ways, "simulate", lambda *args, **options: ran.append(args) or real(*args, **options))
    for change in ({}, {}, {"slack": 5}, {"spread": 0.1}, {"period": 2}):
        for way in WAYS:
            outcome(way, replace(fresh, **change))
    assert len(ran) == len(WAYS) + 2  # all once, then stale-synchronous, then local


# What the presets claim


@pytest.mark.parametrize("seed", SEEDS)
def test_async_wins(seed):
    widget = sync_async("async_wins", seed=seed)
    first, *others = sorted(outcomes_of(widget), key=lambda each: each.seconds_to(widget.target))
    assert first.way == "asynchronous" and len(others) == 4
    assert first.seconds_to(0.01) < 0.4 * widget.outcomes["synchronous"].seconds_to(0.01)
    assert repr(widget).startswith("To 1 % of the loss at the start: async ")


def test_async_diverges():
    widget = sync_async("async_diverges")
    sync, apart = outcomes_of(widget)
    assert sync.reached(widget.target) and not sync.grew
    assert apart.grew and apart.losses[-1] > 1e3 and apart.reached(widget.target) is None
    assert "Diverges (the loss grows): async." in repr(widget)
    assert "staleness is 7, stable for a gradient's rate below 0.209; here it is 0.24." in repr(widget)
    widget.rate = 1.6  # for a gradient 0.2
    assert "Diverges" not in repr(widget)
    widget.preset("async_diverges")
    widget.kind = "exponential"  # random staleness of the same mean is milder
    assert "Diverges" not in repr(widget)


@pytest.mark.parametrize(("share", "grows"), [(0.95, False), (1.1, True)])
def test_it_is_the_delays_limit_that_decides(share, grows):
    rate = 8 * share * laws.staleness_limit(7)
    setting = replace(sync_async("async_diverges").setting, rate=rate, gradients=1000)
    assert outcome("asynchronous", setting).grew is grows


def test_the_barrier_costs_a_harmonic_number():
    widget = sync_async("barrier")
    law = laws.expected_slowest(8)
    assert widget.outcomes["synchronous"].round_seconds == pytest.approx(law, rel=0.05)
    assert widget.outcomes["asynchronous"].round_seconds == pytest.approx(1, rel=0.1)
    assert "A synchronous step takes 2.67 s; the slowest of 8 exponential times takes 2.72 s" in repr(widget)
    steps = [outcome("synchronous", replace(widget.setting, seed=seed)).round_seconds for seed in range(20)]
    assert np.mean(steps) == pytest.approx(law, rel=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_backup_pays(seed):
    widget = sync_async("backup", seed=seed)
    sync, spare = outcomes_of(widget)
    np.testing.assert_allclose(spare.losses, sync.losses, rtol=1e-9)  # the same updates, sooner
    assert spare.seconds_to(widget.target) < 0.8 * sync.seconds_to(widget.target)
    assert spare.history.dropped > 10 and len(spare.lanes) == 10  # and what it costs


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_everything(name):
    widget = sync_async(workers=3, noise=1.0, slow=9.0, seed=7, target=0.5, ways=["local"])
    widget.pin()
    widget.preset(name)
    fresh = sync_async(name)
    assert {**widget.state(), "pins": []} == fresh.state() and len(widget.pins) == 1
    assert repr(widget) == repr(fresh)


# What the browser gets


def shown(setting, target=0.01, ways=WAYS):
    return view([("A", setting, [outcome(way, setting) for way in ways])], target)


@pytest.mark.parametrize(
    "setting",
    [
        RANDOM,
        EVEN,
        Setting(workers=2, latency=1.0, transfer=1.0),
        Setting(workers=16, slow=10.0, extra=8),
        Setting(rate=3.0, kind="constant"),
        Setting(rate=1e150, divided=False),
        Setting(noise=2.0, kind="uniform", spread=1.0),
        Setting(rate=1e-6, kind="lognormal", spread=1.0, period=16, slack=0, extra=0),
    ],
)
def test_what_is_drawn_fits_its_axes(setting):
    drawn = shown(setting)
    json.dumps(drawn, allow_nan=False)
    low, high = drawn["limits"]
    assert 1e-6 <= low < drawn["target"] <= high <= 100
    for curve in drawn["curves"]:
        assert all(low <= loss <= high for loss in curve["losses"])
        for axis, end in drawn["ends"].items():
            assert len(curve[axis]) == len(curve["losses"]) and curve[axis][-1] <= 1.0001 * end
    for group in drawn["groups"]:
        for lane, start, stop, late in group["bars"]:
            assert 0 <= lane < group["lanes"] and 0 <= start <= stop <= 1.0001 * drawn["window"]
            assert late in (0, 1)
        assert group["updates"] and all(lane < group["lanes"] for lane, _ in group["updates"])


def test_a_diverging_run_is_clipped_and_said():
    drawn = shown(Setting(rate=1e150, divided=False))
    assert all(curve["leaves"] and curve["losses"][-1] == 100 for curve in drawn["curves"])
    assert drawn["said"] == (
        "Nothing reaches 1 % of the loss at the start. "
        "Diverges (the loss grows): sync, async, SSP, backup, local. " + drawn["said"].split("local. ")[1]
    )
    assert drawn["runs"][0]["rows"][0][5] == "∞"


def test_the_loss_axis():
    mild = outcome("synchronous", EVEN)
    assert loss_limits([mild], 0.01) == (1e-3, 1)
    wild = outcome("asynchronous", replace(EVEN, divided=False))
    assert loss_limits([mild, wild], 0.01) == (1e-3, 100)
    assert loss_limits([outcome("synchronous", replace(EVEN, rate=1.0, gradients=1000))], 0.01)[0] == 1e-6


def test_the_lanes_show_the_first_rounds_of_each_way():
    assert window([outcome("synchronous", EVEN)]) == 3
    assert window([outcome("synchronous", EVEN), outcome("local", EVEN)]) == 4  # one round of 4 steps
    (group,) = shown(EVEN, ways=["synchronous"])["groups"]
    assert len(group["bars"]) == 24 and group["updates"] == [[-1, 1], [-1, 2], [-1, 3]]
    (group,) = shown(EVEN, ways=["asynchronous"])["groups"]
    assert sorted(group["updates"])[:3] == [[0, 1], [0, 2], [0, 3]]


def test_the_table():
    rows = dict((way, cells) for way, *cells in shown(EVEN)["runs"][0]["rows"])
    assert rows["synchronous"] == ["1", "0 %", "0", "0", "0.00321", "18", "144", "18"]
    assert rows["asynchronous"][2] == "6.86"  # 7, but for the first round
    assert rows["backup"][3] == "48"
    assert shown(replace(EVEN, rate=1e-3))["runs"][0]["rows"][0][-3:] == ["–"] * 3


def test_laws_are_told_where_they_hold():
    assert "2.72" in shown(RANDOM)["said"] and "0.209" in shown(EVEN)["said"]
    assert "synchronous step" not in shown(RANDOM, ways=["asynchronous"])["said"]


@pytest.mark.parametrize(
    "setting", [replace(EVEN, slow=2.0), replace(RANDOM, latency=0.1), replace(RANDOM, kind="lognormal")]
)
def test_laws_are_not_told_where_they_do_not_hold(setting):
    said = shown(setting)["said"]
    assert "2.72" not in said and "0.209" not in said


def test_a_setting_in_words_tells_what_matters():
    everything = shown(replace(RANDOM, slow=3.0, kind="uniform"))["runs"][0]["text"]
    assert everything == (
        "K = 8, uniform times, η = 0.5, spread 0.5, s = 2, e = 2, H = 4, slow worker × 3, "
        "single gradients at η/K, seed 1"
    )
    (run,) = shown(RANDOM, ways=["local"])["runs"]
    assert run["text"] == "K = 8, exponential times, η = 0.5, H = 4, seed 1"


# The widget


def test_the_state_set_from_code():
    widget = sync_async(workers=4, ways=["asynchronous", "synchronous"])
    assert widget.ways == ["synchronous", "asynchronous"] and list(widget.outcomes) == widget.ways
    assert widget.shown["said"] == repr(widget)
    widget.kind = "constant"
    assert widget.outcomes["synchronous"].round_seconds == 1 and "staleness is 3" in repr(widget)
    widget.reset()
    assert widget.state() == sync_async(workers=4, ways=["asynchronous", "synchronous"]).state()


def test_pins_are_compared():
    widget = sync_async(ways=["synchronous", "backup"])
    widget.pin()
    widget.extra, widget.ways = 1, ["backup"]
    widget.pin()
    widget.slow = 5.0
    curves = [(curve["letter"], curve["way"]) for curve in widget.shown["curves"]]
    assert curves == [("A", "backup"), ("B", "synchronous"), ("B", "backup"), ("C", "backup")]
    texts = [run["text"] for run in widget.shown["runs"]]
    assert ["e = 1" in text for text in texts] == [True, False, True]
    assert "C: backup workers" in "\n".join(widget.picture().numbers)
    widget.pin()
    with pytest.raises(ValueError, match="^pins must be a list of at most 3"):
        widget.pin()


def test_several_changes_at_once_are_computed_once(monkeypatch):
    calls = []
    module = sys.modules[type(sync_async()).__module__]
    monkeypatch.setattr(module, "view", lambda *args: calls.append(args) or view(*args))
    widget = sync_async()
    calls.clear()
    widget.preset("async_diverges")
    widget.axis = "updates"
    assert len(calls) == 1


def test_the_still_picture():
    picture = sync_async().picture()
    assert "async 17 s, SSP 24.6 s, backup 29.8 s, local 33.7 s, sync 48 s" in picture.alt
    titles = [line.split(" [")[0] for line in picture.numbers if line.endswith("]")]
    assert titles[:2] == ["Waiting: async 0 %, sync 61.4 %", "async is first at 1 % of the loss, after 17 s"]
    assert max(map(len, titles)) <= 60
    missed = sync_async(rate=0.01, ways=["local"]).picture().numbers
    assert any(line.startswith("Nothing comes down to 1 % of the loss") for line in missed)


@pytest.mark.parametrize("make", [sync_async, lambda name: sync_async().preset(name)])
def test_an_unknown_preset(make):
    said = "^preset must be one of async_wins, async_diverges, barrier, backup"
    with pytest.raises(ValueError, match=said):
        make("magic")


@pytest.mark.parametrize("rate", [0, 1e-7, 1e7, math.nan])
def test_rates_that_no_way_could_use_are_refused_and_change_nothing(rate):
    widget = sync_async(gradients=32)
    with pytest.raises(ValueError, match="rate must be a number from 1e-06 to 1e\\+06"):
        widget.rate = rate
    assert widget.rate == 0.5 and widget.shown["said"] == repr(widget)


def test_a_setting_that_is_none_is_named():
    with pytest.raises(TypeError, match="slacks is no setting here; there are workers, kind"):
        sync_async(slacks=3)
