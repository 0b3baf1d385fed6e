"""Widgets without a browser: states, numbers, bundles, what they refuse; their JavaScript in Node."""

import json
import math
import random
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import Link, launch, laws, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.labels import LABELS
from course_lib.pictures import wording
from course_lib.planner import GPUS, MODELS, OPTIMISERS, RECOMPUTE, STRATEGIES, transformer
from course_lib.planner import PRECISIONS as PRECISIONS_OF_A_PLAN
from course_lib.predict import Comparison, predict
from course_lib.widgets import (
    amdahl,
    planner,
    ring_player,
    ring_time,
    step_player,
    sync_async,
    timeline_player,
)
from course_lib.widgets.page import SOURCES, script, style_sheet
from course_lib.widgets.presets import LINKS, PRECISIONS
from course_lib.widgets.ring_player import Ring
from course_lib.widgets.timeline_player import frames, state_at

VIEW = "application/vnd.jupyter.widget-view+json"
SCRIPTS = (
    "amdahl",
    "planner",
    "ring_time",
    "timeline_player",
    "ring_player",
    "prediction",
    "quiz",
    "step_player",
    "sync_async",
)


def worker(comm):
    comm.compute(1e-3 * (1 + (comm.rank == 2)))
    ring_all_reduce(comm, np.arange(1200.0))
    comm.barrier()


@pytest.fixture(scope="module")
def run():
    return simulate(worker, 4, link=Link(50e-6, 1e7))


# --- the bundle


@pytest.mark.parametrize(
    "make",
    [
        amdahl,
        planner,
        ring_time,
        ring_player,
        step_player,
        sync_async,
        lambda: timeline_player(simulate(worker, 3)),
    ],
)
def test_one_bundle_has_view_picture_and_numbers(make):
    widget = make()
    data, metadata = widget._repr_mimebundle_()
    assert data[VIEW]["model_id"] == widget.model_id
    assert data["image/png"].startswith(b"\x89PNG") and b"matplotlib" not in data["image/png"].lower()
    assert len(metadata["image/png"]["alt"]) > 40
    assert metadata["image/png"]["alt"] in data["text/plain"]
    assert " at 0x" not in data["text/plain"] and widget.model_id not in data["text/plain"]
    again, _ = make()._repr_mimebundle_()
    assert (again["image/png"], again["text/plain"]) == (data["image/png"], data["text/plain"])


def test_the_bundle_shows_the_state_not_the_default():
    widget = amdahl()
    before = widget._repr_mimebundle_()[0]
    widget.p = 0.5
    after = widget._repr_mimebundle_()[0]
    assert before["image/png"] != after["image/png"] and "P = 0.5" in after["text/plain"]


def test_a_prediction_says_which_it_is():
    data, metadata = predict("3.1", choices="abc")._repr_mimebundle_()
    assert data["text/plain"] == "Prediction 3.1: run this cell to answer."
    assert VIEW in data and "image/png" not in data


# --- Amdahl


def test_amdahl_numbers():
    widget = amdahl(p=0.8, n=8)
    assert widget.speedup == laws.amdahl_speedup(0.8, 8)
    assert widget.limit == pytest.approx(5, rel=1e-15)
    assert widget.workers == 36
    assert widget.gain == pytest.approx(laws.amdahl_speedup(0.8, 9) - laws.amdahl_speedup(0.8, 8))
    assert "speed-up 3.33, at most 5." in repr(widget)
    widget.scaling = "weak"
    assert widget.speedup == laws.gustafson_speedup(0.8, 8) and math.isinf(widget.limit)


@pytest.mark.parametrize(
    ("p", "n", "speedup"), [(0, 10**6, 1), (1, 10**6, 10**6), (0.3, 1, 1), (0.8, 10**6, 4.99998)]
)
def test_amdahl_edges(p, n, speedup):
    widget = amdahl(p=p, n=n)
    assert widget.speedup == pytest.approx(speedup, rel=1e-6)
    assert widget.speedup <= widget.limit
    assert widget._repr_mimebundle_()[0]["image/png"]


