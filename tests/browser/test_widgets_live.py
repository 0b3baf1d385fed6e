"""The widgets in JupyterLab in a real browser: by keyboard, by mouse, from code; both themes; numbers."""

import random
import re

import lab
import pytest
from live import GATHER_PICTURES, NAMELESS, drawn, faint, kernel, stands_still, tab_through, until

from course_lib import laws
from course_lib.planner import GPUS, MODELS, OPTIMISERS, RECOMPUTE, STRATEGIES
from course_lib.widgets.presets import LINKS

CELLS = {
    "setup": """import numpy as np
from course_lib import Link, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.predict import predict
from course_lib.widgets import amdahl, planner, ring_player, ring_time, sync_async, timeline_player
def worker(comm):
    comm.compute(1e-3 * (1 + (comm.rank == 2)))
    ring_all_reduce(comm, np.arange(1200.0))
    comm.barrier()
run = simulate(worker, 4, link=Link(50e-6, 1e7))""",
    "amdahl": "amdahl_ = amdahl()\namdahl_",
    "ring_time": "ring_time_ = ring_time()\nring_time_",
    "planner": "planner_ = planner()\nplanner_",
    "timeline": "timeline_ = timeline_player(run)\ntimeline_",
    "ring": "ring_ = ring_player()\nring_",
    "sync_async": "sync_async_ = sync_async()\nsync_async_",
    "choice": "choice_ = predict('3.1', choices='abc')\nchoice_",
    "number": "number_ = predict('3.2', unit='steps')\nnumber_",
}
WIDGETS = [name for name in CELLS if name != "setup"]


@pytest.fixture(scope="module")
def notebook(browser, server):
    with lab.ran(browser, server, "widgets", CELLS.values()) as notebook:
        yield notebook


@pytest.fixture(autouse=True)
def as_made(notebook):
    kernel(notebook, "; ".join(f"{name}_.reset()" for name in WIDGETS))


def widget(notebook, name):
    return notebook.page.locator(".jp-CodeCell").nth(list(CELLS).index(name))


def picture(notebook, name):
    """All that the widget's picture is made of."""
    return widget(notebook, name).locator(".course-chart").inner_html()


def said(notebook, name):
    return widget(notebook, name).locator(".course-result").inner_text()


def at_the_end(notebook, name):
    """Wait until a player has stopped at its last frame."""
    code = f"print({name}_.frame == {name}_.last and not {name}_.playing)"
    until(lambda: kernel(notebook, code) == "True")


def says_what_python_says(notebook, name):
    until(lambda: said(notebook, name) == kernel(notebook, f"print({name}_)"))


# --- by keyboard


def test_tab_comes_to_every_control(notebook):
    tab_through(notebook)


def test_escape_leads_from_a_control_to_its_cell(notebook):
    active = lab.PANEL + "return panel.content.activeCellIndex"
    slider = widget(notebook, "planner").locator("input[type=range]").first
    slider.focus()
    space = "new KeyboardEvent('keydown', {key: ' ', bubbles: true, cancelable: true})"
    assert not slider.evaluate(f"node => node.dispatchEvent({space})")  # else it would scroll
    before = notebook.ask(active)
    notebook.page.keyboard.press("ArrowDown")
    assert notebook.ask(active) == before
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("ArrowDown")
    until(lambda: notebook.ask(active) == before + 1)


@pytest.mark.parametrize(
    ("name", "button", "before", "after"),
    [
        ("ring", "Step forward", "ring_.frame = ring_.last - 1", "ring_.frame == ring_.last"),
        ("timeline", "To the start", "timeline_.frame = 5", "timeline_.frame == 0"),
        ("amdahl", "Pin to compare", "[amdahl_.pin() for _ in range(4)]", "len(amdahl_.pins) == 5"),
        ("choice", "Clear", "choice_.guess = 'a'", "choice_.guess is None"),
    ],
)
def test_a_button_that_has_done_its_work_keeps_the_focus(notebook, name, button, before, after):
    kernel(notebook, before)
    frame, page = widget(notebook, name).locator(".course-root"), notebook.page
    node = frame.get_by_role("button", name=button)
    until(node.is_enabled)
    node.focus()
    page.keyboard.press("Enter")
    done = frame.inner_html()
    page.keyboard.press("Enter")
    assert frame.inner_html() == done
    until(lambda: kernel(notebook, f"print({after})") == "True")
    assert node.is_disabled() and node.evaluate("node => node === document.activeElement")


