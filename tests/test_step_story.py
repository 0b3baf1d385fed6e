"""The puzzle class: every frame equals the Run, told by other means; its model, player and picture."""

import io
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib import launch, simulate
from course_lib.digits import load_digits
from course_lib.pictures.class_at_work import class_at_work
from course_lib.step_story import PRESETS, Setting, state, tell, worker_of
from course_lib.step_story.model import LAYERS, Network, layer_bytes
from course_lib.step_story.tables import moments, pace, tables
from course_lib.step_story.worker import Diary
from course_lib.widgets import step_player
from course_lib.widgets.step_player import MODES, in_words

CALLS = 4 + 1 + LAYERS + 1  # of compute in a step: pieces, forward, layers, update


@pytest.fixture(scope="module")
def stories():
    real = tell(PRESETS["straggler"], run=launch(worker_of(PRESETS["straggler"]), 4))
    return {**{name: tell(setting) for name, setting in PRESETS.items()}, "real": real}


NAMES = [*PRESETS, "real"]


def random_times(story, count=50):
    draw = random.Random(4)
    return sorted(draw.uniform(0, story.run.seconds) for _ in range(count))


# --- each frame against the trace


@pytest.mark.parametrize("name", NAMES)
def test_bytes_on_each_link(stories, name, subtests):
    story = stories[name]
    for time in random_times(story):
        with subtests.test(time=time):
            now = state(story, time)
            there = [m for m in story.run.messages if m.stop <= time]
            flying = [m for m in story.run.messages if m.start <= time < m.stop]
            for rank, link in enumerate(now.links):
                assert link.arrived == sum(m.nbytes for m in there if m.source == rank)
                gone = [m.nbytes * (time - m.start) / (m.stop - m.start) for m in flying if m.source == rank]
                assert link.on_way == pytest.approx(sum(gone))
            assert sorted(story.chunks[number][:5] for number, _ in now.flying) == sorted(map(tuple, flying))


def calls_of(run, rank):
    """(start, stop) of a rank's calls of compute, from the trace."""
    return [(start, stop) for who, start, stop in sorted(run.trace.computing()) if who == rank]


