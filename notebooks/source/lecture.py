"""The deck of two hours: a plan with minutes, the cells tagged lecture-core, and what to keep."""

from pathlib import Path

from nbformat import from_dict
from nbformat.v4 import new_markdown_cell, new_notebook
from questions import is_question
from speaker_notes import heading_of, read

LECTURE = "lecture-core"  # the tag of its cells, and its name
TITLE = "# Synchronous data-parallel SGD in two hours"
ARTICLE = (
    '"The article", here and there, is an introduction to synchronous SGD, in Chinese, that tells of a class '
    "at a giant jigsaw puzzle. What it claims was run, and measured."
)
CLOSE = Path(__file__).resolve().parents[1] / "lecture" / "close.md"  # the last slide


def two_hours(notebooks):
    """One notebook of what is tagged in {name: notebook}."""
    parts = {title(notebook): tagged(notebook) for notebook in notebooks.values()}
    own_slide = {"slideshow": {"slide_type": "slide"}}
    last = new_markdown_cell(CLOSE.read_text(encoding="utf-8"), metadata=own_slide)
    parts[heading_of(last)] = [last]
    cells = [new_markdown_cell(plan(parts)), *(cell for part in parts.values() for cell in part)]
    return new_notebook(cells=cells, metadata=next(iter(notebooks.values())).metadata)


def title(notebook):
    return notebook.cells[0].source.splitlines()[0].removeprefix("# ")


def tagged(notebook):
    return [folded(cell) for cell in notebook.cells if LECTURE in cell.metadata.get("tags", [])]


def folded(cell):
    """The cell, without the code of a picture or a widget: it is shown for what it draws."""
    kinds = {kind for output in cell.get("outputs", []) for kind in output.get("data", {})}
    drawn = "image/png" in kinds or is_question(cell)
    hidden = {"jupyter": {"source_hidden": True}} if drawn else {}
    return from_dict({**cell, "metadata": {**cell.metadata, **hidden}})


def plan(parts):
    """The first slide: each chapter's part, {its title: its cells}, with the minutes that its notes take."""
    _, sections = read(LECTURE)
    rows, waiting = ["| minutes | part |", "| --- | --- |"], list(sections)
    for name, cells in parts.items():
        headings = [heading for heading in map(heading_of, cells) if heading]
        taken, waiting = waiting[: len(headings)], waiting[len(headings) :]
        if headings:
            minutes = f"{taken[0].start}–{taken[-1].stop}" if taken else ""
            rows.append(f"| {minutes} | {name} |")
    return "\n\n".join([TITLE, "\n".join(rows), ARTICLE])