def test_pin_and_reset():
    widget = amdahl(p=0.9)
    widget.pin()
    widget.p, widget.n, widget.scaling = 0.5, 64, "weak"
    widget.pin()
    assert widget.pins == [{"p": 0.9, "scaling": "strong"}, {"p": 0.5, "scaling": "weak"}]
    assert len(widget.picture().numbers) > len(amdahl().picture().numbers)
    widget.reset()
    assert widget.state() == {"p": 0.9, "n": 8, "scaling": "strong", "pins": []}


# --- the time of an all-reduce


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("NVLink 4 (H100)", "54.4 ms"),
        ("NVLink 3 (A100)", "81.7 ms"),
        ("PCIe 4 x16", "790 ms"),
        ("InfiniBand NDR", "490 ms"),
        ("100 GbE", "1.96 s"),
        ("25 GbE", "7.84 s"),
    ],
)
def test_the_gradient_of_7b_parameters_on_8_gpus(link, shown):
    widget = ring_time(parameters=7e9, precision="bf16", ranks=8, link=link, latency=0)
    assert f": {shown}. Bus" in repr(widget)
    assert widget.nbytes == 14e9


def test_the_gradient_of_7b_parameters_by_default():
    widget = ring_time()
    assert ": 81.7 ms. Bus" in repr(widget) and "81.7 ms" in widget.picture().numbers[0]
    widget.link = "100 GbE"
    assert ": 1.96 s. Bus" in repr(widget)


@given(st.floats(1e3, 1e12), st.integers(1, 4096), st.floats(1e6, 1e12))
def test_the_articles_formula_without_latency(m, k, b):
    widget = ring_time(nbytes=m, ranks=k, bandwidth=b, latency=0)
    assert widget.seconds == pytest.approx(2 * (k - 1) * m / (k * b), rel=1e-15)


def test_size_link_and_bandwidth_follow_each_other():
    widget = ring_time()
    widget.nbytes = 28e9
    assert widget.parameters == 14e9
    widget.precision = "fp32"
    assert widget.nbytes == 56e9
    widget.link = "25 GbE"
    assert widget.bandwidth == 3.125e9
    widget.bandwidth = 2e9
    assert widget.link == "custom"
    widget.link = "100 GbE"  # as fast as InfiniBand EDR, yet it stays what it is called
    assert (widget.link, widget.bandwidth) == ("100 GbE", 12.5e9)
    widget.reset()
    assert (widget.link, widget.bandwidth, widget.nbytes) == ("NVLink 3 (A100)", 300e9, 14e9)


def test_where_latency_takes_over():
    widget = ring_time(ranks=16, bandwidth=1e9, latency=1e-5)
    assert widget.takeover == pytest.approx(laws.latency_bytes(16, 1e9, 1e-5))
    widget.nbytes = widget.takeover
    assert widget.seconds == pytest.approx(2 * 30 * 1e-5)
    widget.latency = 0
    assert widget.takeover == 0 and "no latency" in repr(widget)


@pytest.mark.parametrize("algorithm", laws.ALGORITHMS)
def test_every_algorithm_can_be_shown(algorithm):
    widget = ring_time(nbytes=1e6, algorithm=algorithm, ranks=7, compute=2e-6)
    seconds = laws.all_reduce_time(1e6, 7, 300e9, 5e-6, algorithm)
    assert (widget.seconds, widget.share) == (seconds, seconds / (seconds + 2e-6))
    assert LABELS[f"algorithm_{algorithm}"] in repr(widget)


@pytest.mark.parametrize("against", ["bytes", "ranks"])
def test_one_rank_sends_nothing(against):
    widget = ring_time(ranks=1, against=against)
    assert (widget.seconds, widget.bus, widget.share, widget.takeover) == (0, None, 0, 0)
    assert widget.picture().numbers


# --- the planner


def test_the_articles_7b_model_does_not_fit():
    widget = planner()
    assert widget.plan.memory.states == 112e9 and not widget.plan.fits
    assert "143 GB on each A100 80 GB. That is 62.6 GB too much; " in repr(widget)
    assert "the largest part is optimiser state, 84 GB." in repr(widget)
    widget.ranks = 1024
    assert "143 GB" in repr(widget)
    widget.strategy = "zero3"
    assert "It fits." in repr(widget)
    assert "do not fit" in planner().picture().numbers[0] and " fit into" in widget.picture().numbers[0]