@pytest.mark.parametrize("name", NAMES)
def test_who_works_and_who_waits(stories, name, subtests):
    story = stories[name]
    kinds = ["load"] * 4 + ["forward"] + ["backward"] * LAYERS + ["update"]
    for time in random_times(story):
        with subtests.test(time=time):
            for rank, doing in enumerate(state(story, time).doing):
                calls = calls_of(story.run, rank)
                assert len(calls) == CALLS * story.setting.steps
                within = [number for number, (start, stop) in enumerate(calls) if start <= time < stop]
                if within:
                    assert (doing.kind, doing.step) == (kinds[within[0] % CALLS], within[0] // CALLS)
                else:  # waiting, done, or in a moment between two calls, which a real rank needs
                    before = sum(stop <= time for _, stop in calls)
                    between = kinds[max(1, before) % CALLS - 1] if name == "real" else None
                    begins = (
                        "start" if before == 0 and time < story.diaries[rank].phases[0].start else between
                    )
                    assert doing.kind in ("wait", "done", begins)
                    assert (doing.kind == "done") <= (before == len(calls))
                    if before % CALLS == CALLS - 1 and name != "real":
                        assert doing.kind == "wait"


def entries(run, rank):
    """(entered, ended) of each all-reduce of a rank, from the spans of a simulated run."""
    spans = [span for span in run.spans if span.rank == rank and span.label == "all_reduce mean"]
    waited = {span.stop: span.start for span in spans if span.kind == "wait"}
    done = sorted((span for span in spans if span.kind == "collective"), key=lambda span: span.stop)
    return [(waited.get(span.start, span.start), span.stop) for span in done]


@pytest.mark.parametrize("name", PRESETS)
def test_for_whom(stories, name, subtests):
    story, seen = stories[name], 0
    reduces = [entries(story.run, rank) for rank in range(story.setting.ranks)]
    assert {len(each) for each in reduces} == {LAYERS * story.setting.steps}
    for time in random_times(story):
        with subtests.test(time=time):
            now = state(story, time)
            for rank, (doing, late) in enumerate(zip(now.doing, now.late, strict=True)):
                if doing.kind != "wait":
                    assert late == ()
                    continue
                first = next(
                    (number for number, (_, ended) in enumerate(reduces[rank]) if ended > time), None
                )
                expected = [other for other, each in enumerate(reduces) if each[first][0] > time]
                assert list(late) == expected
                seen += bool(late)
    assert (seen > 0) == (name == "straggler")


def test_for_whom_in_a_real_run(stories, subtests):
    """Told by the messages: a rank that has sent none of a bucket's chunks was not there."""
    story = stories["real"]
    turns = 2 * (story.setting.ranks - 1)
    first = [[m.start for m in story.run.messages if m.source == rank][::turns] for rank in range(4)]
    waits = 0
    for time in random_times(story, 200):
        with subtests.test(time=time):
            for late in state(story, time).late:
                waits += bool(late)
                assert all(any(begun > time for begun in first[rank]) for rank in late)
    assert waits > 10


@pytest.mark.parametrize("name", NAMES)
def test_replicas_and_losses(stories, name, subtests):
    story = stories[name]
    for time in random_times(story):
        with subtests.test(time=time):
            now = state(story, time)
            updates = [
                sum(stop <= time for _, stop in calls_of(story.run, rank)[CALLS - 1 :: CALLS])
                for rank in range(story.setting.ranks)
            ]
            if name == "real":  # the call has ended a moment before the diary is written
                updates = [min(updates[rank], _written(story, rank, time)) for rank in range(4)]
            expected = [
                diary.fingerprints[count] for diary, count in zip(story.diaries, updates, strict=True)
            ]
            assert list(now.fingerprints) == expected
            assert now.losses == story.losses[: min(updates) + 1]


def _written(story, rank, time):
    return sum(phase.kind == "update" and phase.stop <= time for phase in story.diaries[rank].phases)


@pytest.mark.parametrize("name", NAMES)
def test_pieces_are_each_ranks_own(stories, name, subtests):
    story, used = stories[name], []
    for rank, diary in enumerate(story.diaries):
        part = story.shards[rank]
        assert all(part.start <= sample < part.stop for step in diary.samples for sample in step)
        used += [sample for step in diary.samples for sample in step]
    assert len(set(used)) == len(used) == story.setting.ranks * story.setting.steps * 4
    for time in random_times(story):
        with subtests.test(time=time):
            for rank, desk in enumerate(state(story, time).desks):
                loads = [p for p in story.diaries[rank].phases if p.kind == "load" and p.start <= time]
                mine = (
                    story.diaries[rank].samples[loads[-1].step] if loads else story.diaries[rank].samples[0]
                )
                lying = sum(load.stop <= time for load in loads if load.step == loads[-1].step)
                assert desk.pieces == mine[:lying]
                assert desk.coming in (-1, *mine[lying : lying + 1])


@pytest.mark.parametrize("name", NAMES)
def test_nobody_updates_before_the_slowest_has_arrived(stories, name, subtests):
    story = stories[name]
    for step, (gate, rank) in enumerate(story.gates):
        updates = [
            phase for diary in story.diaries for phase in diary.phases if phase[:2] == ("update", step)
        ]
        assert len(updates) == story.setting.ranks and all(phase.start >= gate for phase in updates)
        if name in ("straggler", "real"):
            assert rank == 2
    for time in random_times(story):
        with subtests.test(time=time):
            now = state(story, time)
            for doing in now.doing:
                if doing.kind == "update":
                    assert all(
                        other.step > doing.step or other.kind in ("wait", "update", "done")
                        for other in now.doing
                    )


@pytest.mark.parametrize("name", NAMES)
def test_chunks_are_those_of_the_ring(stories, name):
    story = stories[name]
    ranks, steps = story.setting.ranks, story.setting.steps
    assert len(story.chunks) == ranks * steps * LAYERS * 2 * (ranks - 1)
    for bucket, nbytes in enumerate(story.bucket_bytes):
        sent = [chunk for chunk in story.chunks if chunk.bucket == bucket]
        assert sum(chunk.nbytes for chunk in sent) == steps * 2 * (ranks - 1) * nbytes
        assert all(chunk.target == (chunk.source + 1) % ranks for chunk in sent)
        assert all(abs(chunk.nbytes - nbytes / ranks) < 8 for chunk in sent)
    for rank in range(ranks):
        for step in range(steps):
            assert all(np.array(story.reduced[rank][step]) > story.diaries[rank].ready[step])


# --- the model


def test_gradients_are_those_of_the_loss():
    training = load_digits()[0]
    images, labels = training.images[:6], training.labels[:6]
    network = Network(16)
    network.forward(images, labels)
    for layer in reversed(range(LAYERS)):
        gradient = network.backward(layer)
        for place in (0, 7, len(gradient) - 1):
            steps = []
            for change in (1e-6, -1e-6):
                other = Network(16)
                other.parameters[layer][place] += change
                steps.append(other.forward(images, labels))
            assert gradient[place] == pytest.approx((steps[0] - steps[1]) / 2e-6, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_large_batch_sgd(stories, name):
    story, training = stories[name], load_digits()[0]
    network = Network(story.setting.width)
    for step in story.steps:
        batch = [sample for diary in story.diaries for sample in diary.samples[step]]
        network.forward(training.images[batch], training.labels[batch])
        gradients = [network.backward(layer) for layer in reversed(range(LAYERS))]
        network.update(gradients[::-1], story.setting.rate)
        for mine, kept in zip(network.parameters, story.diaries[0].parameters[step + 1], strict=True):
            np.testing.assert_allclose(kept, mine, rtol=1e-9, atol=1e-12)
    assert story.losses[-1] < story.losses[0]
    assert len({diary.fingerprints for diary in story.diaries}) == 1
    assert len(set(story.diaries[0].fingerprints)) == story.setting.steps + 1


def test_both_worlds_end_with_the_same_replicas(stories):
    assert stories["real"].diaries[0].fingerprints == stories["straggler"].diaries[0].fingerprints


def test_the_kernel_needs_no_torch_and_no_pictures():
    code = "import sys, course_lib.step_story; print({'torch', 'matplotlib', 'anywidget'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("ranks", 1),
        ("ranks", 9),
        ("width", 33),
        ("bandwidth", 0),
        ("slow", 4),
        ("factor", 0.5),
        ("steps", 0),
        ("pieces", 5),
        ("load", 0),
        ("rate", float("nan")),
    ],
)
def test_a_bad_setting_is_refused_by_name(name, bad):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        Setting(**{name: bad})