@pytest.mark.parametrize(
    ("name", "number", "trait", "value"),
    [
        ("amdahl", 0, "p", 0.81),
        ("amdahl", 1, "n", 9),
        ("ring_time", 0, "parameters", 8e9),
        ("ring_time", 1, "nbytes", 20e9),
        ("ring_time", 2, "ranks", 9),
        ("ring_time", 3, "bandwidth", 4e11),
        ("ring_time", 4, "latency", 6e-6),
        ("ring_time", 5, "compute", 0.6),
        ("sync_async", 0, "workers", 9),
        ("sync_async", 1, "seed", 2),
        ("sync_async", 3, "slow", 1.5),
        ("sync_async", 4, "noise", 0.1),
        ("sync_async", 5, "latency", 0.02),
        ("sync_async", 6, "transfer", 0.02),
        ("sync_async", 7, "rate", 0.6),
        ("sync_async", 8, "slack", 3),
        ("sync_async", 9, "extra", 3),
        ("sync_async", 10, "period", 5),
        ("sync_async", 11, "target", 0.012),
        ("planner", 0, "ranks", 9),
        ("planner", 1, "layers", 40),
        ("planner", 2, "width", 5120),
        ("planner", 3, "batch", 2),
        ("planner", 4, "sequence", 4096),
        ("planner", 6, "utilisation", 0.45),
        ("timeline", 0, "frame", 1),
        ("ring", 0, "frame", 1),
    ],
)
def test_an_arrow_moves_each_slider(notebook, name, number, trait, value):
    before = picture(notebook, name), notebook.ask(lab.PANEL + "return panel.content.activeCellIndex")
    widget(notebook, name).locator("input[type=range]").nth(number).focus()
    cell = notebook.ask(lab.PANEL + "return panel.content.activeCellIndex")
    notebook.page.keyboard.press("ArrowRight")
    until(lambda: kernel(notebook, f"print({name}_.{trait} == {value!r})") == "True")
    until(lambda: picture(notebook, name) != before[0])
    assert notebook.ask(lab.PANEL + "return panel.content.activeCellIndex") == cell  # JupyterLab let it be
    says_what_python_says(notebook, name)


def test_every_fast_press_counts(notebook):
    widget(notebook, "amdahl").locator("input[type=range]").first.focus()
    for _ in range(30):
        notebook.page.keyboard.press("ArrowLeft")
    until(lambda: kernel(notebook, "print(amdahl_.p)") == "0.5")


def test_a_field_takes_what_the_slider_cannot(notebook, subtests):
    field = widget(notebook, "amdahl").locator("input[type=number]").first
    field.fill("0.9995")
    until(lambda: kernel(notebook, "print(amdahl_.p)") == "0.9995")
    assert "at most 2,000." in said(notebook, "amdahl")
    for wrong in ("1.2", "-0.1", ""):
        with subtests.test(wrong=wrong):
            field.fill(wrong)
            assert field.get_attribute("aria-invalid") == "true"
    assert kernel(notebook, "print(amdahl_.p)") == "0.9995"
    field.blur()
    assert field.input_value() == "0.9995" and field.get_attribute("aria-invalid") == "false"
    field.press("ArrowDown")  # moves the slider
    until(lambda: kernel(notebook, "print(amdahl_.p)") == "0.99")
    assert field.input_value() == "0.99"


def test_radios_and_lists_by_keyboard(notebook):
    before = picture(notebook, "amdahl")
    widget(notebook, "amdahl").locator("input[type=radio]").first.focus()
    notebook.page.keyboard.press("ArrowDown")
    until(lambda: kernel(notebook, "print(amdahl_.scaling)") == "weak")
    assert picture(notebook, "amdahl") != before and "without a limit" in said(notebook, "amdahl")
    link = "print(ring_time_.link, ring_time_.bandwidth)"
    widget(notebook, "ring_time").locator("select").nth(1).focus()
    notebook.page.keyboard.type("100 G")
    until(lambda: kernel(notebook, link) == "100 GbE 12500000000.0")
    assert ": 1.96 s." in said(notebook, "ring_time")