def test_a_step_says_what_it_waits_for():
    widget = planner(strategy="zero2", link="100 GbE")
    assert "of it waiting for communication" in repr(widget)
    assert "hides all 81.7 ms of communication" in repr(planner())
    assert "without communication" in repr(planner(ranks=1))


def test_model_and_shape_follow_each_other():
    widget = planner()
    widget.model = "GPT-2 1.5B"
    assert (widget.layers, widget.width, widget.head_width) == (48, 1600, 64)
    assert widget.plan.job.model == MODELS["GPT-2 1.5B"]
    widget.layers = 24
    assert widget.model == "own"
    assert widget.plan.job.model == transformer(24, 1600, 50257, 2048, 64)
    assert "24 layers of 1,600 (821 million)" in repr(widget)
    widget.reset()
    assert widget.state() == planner().state()


def test_a_shape_of_ones_own():
    widget = planner(layers=80, width=8192, vocabulary=32000, strategy="zero3", ranks=64)
    assert widget.model == "own" and widget.plan.job.model.parameters == pytest.approx(64.7e9, rel=0.01)
    widget.model = "7B"
    widget.reset()
    assert (widget.model, widget.layers, widget.vocabulary) == ("own", 80, 32000)


def test_plans_are_pinned():
    widget = planner()
    for strategy in ("zero1", "zero2", "zero3"):
        widget.pin()
        widget.strategy = strategy
    widget.pin()
    assert [pin["strategy"] for pin in widget.pins] == ["ddp", "zero1", "zero2", "zero3"]
    weights = next(line for line in widget.picture().numbers if "weights" in line)
    assert len(weights.split("areas")[1].split()) == 5
    widget.reset()
    assert widget.pins == []


# --- what widgets refuse


ALL_PINS = [{"p": 0.5, "scaling": "strong"}] * 6
# Each kind of value once; then, for each trait, what lies just beyond its bounds.
BAD = [
    *((amdahl, "p", bad) for bad in (1.2, -0.1, math.nan, "x", None, True)),
    *((amdahl, "n", bad) for bad in (0, 10**6 + 1, 2.5, math.inf, "8")),
    (amdahl, "scaling", "medium"),
    *((amdahl, "pins", bad) for bad in ([{"p": 1}], [{"p": 2, "scaling": "weak"}], [3], 5, ALL_PINS)),
    *((ring_time, "parameters", bad) for bad in (0, math.inf)),
    *((ring_time, "ranks", bad) for bad in (0, 10**6 + 1)),
    (ring_time, "bandwidth", 0),
    *((ring_time, "latency", bad) for bad in (-1e-6, math.inf)),
    (ring_time, "compute", -1),
    *((ring_time, "nbytes", bad) for bad in (0, math.inf, "1 GB")),
    *((ring_time, name, "x") for name in ("link", "precision", "algorithm", "against")),
    *((sync_async, "workers", bad) for bad in (1, 17)),
    *((sync_async, "kind", bad) for bad in ("gauss", None)),
    *((sync_async, "spread", bad) for bad in (-0.1, 1.1)),
    *((sync_async, "slow", bad) for bad in (0.9, 11)),
    *((sync_async, name, bad) for name in ("latency", "transfer", "noise") for bad in (-0.1, 10.1)),
    *((sync_async, "rate", bad) for bad in (0, 2e6)),
    *((sync_async, "slack", bad) for bad in (-1, 101)),
    *((sync_async, "gradients", bad) for bad in (31, 1001)),
    (sync_async, "seed", -1),
    *((sync_async, "rule", bad) for bad in ("half", True)),
    *((sync_async, "extra", bad) for bad in (-1, 9)),
    *((sync_async, "period", bad) for bad in (0, 17)),
    *((sync_async, "target", bad) for bad in (0, 1)),
    *((sync_async, "ways", bad) for bad in ([], ["sync"], "local", 5)),
    (sync_async, "pins", [{"workers": 8}]),
    *((planner, "model", bad) for bad in ("8B", 7e9)),
    (planner, "layers", 0),
    *((planner, "ranks", bad) for bad in (0, 10**7)),
    *((planner, "overlap", bad) for bad in (-0.1, 1.1)),
    *((planner, "utilisation", bad) for bad in (0, 1.1)),
    *((planner, name, "x") for name in ("gpu", "link", "strategy", "precision", "optimiser", "recompute")),
    (planner, "pins", [{"model": "7B"}]),
    *((step_player, "ranks", bad) for bad in (1, 9)),
    *((step_player, "width", bad) for bad in (8, 33)),
    *((step_player, "bandwidth", bad) for bad in (0, 1e9)),
    *((step_player, "slow", bad) for bad in (-2, 8)),
    (step_player, "mode", "pipes"),
    *((step_player, "frame", bad) for bad in (-1, 10**4)),
    *((ring_player, "frame", bad) for bad in (-1, 7, 1.5)),
    *((ring_player, "speed", bad) for bad in (3, "fast")),
    *((lambda: predict("1", "abc"), "guess", bad) for bad in ("d", "", 1, "ab")),
    *((lambda: predict("1"), "guess", bad) for bad in ("a", math.nan, math.inf, True)),
    *(
        (lambda: predict("1", "ab"), "hands", bad)
        for bad in ({"a": 1}, {"a": -1, "b": 0}, {"a": 0.5, "b": 0})
    ),
]