def test_a_run_of_something_else_is_refused():
    with pytest.raises(TypeError, match="^run must be one of worker_of"):
        tell(run=simulate(lambda comm: 0, 4))
    with pytest.raises(TypeError, match="^run must be one of worker_of"):
        tell(run=tell(ranks=3).run)
    assert isinstance(tell(ranks=2).diaries[0], Diary)


# --- what the browser gets


@pytest.mark.parametrize("name", NAMES)
def test_states_in_javascript(stories, name, node):
    story = stories[name]
    times = [*random_times(story), 0.0, story.run.seconds, *moments(story)[::7]]
    got = node(
        "step_player",
        f"((story, times) => times.map(time => $step_state.stateAt(story, time)))"
        f"({json.dumps(tables(story))}, {json.dumps(times)})",
    )
    for time, browsers in zip(times, got, strict=True):
        assert browsers == json.loads(json.dumps(state(story, time)._asdict())), time


def test_the_browser_says_what_python_says(stories, node):
    widget = step_player(story=stories["straggler"])
    times = moments(widget.story)[::5]
    got = node(
        "step_player",
        f"((labels, story, times) => times.map(time => inWords(labels, story, "
        f"$step_state.stateAt(story, time))))({json.dumps(widget.labels)}, "
        f"{json.dumps(widget.tables)}, {json.dumps(times)})",
    )
    assert got == [in_words(widget.story, state(widget.story, time)) for time in times]
    assert any("waits for 2" in text for text in got)


