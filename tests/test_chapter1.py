"""Chapter 1: its checkers, its pictures' numbers, its map, and what it says of the puzzle class."""

import re

import numpy as np
import pytest
from attempts import accepts, refuses, rejected, rejects, waits_for
from build import SOURCES
from waiting import limit

from course_lib import launch, simulate
from course_lib.course import chapters
from course_lib.digits import load_digits
from course_lib.exercises.chapter1 import check_link_bytes, check_place, check_waits
from course_lib.pictures.barrier import PARTS, barrier, parts_of_step, step_shares
from course_lib.pictures.class_at_work import one_view
from course_lib.pictures.job_parts import ARROWS, COMPONENTS, component_map, machines
from course_lib.step_story import PRESETS, state, tell, worker_of
from course_lib.step_story.model import Network
from course_lib.widgets import step_player
from course_lib.widgets.step_player import MODES

CHECKS = [check_link_bytes, check_waits, check_place]
NOTHING = None, ...
SOURCE = (SOURCES / "01_visual_demo.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def stories():
    return {name: tell(setting) for name, setting in PRESETS.items()}


# --- exercises

test_nothing_is_not_a_failure = waits_for(*CHECKS, stubs=NOTHING)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("other", [7, "a", [1, 2], np.ones(3)])
def test_what_is_no_function_is_asked_about(check, other):
    rejected(check(other), "a function is asked for")


SMALL = (1, 2, 3, 4, 7)
TURNS = {ranks: 2 * (ranks - 1) / ranks for ranks in SMALL}

test_no_shortcut_gets_the_bytes = refuses(
    check_link_bytes,
    {
        "a constant": lambda m, k: 41_592,
        "a table": lambda m, k: TURNS[k] * m,
        "a table, else nearly right": lambda m, k: TURNS.get(k, 2) * m,
        "a bounded loop": lambda m, k: sum(m / k for _ in range(min(2 * k - 2, 100))),
        "rounded": lambda m, k: round(2 * (k - 1) / k, 1) * m,
        "half precision": lambda m, k: float(np.float16(2 * (k - 1) / k)) * m,
        "32 bits": lambda m, k: 2 * (k - 1) * (m % 2**31) / k,
    },
)

test_no_shortcut_gets_the_waits = refuses(
    check_waits,
    {
        "a constant": lambda ready: [57, 57, 0, 57],
        "a constant last": lambda ready: [114 - time for time in ready],
        "the last of the example": lambda ready: [ready[len(ready) // 2] - time for time in ready],
        "the last in the list": lambda ready: [ready[-1] - time for time in ready],
        "seven at most": lambda ready: waits(ready)[:7],
        "rounded": lambda ready: [round(wait, 1) for wait in waits(ready)],
        "from 0": lambda ready: list(ready),
        "not the first": lambda ready: [max([0, *ready[1:]]) - time for time in ready],
        "whole numbers": lambda ready: np.max(ready).astype(int) - np.array(ready, int),
        "eight bits": lambda ready: waits(np.uint8(np.minimum(ready, 255))),
    },
)

test_no_shortcut_gets_the_place = refuses(
    check_place,
    {
        "a constant": lambda rank, n: (1, 2),
        "two nodes": lambda rank, n: (int(rank >= n), rank % n),
        "a bounded loop": lambda rank, n: (sum(rank >= n * node for node in range(1, 10)), rank % n),
        "eight at most": lambda rank, n: divmod(rank, min(n, 8)),
        "rounded": lambda rank, n: (round(rank / n), rank % n),
        "8 bits": lambda rank, n: (rank // n % 256, rank % n),
    },
)


def forgets_to_return(*arguments):
    found = sum(np.sum(each) for each in arguments)
    found += 1


test_link_bytes_accepts = accepts(
    check_link_bytes,
    lambda m, k: 2 * (k - 1) * m / k,
    lambda m, k: 2 * (k - 1) * (m // k),
    lambda m, k: 2 * (k - 1) * -(-m // k),
    lambda m, k: np.array([2 * (k - 1) * np.float64(m) / k]),
    lambda m, k: 2 * m - 2 * m / k,
    lambda m, k: sum(m / k for _ in range(2 * k - 2)),
)

test_link_bytes_rejects = rejects(
    check_link_bytes,
    (lambda m, k: m, "4 workers, a gradient of 1,200 bytes: the function says 1,200 bytes. That is the"),
    (lambda m, k: m / k, "one chunk, a single passing. There are 2(K − 1), here 6"),
    (lambda m, k: (k - 1) * m / k, "That is half"),
    (lambda m, k: 2 * m, "K − 1, not K"),
    (lambda m, k: 2 * (k - 1) * m, "Each passing carries one chunk"),
    (lambda m, k: (k - 1) * m, "and there are 2(K − 1)"),
    (lambda m, k: 1.5 * m, "A class of one has nobody to send to"),
    (lambda m, k: 3 * m / k**2, "6 chunks cross the link"),
    (lambda m, k: [m, k], "list came back, not a number"),
    (lambda m, k: 2 * (k - 1) * m / k / 1000, "That is in kB"),
    (lambda m, k: 2 * (k - 1) * m / k / 1024, "units of 1,024 bytes"),
    (forgets_to_return, "it returned None; is a return missing?"),
    (lambda m, k: [m][k], "it raised IndexError"),
)


def waits(ready):
    return [max(ready) - time for time in ready]


test_waits_accepts = accepts(
    check_waits,
    *(waits, lambda ready: np.max(ready) - np.array(ready), lambda r: tuple(waits(r))),
    lambda ready: [sorted(ready)[-1] - time for time in ready],
)


def waits_of_the_sorted(ready):
    order = list(ready)
    ready.sort()
    return [ready[-1] - time for time in order]


test_waits_rejects = rejects(
    check_waits,
    (lambda ready: [-w for w in waits(ready)], "ready at [57, 57, 114, 57]: the function says [-57"),
    (lambda ready: [time - min(ready) for time in ready], "They wait for the last"),
    (lambda ready: np.mean(ready) - np.array(ready), "Nobody waits for the mean"),
    (lambda ready: ready, "Those are the times of getting ready"),
    (lambda ready: [max(ready)] * len(ready), "Each wait starts when that student is ready"),
    (lambda ready: np.maximum(np.roll(ready, 1) - ready, 0), "neighbour"),
    (lambda ready: max(ready) - min(ready), "not a list of numbers"),
    (lambda ready: [max(ready) - min(ready)], "1 numbers came back, not 4"),
    (lambda ready: [7.0] * len(ready), "the last waits 0"),
    (waits_of_the_sorted, "work on a copy, or use max(ready)"),
    (forgets_to_return, "it returned None; is a return missing?"),
    (lambda ready: ready[9], "it raised IndexError"),
)

test_place_accepts = accepts(
    check_place,
    *(divmod, lambda rank, n: [rank // n, rank % n], lambda r, n: np.array(divmod(r, n))),
    lambda rank, n: (int(rank / n), rank - int(rank / n) * n),
)

test_place_rejects = rejects(
    check_place,
    (lambda rank, n: (rank % n, rank // n), "The other way round"),
    (lambda rank, n: (rank // n, rank), "Local ranks start again at 0"),
    (lambda rank, n: (rank / n, rank % n), "divide with //"),
    (lambda rank, n: (rank // n + 1, rank % n + 1), "Nodes and local ranks are numbered from 0"),
    (lambda rank, n: (rank // n + 1, rank % n), "Nodes are numbered from 0"),
    (lambda rank, n: (rank // n, rank % n + 1), "Local ranks are numbered from 0"),
    (lambda rank, n: (rank % 2, rank // 2), "A node is filled first"),
    (lambda rank, n: (5, 5), "How many full nodes come before rank 6"),
    (lambda rank, n: rank // n, "int came back, not a pair (node, local rank)"),
    (lambda rank, n: divmod(rank, 4), "rank 6, 3 on each node: the function says [1, 2]. That is right"),
    (forgets_to_return, "it returned None; is a return missing?"),
    (lambda rank, n: (rank // n, rank % n, n), "3 numbers came back, not 2"),
)


# --- what the chapter says


@pytest.mark.parametrize("name", PRESETS)
def test_bytes_over_one_link(stories, name):
    story = stories[name]
    ranks, gradient = story.setting.ranks, sum(story.bucket_bytes)
    sent = sum(message.nbytes for message in story.run.messages if message.source == 0) / story.setting.steps
    assert sent == pytest.approx(2 * (ranks - 1) * gradient / ranks, rel=1e-3)


@pytest.mark.parametrize("name", PRESETS)
def test_nobody_updates_before_the_last_gradient(stories, name):
    story = stories[name]
    steps = range(len(story.gates))
    parts = [parts_of_step(story, step) for step in steps]
    diaries = [diary.phases for diary in story.diaries]
    phases = [[[each for each in mine if each.step == step] for mine in diaries] for step in steps]
    assert min(part["chunks"] for of_step in parts for part in of_step) > 0
    least = [min(part["others"] for part in of_step) for of_step in parts]
    assert least == pytest.approx([0] * len(steps), abs=1e-12)
    took = [[mine[-1].stop - mine[0].start for mine in of_step] for of_step in phases]
    sums = [[sum(part.values()) for part in of_step] for of_step in parts]
    assert np.array(sums) == pytest.approx(np.array(took))
    begun = [min(mine[-1].start for mine in of_step) for of_step in phases]
    assert [start > gate for start, (gate, _) in zip(begun, story.gates, strict=True)] == [True] * len(steps)


def test_a_straggler_costs_the_class_less_than_its_factor(stories):
    assert 1.8 < stories["straggler"].run.seconds / stories["balanced"].run.seconds < 1.9


def test_the_spans_tell_who_waits(stories):
    story = stories["straggler"]
    waits = [span for span in story.run.spans if (span.kind, span.label) == ("wait", "all_reduce")]
    told = [[phase for phase in diary.phases if phase.kind == "wait"] for diary in story.diaries]
    ranks = range(story.setting.ranks)
    measured = [sum(span.stop - span.start for span in waits if span.rank == rank) for rank in ranks]
    assert measured == pytest.approx([sum(phase.stop - phase.start for phase in each) for each in told])
    assert max(measured) > 2 * min(measured)


def test_replicas_differ_while_updates_are_under_way(stories):
    story = stories["straggler"]
    first = min(phase.stop for diary in story.diaries for phase in diary.phases if phase.kind == "update")
    assert [len(set(state(story, time).fingerprints)) for time in (0, first, story.run.seconds)] == [1, 2, 1]


def test_the_class_is_one_learner_with_all_the_pieces(stories):
    story, training = stories["balanced"], load_digits()[0]
    alone = Network(story.setting.width)
    for step in story.steps:
        pieces = [piece for diary in story.diaries for piece in diary.samples[step]]
        alone.forward(training.images[pieces], training.labels[pieces])
        alone.update([alone.backward(layer) for layer in (2, 1, 0)][::-1], story.setting.rate)
        together = story.diaries[0].parameters[step + 1]
        assert all(np.allclose(a, b, atol=1e-12) for a, b in zip(alone.parameters, together, strict=True))


def test_one_wrong_gradient_is_in_every_mean():
    numbers = np.array([1.0, 1.0, 1.0, 97.0])
    run = simulate(lambda comm: comm.all_reduce(numbers[[comm.rank]], "mean"), 4)
    assert np.array_equal(run.values, [[25.0]] * 4)


def test_the_same_class_in_real_processes(stories):
    setting, simulated = PRESETS["straggler"], stories["straggler"]
    real = tell(setting, run=launch(worker_of(setting), 4, timeout=limit(300)))
    assert sorted(m[:3] for m in real.run.messages) == sorted(m[:3] for m in simulated.run.messages)
    assert real.losses == pytest.approx(simulated.losses, abs=1e-9)
    assert [each.fingerprints for each in real.diaries] == [each.fingerprints for each in simulated.diaries]
    assert barrier({"real": real}).numbers


def test_the_map_lists_the_course_as_it_is():
    row = r"^\| (?:\[)?(\d+) · ([^\]|(]+?)(?: \(here\)|\]\((\w+)\.ipynb\)) \| (.*) \|$"
    rows = re.findall(row, SOURCE, re.MULTILINE)
    listed = [(str(each.number), each.title, each.notebook, each.able) for each in chapters()]
    assert [row[:2] + row[3:] for row in rows] == [row[:2] + row[3:] for row in listed]
    assert [row[2] for row in rows[1:]] == [row[2] for row in listed[1:]]


# --- pictures


def title(picture):
    return picture.numbers[0].split(" [")[0]


def titles(picture):
    return [line.split(" [")[0] for line in picture.numbers if line[:1] != " "]


def test_the_picture_of_the_barrier(stories):
    picture = barrier({"Balanced": stories["balanced"], "One straggler": stories["straggler"]})
    assert titles(picture) == [
        "Balanced: all ready at 57 ms, nobody waits for others",
        "One straggler: all ready at 114 ms, others wait up to 57 ms",
    ]
    assert "Balanced: the last gradient is ready at 57 ms, updates start from 68.2 ms to 68.2" in picture.alt


def test_the_picture_of_a_steps_parts(stories):
    picture = step_shares(stories)
    assert title(picture) == "slow_link: 58% of a step is waiting for chunks"
    assert "straggler: works 71.2 ms, waits for others 42.7 ms" in picture.alt
    drawn = [line.split(":")[0].strip() for line in picture.numbers if ": areas" in line]
    assert drawn == ["works", "waits for others", "waits for chunks", "updates"]
    assert len(drawn) == len(PARTS)


# Each of both once; eight desks leave the least room on a pipe.
@pytest.mark.parametrize(("name", "mode"), list(zip(PRESETS, MODES[2:] + MODES[:2], strict=True)))
def test_the_player_is_stored_as_the_view_it_shows(name, mode):
    player = step_player(name, mode=mode)
    picture = player.picture()
    assert picture.png.startswith(b"\x89PNG") and picture.png == one_view(player.story, mode).png
    assert picture.alt.startswith(mode.capitalize()) and len(title(picture)) <= 60


def test_the_node_view_is_of_the_worker_chosen():
    picture = step_player("straggler", mode="node", worker=2).picture()
    assert title(picture) == "Node: worker 2 waits, then updates" and "worker 2" in picture.alt


def test_the_map_of_components_has_a_figure_and_chapters_for_each():
    picture = component_map()
    assert set(COMPONENTS) == {end for start, stop, _ in ARROWS for end in (start, stop)}
    assert {mode for _, mode, _ in COMPONENTS.values()} == set(MODES)
    assert all(1 < chapter <= 12 for _, _, found in COMPONENTS.values() for chapter in found)
    assert "backend to optimiser: mean" in picture.alt and len(title(picture)) <= 60


@pytest.mark.parametrize(("nodes", "per_node"), [(2, 4), (1, 2), (3, 2)])
def test_the_picture_of_machines(nodes, per_node):
    picture = machines(nodes, per_node)
    last = nodes * per_node - 1
    assert f"rank {last} is on node {nodes - 1} and has local rank {per_node - 1}" in picture.alt