@pytest.mark.parametrize(("make", "name", "bad"), BAD)
def test_a_bad_value_is_refused_by_name_and_changes_nothing(make, name, bad):
    widget = make()
    before = getattr(widget, name)
    with pytest.raises(ValueError, match=f"^{name} must be "):
        setattr(widget, name, bad)
    assert getattr(widget, name) == before


@pytest.mark.parametrize(
    ("make", "name", "good"),
    [
        *((amdahl, "n", good) for good in (1, 10**6)),
        *((ring_time, "ranks", good) for good in (1, 10**6)),
        *((ring_time, name, 0) for name in ("latency", "compute")),
        *((sync_async, "workers", good) for good in (2, 16)),
        *((sync_async, "slow", good) for good in (1, 10)),
        *((sync_async, "extra", good) for good in (0, 8)),
        *((sync_async, "period", good) for good in (1, 16)),
        *((planner, "overlap", good) for good in (0, 1)),
        (planner, "utilisation", 1),
        *((step_player, "ranks", good) for good in (2, 8)),
        *((step_player, "bandwidth", good) for good in (0.2e6, 50e6)),
        *((step_player, "slow", good) for good in (-1, 3)),
        *((ring_player, "frame", good) for good in (0, 6)),
    ],
)
def test_the_bounds_themselves_are_allowed(make, name, good):
    widget = make()
    setattr(widget, name, good)
    assert getattr(widget, name) == good


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: amdahl(p=2), "p"),
        (lambda: amdahl(pins=[{}]), "pins"),
        (lambda: ring_time(parameters=1, nbytes=1), "nbytes"),
        (lambda: ring_time(link="100 GbE", bandwidth=1e9), "bandwidth"),
        (lambda: sync_async(workers=0), "workers"),
        (lambda: sync_async("magic"), "preset"),
        (lambda: planner("7B", layers=3), "model"),
        (lambda: planner(strategy="zero4"), "strategy"),
        (lambda: step_player("magic"), "preset"),
        (lambda: step_player(ranks=9), "ranks"),
        (lambda: step_player(frame=10**4), "frame"),
        (lambda: ring_player(1), "ranks"),
        (lambda: ring_player(9), "ranks"),
        (lambda: ring_player(arrays=[[1, 2], [1]]), "arrays"),
        (lambda: ring_player(arrays=[[1], [2]]), "arrays"),
        (lambda: ring_player(arrays=[["x", "y"], ["z", "w"]]), "arrays"),
        (lambda: ring_player(delays=[1]), "delays"),
        (lambda: ring_player(frame=99), "frame"),
        (lambda: timeline_player(simulate(lambda comm: 0, 2)), "run"),
        (lambda: predict("1", "aa"), "choices"),
    ],
)
def test_a_bad_argument_is_refused_by_name(make, name):
    with pytest.raises(ValueError, match=f"^{name} "):
        make()