@pytest.mark.parametrize("name", ["amdahl", "planner", "ring_time"])
def test_pin_compare_remove_and_reset_by_keyboard(notebook, name):
    frame, page = widget(notebook, name), notebook.page
    frame.get_by_role("button", name="Pin to compare").focus()
    page.keyboard.press("Enter")
    frame.locator("input[type=range]").first.focus()
    page.keyboard.press("Home")
    rows = frame.locator("tbody tr")
    assert rows.count() == 2
    assert rows.nth(0).inner_text() != rows.nth(1).inner_text()
    panels = 2 if name == "planner" else 1
    assert len(re.findall("course-letter", picture(notebook, name))) == 2 * panels
    frame.get_by_role("button", name="Remove B").focus()
    page.keyboard.press("Space")
    assert rows.count() == 1
    frame.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Space")
    until(lambda: kernel(notebook, f"print({name}_.state() == {name}_.initial)") == "True")


@pytest.mark.parametrize("name", ["timeline", "ring"])
def test_the_players_by_keyboard(notebook, name):
    frame, page = widget(notebook, name), notebook.page
    frame.get_by_role("button", name="Step forward").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    until(lambda: kernel(notebook, f"print({name}_.frame)") == "2")
    frame.get_by_role("button", name="Step back").focus()
    page.keyboard.press("Enter")
    says_what_python_says(notebook, name)
    assert kernel(notebook, f"print({name}_.frame)") == "1"
    frame.locator("input[type=range]").focus()
    page.keyboard.press("End")
    at_the_end(notebook, name)
    assert frame.get_by_role("button", name="Step forward").is_disabled()


def test_a_guess_by_keyboard(notebook):
    choice, page = widget(notebook, "choice"), notebook.page
    choice.locator("input[type=radio]").first.focus()
    page.keyboard.press("ArrowRight")
    until(lambda: kernel(notebook, "print(choice_.guess)") == "b")
    assert "your guess: b" in choice.inner_text()
    kernel(notebook, "choice_.compare('b')")
    until(lambda: "locked" in choice.inner_text())
    assert choice.locator("input[type=radio]:enabled").count() == 0
    assert choice.get_by_role("button", name="Clear").is_disabled()
    choice.get_by_text("Show of hands").click()
    choice.get_by_role("button", name="One more for c").click(click_count=3)
    choice.get_by_role("button", name="One fewer for c").click()
    until(lambda: kernel(notebook, "print(choice_.hands)") == "{'a': 0, 'b': 0, 'c': 2}")
    widget(notebook, "number").locator("input[type=number]").fill("1e3")
    until(lambda: kernel(notebook, "print(number_.guess == 1000)") == "True")
    widget(notebook, "number").get_by_role("button", name="Clear").click()
    until(lambda: kernel(notebook, "print(number_.guess)") == "None")


def test_only_the_newest_of_many_presses_is_computed(notebook, tmp_path):
    """While Python computes, the browser keeps what it would send, and sends the last of it."""
    slow = f"""import sys, time
from pathlib import Path
module = sys.modules["course_lib.widgets.sync_async"]
fast, seeds, pressed = module.view, [], Path({str(tmp_path / "pressed")!r})
def view(runs, target):
    seeds.append(runs[0][1].seed)
    while not pressed.exists():
        time.sleep(0.01)
    return fast(runs, target)
module.view = view"""
    assert kernel(notebook, slow) == ""
    try:
        widget(notebook, "sync_async").locator("input[type=range]").nth(1).focus()
        for _ in range(30):
            notebook.page.keyboard.press("ArrowRight")
    finally:
        (tmp_path / "pressed").touch()
    until(lambda: kernel(notebook, "print(31 in seeds)") == "True")
    assert kernel(notebook, "module.view = fast; print(seeds)") == "[2, 31]"
    says_what_python_says(notebook, "sync_async")


