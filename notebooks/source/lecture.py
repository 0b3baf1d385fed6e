"""The deck of two hours: the cells tagged lecture-core, chapter after chapter, behind a plan with minutes."""

from nbformat import from_dict
from nbformat.v4 import new_markdown_cell, new_notebook
from questions import is_question
from speaker_notes import heading_of, read

LECTURE = "lecture-core"  # the tag of its cells, and its name
TITLE = "# Synchronous data-parallel SGD in two hours"


def two_hours(notebooks):
    """One notebook of what is tagged in {name: notebook}."""
    parts = {title(notebook): tagged(notebook) for notebook in notebooks.values()}
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
    return f"{TITLE}\n\n" + "\n".join(rows)
