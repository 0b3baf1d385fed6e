"""The thread through the course: what every chapter gets without its author's doing, and README's table.

A chapter opens and closes with links to its neighbours; its last code cell shows the learner's progress.
"""

import re

from nbformat.v4 import new_code_cell, new_markdown_cell

from course_lib.course import chapters

PAGES = {
    "results": "Results",
    "glossary": "Glossary",
    "references": "References",
    "claims": "The article's claims",
}
PROGRESS = """\
from course_lib.course import chapter_progress

chapter_progress({number}, exercises={exercises}, predictions={predictions})"""
PREDICTION = re.compile(r"""\bpredict\(\s*["'](\d+\.\d+)["']""")
TABLE = re.compile(r"(?<=<!-- chapters: built -->\n).*?(?=<!-- /chapters -->)", re.DOTALL)


def add_thread(cells, name):
    """The cells of chapter `name` with its thread; as they are, if the course lists no such chapter."""
    listed = {chapter.notebook: chapter for chapter in chapters()}
    if name not in listed:
        return cells
    number = listed[name].number
    about = {"tags": ["thread"], "slideshow": {"slide_type": "skip"}}
    neighbours = links(number)
    end = f"{neighbours}\n\n" + " · ".join(f"[{title}]({page}.ipynb)" for page, title in PAGES.items())
    counts = {"exercises": len(exercises(cells)), "predictions": len(predictions(cells))}
    code = PROGRESS.format(number=number, **counts)
    return [
        cells[0],
        new_markdown_cell(neighbours, metadata=about),
        *cells[1:],
        new_code_cell(code, metadata=about),
        new_markdown_cell(end, metadata=about),
    ]


def links(number):
    """Markdown: to the chapter before, and to the one after."""
    before, after = ([None, *chapters(), None][place] for place in (number - 1, number + 1))
    named = [("Previous", before), ("Next", after)]
    return " · ".join(f"{word}: {chapter.link}" for word, chapter in named if chapter)


def exercises(cells):
    return [cell for cell in cells if "exercise" in cell.metadata.get("tags", [])]


def predictions(cells):
    """The keys of the predictions, each once."""
    return {key for cell in cells if cell.cell_type == "code" for key in PREDICTION.findall(cell.source)}


# --- README's table


def minutes(cells):
    """(core, deeper) minutes, as the chapter's opening says."""
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    opening = text.partition("## Before you start")[2]
    core, deeper = re.search(r"(\d+) minutes", opening), re.search(r"(\d+)(?: minutes)? more", opening)
    return int(core[1]), int(deeper[1]) if deeper else 0


def table(built):
    """README's table of chapters; `built` is {name: notebook} of those that are there."""
    rows = ["| | chapter | what you will be able to do | minutes: core + deeper | exercises | predictions |"]
    rows.append("| --- | --- | --- | --- | --- | --- |")
    for chapter in chapters():
        rows.append(f"| {' | '.join(row(chapter, built.get(chapter.notebook)))} |")
    return "\n".join(rows) + "\n"


def row(chapter, notebook):
    if notebook is None:
        return [str(chapter.number), chapter.title, chapter.able, "planned", "", ""]
    cells = notebook.cells
    core, deeper = minutes(cells)
    linked = f"[{chapter.title}](notebooks/{chapter.notebook}.ipynb)"
    counts = (str(len(found)) for found in (exercises(cells), predictions(cells)))
    return [str(chapter.number), linked, chapter.able, f"{core} + {deeper}", *counts]


def with_table(readme, built):
    """README's text with its table of chapters brought up to date."""
    return TABLE.sub(lambda _: table(built), readme)