# --- the timeline player


def test_frames_are_the_moments_of_the_run(run):
    moments = frames(run)
    assert moments[0] == 0 and moments[-1] == run.seconds and list(moments) == sorted(moments)
    assert min(np.diff(moments)) > 1e-9 * run.seconds
    edges = {span.start for span in run.spans} | {message.stop for message in run.messages}
    assert all(min(abs(edge - moment) for moment in moments) <= 1e-9 * run.seconds for edge in edges)
    assert (
        frames(run, most=5)[0] == 0
        and frames(run, most=5)[-1] == run.seconds
        and len(frames(run, most=5)) == 5
    )


def test_who_waits_for_whom(run):
    at_start, waiting = state_at(run, 0.0), state_at(run, 1.9e-3)
    assert [doing.kind for doing in at_start.doing] == ["compute"] * 4 and not at_start.flying
    assert waiting.doing[2] == ("compute", ())
    assert waiting.doing[3] == ("wait", (2,))  # the slow one holds up its right neighbour
    assert state_at(run, run.seconds).doing == (("done", ()),) * 4


def test_at_a_barrier_the_late_are_named():
    run = simulate(lambda comm: (comm.compute(1e-3 * comm.rank), comm.barrier()), 3)
    assert state_at(run, 1.5e-3).doing == (("wait", (2,)), ("wait", (2,)), ("compute", ()))
    assert state_at(run, 0.5e-3).doing[0] == ("wait", (1, 2))


def test_messages_under_way(run):
    for time in frames(run):
        flying = state_at(run, time).flying
        now = time + 1e-9 * run.seconds
        assert list(flying) == [m[:3] for m in run.messages if m.start <= now < m.stop]


def test_a_timeline_is_shown_in_words(run):
    player = timeline_player(run)
    assert (
        len(player.times) == len(player.texts) == len(player.doing) == len(player.waiting) == player.last + 1
    )
    player.frame = next(number for number, waiting in enumerate(player.waiting) if waiting == [3])
    assert "Waiting: 3." in repr(player) and player.doing[player.frame][3] == "waits for 2"
    assert player.pace[-1] == pytest.approx(12)


def test_a_real_run_can_be_played():
    player = timeline_player(launch(worker, 2))
    assert player.last > 2 and player._repr_mimebundle_()[0]["image/png"]


def test_a_run_too_long_to_play_is_refused():
    run = simulate(lambda comm: [comm.compute(1.0) for _ in range(5001)], 1)
    with pytest.raises(ValueError, match="^run must have at most 5,000 spans"):
        timeline_player(run)


# --- the ring player


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_the_ring_chunk_by_chunk(ranks):
    player = ring_player(ranks)
    assert player.last == 2 * (ranks - 1)
    for step, state in enumerate(player.states):
        for rank, row in enumerate(state.cells):
            for chunk, cell in enumerate(row):
                # What a cell says is in it, is in it.
                assert cell.values == sum((other + 1) * (chunk + 1) for other in cell.ranks)
                assert rank in cell.ranks
        if step < player.last:
            assert sorted(f.source for f in state.flying) == list(range(ranks))
            assert all(f.target == (f.source + 1) % ranks for f in state.flying)
            first = 0 if step < ranks - 1 else 1
            assert all(f.chunk == (f.source + first - step % (ranks - 1)) % ranks for f in state.flying)
            assert all(f.gather == (step >= ranks - 1) for f in state.flying)
    assert all(len(cell.ranks) == ranks for row in player.states[-1].cells for cell in row)
    half = player.states[ranks - 1].cells  # after the reduce-scatter each rank has one whole sum
    assert [[len(cell.ranks) == ranks for cell in row].count(True) for row in half] == [1] * ranks