FAKE_PAGE = (Path(__file__).parent / "fake_page.js").read_text(encoding="utf-8")
DRAWN = """((values, modes) => {
    %s
    const model = fakeModel(values), el = document.createElement("div"), wrong = [];
    const end = render({ model, el });
    let drawn = 0;
    for (const mode of modes) {
        model.set({ mode });
        for (let frame = 0; frame < values.times.length; frame++, drawn++) {
            model.set({ frame });
            if (frame %% 10 === 0) wrong.push(...el.wrong());
        }
    }
    end();
    const tokens = [...el.all()].filter(node => node.attributes.class === "course-chunk").length;
    return { wrong, drawn, tokens };
})"""


@pytest.mark.parametrize("name", NAMES)
def test_every_frame_can_be_drawn(stories, name, node):
    widget = step_player(name) if name in PRESETS else step_player(story=stories[name])
    names = ("labels", "initial", "tables", "times", "pace", "presets", "widths", "sizes", "given", "speed")
    values = {each: getattr(widget, each) for each in (*names, *widget.stateful)}
    got = node("step_player", f"{DRAWN % FAKE_PAGE}({json.dumps(values)}, {json.dumps(MODES)})")
    assert got["wrong"] == [] and got["drawn"] == 4 * len(widget.times)
    most = max(len(state(widget.story, time).flying) for time in widget.times)
    assert most <= got["tokens"] <= len(widget.story.chunks)


@pytest.mark.parametrize("name", NAMES)
def test_moments(stories, name):
    story = stories[name]
    times = moments(story)
    shown = pace(story, times)
    first = min(diary.phases[0].start for diary in story.diaries)
    assert times[0] == first and (first == 0 or name == "real")
    assert times[-1] == story.run.seconds and len(times) <= 500
    assert (np.diff(times) > 0).all() and (np.diff(shown) > 0).all()
    assert shown[-1] == pytest.approx(9 * story.setting.steps)


# --- the player


def test_settings_tell_another_story():
    player = step_player()
    before = player.story
    player.ranks = 3
    assert player.story is not before and player.tables["ranks"] == 3 and player.frame == 0
    player.slow, player.frame = 2, 40
    assert "waits for 2" in " ".join(in_words(player.story, state(player.story, t)) for t in player.times)
    player.ranks = 2  # there is no worker 2 any more
    assert player.story.setting.slow == -1
    player.preset("eight")
    assert player.story.setting == PRESETS["eight"]
    player.reset()
    assert player.state() == step_player().state() and player.tables == step_player().tables


def test_a_given_story_is_played_as_it_is(stories):
    player = step_player(story=stories["real"], mode="pipe", frame=5)
    assert player.given and player.tables["world"] == "real" and player.slow == 2
    assert player.now == state(stories["real"], player.times[5])
    assert player._repr_mimebundle_()[0]["image/png"]
    player.frame = player.last
    player.reset()
    assert player.frame == 5 and player.mode == "pipe"


def test_sizes_are_those_of_the_gradients():
    player = step_player(width=64)
    assert (
        dict(zip(player.widths, player.sizes, strict=True))[64]
        == sum(layer_bytes(64))
        == sum(player.story.bucket_bytes)
    )


# --- the picture


@pytest.mark.parametrize("name", ["balanced", "eight", "real"])
def test_the_picture(stories, name):
    from matplotlib.image import imread

    drawn = class_at_work(stories[name])
    image = imread(io.BytesIO(drawn.png))[..., :3]
    assert all((edge > 0.99).all() for edge in (image[0], image[-1], image[:, 0], image[:, -1]))
    ranks = stories[name].setting.ranks
    assert f"of {ranks} students" in drawn.alt and f"Terminal: {ranks} equal replicas" in repr(drawn)
    if name == "balanced":
        assert drawn.png == class_at_work(stories[name]).png
