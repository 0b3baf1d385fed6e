"""The puzzle class in a real browser: each control by keyboard, motion, both themes."""

import lab
import pytest
from live import GATHER_PICTURES, NAMELESS, drawn, faint, kernel, stands_still, tab_through, until

MODES = ("source", "pipe", "node", "terminal")

CELLS = [
    """from course_lib import launch
from course_lib.step_story import tell, worker_of
from course_lib.widgets import step_player
p = step_player()
p""",
    "real = step_player(story=tell(slow=1, run=launch(worker_of(slow=1), 4)), mode='pipe')\nreal",
    "print('\\n'.join(map(str, range(40))))",
    "0",
]
GATHER_PLACES = """head => {
    window.places = new Set();
    new MutationObserver(() => window.places.add(head.getAttribute('d'))).observe(head, {attributes: true});
}"""


@pytest.fixture(scope="module")
def notebook(browser, server):
    with lab.ran(browser, server, "class", CELLS) as notebook:
        yield notebook


@pytest.fixture(autouse=True)
def as_made(notebook):
    kernel(notebook, "p.reset(); real.reset()")
    player(notebook).scroll_into_view_if_needed()


def player(notebook, number=0):
    return notebook.page.locator(".course-root").nth(number)


def holds(notebook, expression):
    until(lambda: kernel(notebook, f"print({expression})") == "True")


def says_what_python_says(notebook):
    """In the line below, and to who cannot see the picture."""
    frame = player(notebook)
    until(lambda: frame.locator("[role=status]").inner_text() == kernel(notebook, "print(p)"))
    until(
        lambda: frame.locator("svg[role=img]").get_attribute("aria-label") == kernel(notebook, "print(p)"),
    )


def panel(notebook):
    """The title of the panel that shows."""
    return player(notebook).locator(".course-strong:visible").first.text_content()


# --- by keyboard


def test_tab_comes_to_every_control(notebook):
    kernel(notebook, "p.mode = 'node'")  # shows the choice of a worker
    until(player(notebook).locator(".course-head select").is_visible)
    tab_through(notebook)


def test_the_modes(notebook):
    player(notebook).get_by_role("radio", name="Source").focus()
    for mode in ("pipe", "node", "terminal", "source"):
        notebook.page.keyboard.press("ArrowRight")
        holds(notebook, f"p.mode == {mode!r}")
        assert panel(notebook).startswith(mode.title())
    says_what_python_says(notebook)


def test_the_worker_looked_into(notebook):
    choice = player(notebook).locator(".course-head select")
    assert not choice.is_visible()
    kernel(notebook, "p.mode = 'node'")
    choice.focus()
    notebook.page.keyboard.press("ArrowDown")
    holds(notebook, "p.worker == 1")
    assert panel(notebook).startswith("Node: worker 1")
    player(notebook).locator(".course-seat").nth(3).click()  # the mouse may take the desk itself
    holds(notebook, "p.worker == 3")


def test_play_pause_and_steps(notebook):
    frame, page = player(notebook), notebook.page
    frame.get_by_role("button", name="Step forward").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    holds(notebook, "p.frame == 2")
    frame.get_by_role("button", name="Step back").focus()
    page.keyboard.press("Enter")
    holds(notebook, "p.frame == 1")
    says_what_python_says(notebook)
    frame.get_by_role("button", name="To the start").focus()
    page.keyboard.press("Enter")
    holds(notebook, "p.frame == 0")
    frame.get_by_role("button", name="Play").focus()
    page.keyboard.press("Space")
    holds(notebook, "p.playing and p.frame > 2")
    page.keyboard.press("Space")
    holds(notebook, "not p.playing")
    frame.get_by_label("Speed").focus()
    page.keyboard.press("ArrowDown")
    holds(notebook, "p.speed == 2")
    scrub, cell = (
        frame.get_by_label("Moment shown"),
        notebook.ask(lab.PANEL + "return panel.content.activeCellIndex"),
    )
    scrub.focus()
    page.keyboard.press("End")
    holds(notebook, "p.frame == p.last")
    page.keyboard.press("ArrowLeft")
    holds(notebook, "p.frame == p.last - 1")
    assert notebook.ask(lab.PANEL + "return panel.content.activeCellIndex") == cell  # JupyterLab let it be
    says_what_python_says(notebook)