def test_a_ring_of_any_arrays():
    arrays = np.random.default_rng(0).normal(size=(3, 11))
    ring = Ring(arrays)
    state = ring.state_at(ring.run.seconds)
    whole = np.concatenate([cell.values for cell in state.cells[1]])
    np.testing.assert_allclose(whole, arrays.sum(axis=0), rtol=1e-12)
    assert "…" in ring_player(arrays=arrays).cells[0][0][0][0]


def test_a_late_rank_holds_up_the_ring():
    ring = Ring(np.ones((4, 4)), delays=[0, 1e-3, 0, 0])
    late = ring.state_at(0.9e-3)
    assert all(cell.ranks == (1,) for cell in late.cells[1])
    assert {f.target for f in late.flying} == {1}  # all that is under way waits for it
    assert len(ring.frames()) > 7


def test_a_ring_players_state():
    player = ring_player(4, frame=2, speed=2)
    assert player.time == player.times[2] and player.now is player.states[2]
    player.frame, player.playing = 6, True
    assert "16 of 16 cells" in repr(player)
    player.reset()
    assert player.state() == {"frame": 2, "speed": 2.0, "playing": False}


# --- predictions


def test_a_prediction_holds_a_guess_and_shows_it(capsys):
    prediction, number = predict("3.1", choices="abc"), predict("3.2", unit="steps")
    prediction.compare("b")
    prediction.guess = "a"
    prediction.compare("b")
    number.guess = 50
    number.compare(100.0, computed=True)
    assert isinstance(number.guess, int)
    shown = [("3.1", None, "b"), ("3.1", "a", "b"), ("3.2", 50, 100.0, True)]
    assert capsys.readouterr().out == "".join(f"{Comparison(*each)!r}\n" for each in shown)


def test_comparing_needs_no_widgets():
    code = "import sys; from course_lib.predict import Comparison, predict; print('anywidget' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_show_of_hands():
    prediction = predict("3.1", choices=["yes", "no"])
    assert prediction.hands == {"yes": 0, "no": 0}
    prediction.hands = {"yes": 12, "no": 7}
    prediction.reset()
    assert prediction.hands == {"yes": 0, "no": 0}


# --- what the browser gets


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_one_module(name, node):
    assert "import {" not in script(name) and script(name).count("export ") == 1
    assert node(name, "1 + 1") == 2


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_label_that_a_script_uses_exists(name, subtests):
    for key in re.findall(r"labels\.(\w+)", script(name)):
        with subtests.test(key=key):
            assert key in LABELS, key


def test_nothing_is_fetched():
    for text in [style_sheet(), *(script(name) for name in SCRIPTS)]:
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_files_are_package_data():
    assert {path.suffix for path in SOURCES.iterdir()} == {".js", ".css"}


def test_laws_in_javascript(node, subtests):
    random.seed(2)
    shares = [0, 1, *(random.random() for _ in range(10)), *(1 - 10.0**-place for place in range(1, 10))]
    cases = [(share, ranks) for share in shares for ranks in (1, random.randint(2, 10**6))]
    got = node(
        "amdahl",
        f"{json.dumps(cases)}.map(([p, n]) => [amdahlSpeedup(p, n), gustafsonSpeedup(p, n), "
        "p < 1 ? amdahlLimit(p) : 0, p < 1 ? amdahlWorkers(p) : 0])",
    )
    for (p, n), row in zip(cases, got, strict=True):
        with subtests.test(p=p, n=n):
            limited = [laws.amdahl_limit(p), laws.amdahl_workers(p)] if p < 1 else [0, 0]
            assert row == [laws.amdahl_speedup(p, n), laws.gustafson_speedup(p, n), *limited]