def test_the_ways_by_keyboard(notebook):
    frame, page = widget(notebook, "sync_async"), notebook.page
    frame.get_by_role("button", name="async diverges").focus()
    page.keyboard.press("Enter")
    until(lambda: "Diverges (the loss grows): async." in said(notebook, "sync_async"))
    assert kernel(notebook, "print(sync_async_.ways)") == "['synchronous', 'asynchronous']"
    frame.get_by_role("button", name="Pin to compare").focus()
    page.keyboard.press("Space")
    until(lambda: frame.locator("tbody").count() == 2)
    frame.locator("select").nth(0).focus()
    page.keyboard.type("exp")
    until(lambda: kernel(notebook, "print(sync_async_.kind)") == "exponential")
    says_what_python_says(notebook, "sync_async")
    until(lambda: "Diverges" not in said(notebook, "sync_async"))
    assert "↑ B" in picture(notebook, "sync_async")
    boxes = frame.locator("input[type=checkbox]")
    boxes.nth(0).focus()
    page.keyboard.press("Space")
    until(lambda: kernel(notebook, "print(sync_async_.ways)") == "['asynchronous']")
    assert boxes.nth(1).is_disabled()  # something must be shown
    before = picture(notebook, "sync_async")
    frame.locator("select").nth(2).select_option("updates")
    assert picture(notebook, "sync_async") != before
    frame.get_by_role("button", name="Remove B").focus()
    page.keyboard.press("Enter")
    until(lambda: frame.locator("tbody").count() == 1)
    frame.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Enter")
    until(lambda: kernel(notebook, "print(sync_async_.state() == sync_async_.initial)") == "True")
    until(lambda: frame.locator("tbody tr").count() == 6)


# --- by mouse


@pytest.mark.parametrize("name", ["amdahl", "sync_async", "ring"])
def test_the_mouse_moves_a_slider(notebook, name):
    before, words = picture(notebook, name), said(notebook, name)
    slider = widget(notebook, name).locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page, y = notebook.page, box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.1 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], y, steps=5)
    page.mouse.up()
    until(lambda: picture(notebook, name) != before and said(notebook, name) != words)
    says_what_python_says(notebook, name)


@pytest.mark.parametrize("name", ["timeline", "ring"])
def test_play_to_the_end(notebook, name):
    frame, speed = widget(notebook, name), widget(notebook, name).locator("select")
    speed.select_option("0.25")
    frame.locator(".course-chart").evaluate(GATHER_PICTURES)
    frame.get_by_role("button", name="Play").click()
    until(lambda: drawn(notebook) > 3)
    frame.get_by_role("button", name="Pause").click()
    seen, shown = drawn(notebook), int(kernel(notebook, f"print({name}_.frame)"))
    assert seen > shown + 1  # also between two frames
    assert stands_still(notebook)
    speed.select_option("4")
    frame.get_by_role("button", name="Play").click()
    at_the_end(notebook, name)


def test_calm_motion_for_who_asks_for_it(notebook):
    notebook.page.emulate_media(reduced_motion="reduce")
    try:
        frame = widget(notebook, "ring")
        frame.locator("select").select_option("4")
        frame.locator(".course-chart").evaluate(GATHER_PICTURES)
        frame.get_by_role("button", name="Play").click()
        at_the_end(notebook, "ring")
        assert drawn(notebook) <= 7  # one picture a frame, nothing between
    finally:
        notebook.page.emulate_media(reduced_motion="no-preference")


# --- from code, and against Python


def test_the_state_set_from_code_is_shown(notebook):
    kernel(notebook, "amdahl_.p, amdahl_.n = 0.9, 64; amdahl_.pin(); amdahl_.p = 0.5")
    says_what_python_says(notebook, "amdahl")
    assert widget(notebook, "amdahl").locator("tbody tr").count() == 2
    kernel(notebook, "sync_async_.preset('async_wins'); sync_async_.pin(); sync_async_.slow = 10")
    says_what_python_says(notebook, "sync_async")
    assert widget(notebook, "sync_async").locator("tbody").count() == 2
    kernel(notebook, "ring_.frame = 3; timeline_.frame = 5; choice_.guess = 'c'")
    says_what_python_says(notebook, "ring")
    says_what_python_says(notebook, "timeline")
    until(lambda: "your guess: c" in widget(notebook, "choice").inner_text())
    assert kernel(notebook, "amdahl_.p = 1.2").startswith("ValueError: p must be between 0 and 1")