def test_the_settings(notebook):
    frame, page = player(notebook), notebook.page
    frame.get_by_label("Workers K").first.focus()
    page.keyboard.press("ArrowRight")
    holds(notebook, "p.ranks == 5 and p.tables['ranks'] == 5")
    until(lambda: frame.locator(".course-seat").count() == 5)
    frame.get_by_label("Gradient").focus()
    page.keyboard.press("ArrowDown")
    holds(notebook, "p.width == 48 and p.story.setting.width == 48")
    frame.get_by_label("Link, MB/s").first.focus()
    page.keyboard.press("ArrowLeft")
    holds(notebook, "p.bandwidth == 2e6 and p.story.setting.bandwidth == 2e6")
    frame.get_by_label("Takes twice as long").focus()
    page.keyboard.press("ArrowDown")
    holds(notebook, "p.slow == 0 and p.story.setting.slow == 0")
    kernel(notebook, "p.frame = 60")
    says_what_python_says(notebook)
    frame.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Enter")
    holds(notebook, "p.state() == p.initial")
    says_what_python_says(notebook)


@pytest.mark.parametrize(
    ("button", "name"),
    [
        ("Balanced", "balanced"),
        ("One straggler", "straggler"),
        ("Slow link", "slow_link"),
        ("K = 8", "eight"),
    ],
)
def test_the_presets(notebook, button, name):
    player(notebook).get_by_role("button", name=button).focus()
    notebook.page.keyboard.press("Enter")
    holds(notebook, f"{{name: getattr(p, name) for name in p.presets[{name!r}]}} == p.presets[{name!r}]")
    kernel(notebook, "p.frame = 30")
    says_what_python_says(notebook)
    assert "NaN" not in player(notebook).locator("svg").first.inner_html()


# --- what moves, and what does not


def test_it_moves_between_frames_and_stops_out_of_sight(notebook):
    chart = player(notebook).locator("svg[role=img]")
    kernel(notebook, "p.mode = 'source'; p.speed = 0.25")
    chart.evaluate(GATHER_PICTURES)
    kernel(notebook, "p.playing = True")
    until(lambda: drawn(notebook) > 3)
    notebook.page.locator(".jp-CodeCell").nth(3).scroll_into_view_if_needed()
    until(lambda: stands_still(notebook))
    assert not chart.evaluate("node => node.getBoundingClientRect().bottom > 0")
    seen = drawn(notebook)
    player(notebook).scroll_into_view_if_needed()
    until(lambda: drawn(notebook) > seen + 3)
    assert kernel(notebook, "print(p.playing)") == "True"  # it did not stop at the end


def test_calm_motion_for_who_asks_for_it(notebook):
    notebook.page.emulate_media(reduced_motion="reduce")
    try:
        holds(notebook, "not p.playing")
        player(notebook).locator(".course-playhead").last.evaluate(GATHER_PLACES)
        kernel(notebook, "p.speed = 4; p.frame = p.last - 50; p.playing = True")
        holds(notebook, "p.frame == p.last and not p.playing")
        # One place a frame, nothing between: smooth motion has one for each pixel, thrice as many.
        assert 1 < notebook.page.evaluate("places.size") <= 51
    finally:
        notebook.page.emulate_media(reduced_motion="no-preference")


def test_a_story_of_real_processes(notebook):
    frame = player(notebook, 1)
    assert "real processes" in frame.inner_text() and frame.get_by_label("Workers K").count() == 0
    frame.scroll_into_view_if_needed()
    frame.get_by_role("button", name="Play").click()
    holds(notebook, "real.frame > 5")
    frame.get_by_role("button", name="Pause").click()
    until(lambda: frame.locator("[role=status]").inner_text() == kernel(notebook, "print(real)"))


# --- for every reader


def test_every_control_has_a_name(notebook, subtests):
    for mode in MODES:
        with subtests.test(mode=mode):
            kernel(notebook, f"p.mode = {mode!r}")
            assert notebook.ask(NAMELESS) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(notebook, theme, subtests):
    notebook.change_theme(theme)
    for preset, mode, share in [
        ("straggler", "source", 0.04),
        ("slow_link", "pipe", 0.25),
        ("straggler", "node", 0.25),
        ("eight", "pipe", 0.27),
        ("balanced", "terminal", 0.97),
    ]:
        kernel(notebook, f"p.preset({preset!r}); p.mode = {mode!r}; p.frame = int({share} * p.last)")
        says_what_python_says(notebook)
        until(lambda: panel(notebook).startswith(mode.title()))  # noqa: B023
        with subtests.test(preset=preset, mode=mode):
            too_faint, texts = faint(notebook)
            assert texts > 40 and too_faint == []
    notebook.change_theme("light")