def test_all_reduce_times_in_javascript(node, subtests):
    random.seed(3)
    cases = [
        (
            10 ** random.uniform(0, 12),
            random.choice([random.randint(1, 70), random.randint(1, 10**6)]),
            10 ** random.uniform(6, 12),
            random.choice([0, 10 ** random.uniform(-7, -2)]),
            algorithm,
        )
        for algorithm in laws.ALGORITHMS
        for _ in range(20)
    ]
    got = node(
        "ring_time",
        f"{json.dumps(cases)}.map(([m, k, b, a, name]) => [allReduceTime(m, k, b, a, name), "
        "takeoverBytes(k, b, a, name), k > 1 ? busBandwidth(m, 0.1, k) : 0])",
    )
    for (m, k, b, a, name), (seconds, takeover, bus) in zip(cases, got, strict=True):
        with subtests.test(m=m, k=k, b=b, a=a, name=name):
            widget = ring_time(nbytes=1, ranks=k, bandwidth=b, latency=a, algorithm=name)
            assert seconds == laws.all_reduce_time(m, k, b, a, name)
            assert takeover == pytest.approx(widget.takeover, rel=1e-14)
            assert bus == (laws.bus_bandwidth(m, 0.1, k) if k > 1 else 0)


def test_plans_in_javascript(node, subtests):
    draw = random.Random(7)
    widgets = [planner() for _ in range(60)]
    for widget in widgets:
        for name, value in random_plan(draw).items():
            setattr(widget, name, value)
    cases = [
        {
            **widget.state(),
            **{name: getattr(widget.plan.job.gpu, name) for name in ("peak16", "peak32")},
            "parameters": widget.plan.job.model.parameters,
            "headWidth": widget.head_width,
            "bandwidth": LINKS[widget.link],
            "latency": widget.latency,
        }
        for widget in widgets
    ]
    got = node(
        "planner",
        f"{json.dumps(cases)}.map(job => [planMemory(job), planStep(job), "
        "transformerParameters(job.layers, job.width, job.vocabulary, job.sequence)])",
    )
    for widget, (memory, step, parameters) in zip(widgets, got, strict=True):
        with subtests.test(**widget.state()):
            plan, counted = widget.plan, [widget.layers, widget.width, widget.vocabulary, widget.sequence]
            assert parameters == transformer(*counted).parameters
            assert memory.pop("largest") == plan.largest
            assert memory == {name: getattr(plan.memory, name) for name in memory}
            assert step == {name: getattr(plan.step, name) for name in step}
            assert len(memory) == len(step) == 5


def random_plan(draw):
    """Settings of the planner, mostly of a shape of one's own."""
    shape = {"layers": draw.randint(1, 128), "width": 64 * draw.randint(1, 256)}
    return {
        **draw.choice([{"model": draw.choice(list(MODELS))}, shape]),
        "gpu": draw.choice(list(GPUS)),
        "link": draw.choice(list(LINKS)),
        "ranks": draw.choice([1, 2, 8, round(10 ** draw.uniform(0, 4))]),
        "strategy": draw.choice(STRATEGIES),
        "precision": draw.choice(PRECISIONS_OF_A_PLAN),
        "optimiser": draw.choice(OPTIMISERS),
        "batch": draw.randint(1, 64),
        "sequence": draw.randint(1, 10000),
        "recompute": draw.choice(RECOMPUTE),
        "overlap": draw.choice([0, 1, draw.random()]),
        "utilisation": draw.uniform(0.05, 1),
    }


def test_numbers_are_written_alike(node, subtests):
    random.seed(4)
    cases = [0, 1, 9.995, 10, 12.5, 82.5, 99.95, 999.5, 1e6, 5e-4] + [
        10 ** random.uniform(-6, 6) for _ in range(200)
    ]
    names = {
        "numberText": wording.number_text,
        "secondsText": wording.seconds_text,
        "bytesText": wording.bytes_text,
        "percentText": wording.percent_text,
        "exactText": wording.exact_text,
    }
    calls = ", ".join(f"$text.{name}(x)" for name in names)
    got = node("ring_time", f"{json.dumps(cases)}.map(x => [{calls}])")
    for x, row in zip(cases, got, strict=True):
        with subtests.test(x=x):
            assert row == [function(x) for function in names.values()], x


def test_presets_are_those_of_the_literature():
    assert LINKS["NVLink 3 (A100)"] == 300e9 and LINKS["100 GbE"] == 12.5e9 and PRECISIONS["bf16"] == 2