def random_states(name, count=6):
    draw = random.Random(5)
    shape = {"layers": draw.randint(1, 128), "width": 64 * draw.randint(1, 256)}
    for number in range(count):
        yield {
            "amdahl": {
                "p": draw.choice([0, 1, round(draw.random(), 4)]),
                "n": round(10 ** draw.uniform(0, 6)),
                "scaling": ["strong", "weak"][number % 2],
            },
            "ring_time": {
                "parameters": 10 ** draw.uniform(3, 11),
                "precision": draw.choice(["fp32", "bf16", "int8"]),
                "ranks": round(10 ** draw.uniform(0, 4)),
                "link": draw.choice([*LINKS, "custom"]),
                "latency": draw.choice([0, 10 ** draw.uniform(-7, -3)]),
                "algorithm": laws.ALGORITHMS[number % len(laws.ALGORITHMS)],
                "compute": draw.choice([0, draw.random()]),
                "against": ["bytes", "ranks"][number % 2],
            },
            "planner": {
                **draw.choice([{"model": draw.choice(list(MODELS))}, shape]),
                "gpu": draw.choice(list(GPUS)),
                "link": draw.choice(list(LINKS)),
                "ranks": round(10 ** draw.uniform(0, 4)),
                "strategy": STRATEGIES[number % len(STRATEGIES)],
                "precision": draw.choice(["fp32", "autocast", "mixed", "bf16"]),
                "optimiser": draw.choice(OPTIMISERS),
                "batch": draw.randint(1, 64),
                "sequence": draw.randint(1, 10000),
                "recompute": RECOMPUTE[number % len(RECOMPUTE)],
                "overlap": draw.choice([0, 1, draw.random()]),
                "utilisation": draw.uniform(0.05, 1),
            },
        }[name]


def test_a_preset_sets_the_shape_and_a_shape_is_ones_own(notebook):
    frame = widget(notebook, "planner")
    frame.get_by_label("Model").select_option("GPT-3 175B")
    until(lambda: kernel(notebook, "print(planner_.layers, planner_.width)") == "96 12288")
    says_what_python_says(notebook, "planner")
    layers = frame.locator("input[type=number]").nth(1)
    layers.fill("48")
    layers.blur()
    until(lambda: kernel(notebook, "print(planner_.model)") == "own")
    assert frame.get_by_label("Model").input_value() == "own"
    says_what_python_says(notebook, "planner")


@pytest.mark.parametrize("name", ["amdahl", "ring_time", "planner"])
def test_the_browser_says_what_python_says(notebook, name, subtests):
    for state in random_states(name):
        code = f"with {name}_.hold_sync(): [setattr({name}_, *item) for item in {state!r}.items()]"
        expected = kernel(notebook, f"{code}\nprint({name}_)")
        with subtests.test(msg=str(state)):
            until(lambda: said(notebook, name) == expected)  # noqa: B023
            assert not re.search("NaN|undefined", picture(notebook, name))


# --- for every reader


def test_every_control_has_a_name(notebook, subtests):
    assert notebook.ask(NAMELESS) == []
    for name in WIDGETS:
        with subtests.test(name=name):
            assert widget(notebook, name).locator("[role=status]").count() == 1
    for name in ("amdahl", "planner", "ring_time", "sync_async", "timeline", "ring"):
        with subtests.test(name=name):
            chart = widget(notebook, name).locator("svg[role=img]")
            assert chart.get_attribute("aria-label") == said(notebook, name)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(notebook, theme):
    kernel(notebook, "amdahl_.pin(); ring_time_.pin(); ring_time_.link = '100 GbE'")
    kernel(notebook, "ring_.frame = 4; timeline_.frame = 9; sync_async_.pin(); sync_async_.slow = 5")
    kernel(notebook, "planner_.pin(); planner_.strategy = 'zero1'")
    notebook.change_theme(theme)
    too_faint, texts = faint(notebook)
    notebook.change_theme("light")
    assert texts > 100 and too_faint == []
