"""A chapter as a learner meets it: opened in JupyterLab, Run All, every cell looked at, opened again."""

import axe
import lab
import nbformat
import pytest
import rules
from build import KERNEL
from live import kernel, until
from nbformat.v4 import new_code_cell, new_notebook, new_output
from waiting import limit

OFTEN = {"01_visual_demo", "04_gradient_aggregation"}  # short ones with many widgets, and with many processes
CHAPTERS = [
    pytest.param(path.stem, marks=[] if path.stem in OFTEN else pytest.mark.slow)
    for path in sorted(lab.NOTEBOOKS.glob("[0-9]*.ipynb"))
]
pytestmark = pytest.mark.timeout(limit(2 * lab.RUN))


@pytest.fixture(scope="module", params=CHAPTERS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def notebook(name, server, browser):
    with lab.opened(browser, server, name) as notebook:
        yield notebook


@pytest.fixture(scope="module")
def cells(notebook):
    return notebook.run_all()


def test_what_is_folded_shows_what_the_rule_reads(notebook, name):
    assert notebook.ask(lab.FOLDED) == first_lines(lab.NOTEBOOKS / f"{name}.ipynb")


def test_to_open_it_changes_nothing(notebook, name, server):
    notebook.ask(lab.SAVE)
    assert (server.served / f"{name}.ipynb").read_bytes() == (lab.NOTEBOOKS / f"{name}.ipynb").read_bytes()


def test_run_all(notebook, cells):
    barriers = axe.violations(notebook.page, axe.OUTPUTS)
    notebook.change_theme("dark")
    barriers += axe.violations(notebook.page, axe.OUTPUTS, axe.COLOURS)
    notebook.change_theme("light")
    assert not list(lab.problems(notebook, cells))
    assert barriers == []


def test_saved_without_its_kernel_it_shows_every_picture(notebook, cells, name, server, browser):
    notebook.ask(lab.SHUT_DOWN)
    notebook.ask(lab.SAVE)
    with lab.opened(browser, server, name) as again:
        again.settle()
        assert not list(lab.problems(again, again.cells()))
        text = again.page.locator(".jp-Notebook").inner_text()
        assert "Error displaying widget" not in text and "Loading widget" not in text
        shown = {cell["index"] for cell in again.cells() if cell["shows_picture"]}
    stored = nbformat.read(lab.NOTEBOOKS / f"{name}.ipynb", as_version=4)
    assert {
        index for index, _, output in rules.outputs(stored) if "image/png" in output.get("data", {})
    } <= shown


CELLS = ["from course_lib.predict import predict\nfrom course_lib.widgets import step_player"]
CELLS += ["step_player()", "guess = predict('2.1', choices='abc')\nguess"]


def test_a_saved_widget_moves_again_where_its_kernel_still_runs(server, browser):
    """After a reload: the guess is still there, and another can be made; nothing more to save."""
    with lab.ran(browser, server, "reloaded", CELLS) as notebook:
        kernel(notebook, "guess.guess = 'b'")
        notebook.ask(lab.SAVE)
        saved = (server.served / "reloaded.ipynb").read_bytes()
        notebook.page.reload()
        notebook.wait_for(lab.READY)
        player, question = (notebook.page.locator(".jp-CodeCell").nth(place) for place in (1, 2))
        player.get_by_role("button", name="Reset").wait_for()
        until(question.locator("input[type=radio]").nth(1).is_checked)
        question.locator("input[type=radio]").nth(2).check()
        until(lambda: kernel(notebook, "print(guess.guess)") == "c")
        notebook.ask(lab.SAVE)
        assert (server.served / "reloaded.ipynb").read_bytes() == saved


OUTPUTS = [
    new_output("stream", text="\n\nprinted\nmore\n"),
    new_output("stream", text="[##..] 1 s\r[####] 2 s\r          \rdone\n"),
    new_output("stream", name="stderr", text="a warning\n"),
    new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "Figure:\na curve"}),
    new_output("display_data", {"text/plain": "plain", "text/html": "\n<b>6</b>\n7"}),
    new_output("display_data", {"text/plain": "plain", "text/markdown": "*marked*"}),
    new_output("display_data", {"text/plain": "plain", "text/latex": "$x$", "application/json": {"x": 1}}),
    new_output("display_data", {"image/svg+xml": "<svg>\n</svg>", "text/markdown": "*marked*"}),
    new_output("display_data", {"image/png": "iVBORw0KGgo="}),
    new_output("error", ename="ValueError", evalue="7", traceback=["\x1b[0;31m-----\x1b[0m", "Traceback"]),
    new_output("error", ename="ValueError", evalue="7", traceback=[]),
]


def test_what_is_folded_shows_what_the_rule_reads_of_every_kind(server, browser):
    """So that the rule looks at what JupyterLab shows, and not at what we believe it shows."""
    later = new_output("stream", text="later\n")
    outputs = [new_code_cell("1", outputs=[each, later]) for each in OUTPUTS]
    for cell in outputs:
        cell.metadata.jupyter = {"outputs_hidden": True}
    code = [new_code_cell(source, outputs=[later]) for source in ("# One solution\nx = 1", "\nx = 1", "")]
    for cell in code:
        cell.metadata.jupyter = {"source_hidden": True}
    path = server.served / "folded.ipynb"
    nbformat.write(new_notebook(cells=[*outputs, *code], metadata={"kernelspec": KERNEL}), path)
    with lab.opened(browser, server, path.stem) as notebook:
        assert notebook.ask(lab.FOLDED) == first_lines(path)


def first_lines(path):
    """[cell's index, first line] of all that is folded, by the rule that it gives nothing away."""
    folded = rules.folded(nbformat.read(path, as_version=4))
    return [[index, line] for index, _, line, _ in folded]
