"""What the lecturer says: notebooks/lecture/notes/NAME.md, put under the slides of the deck NAME.

    # Title
    What to prepare, shown with the title.

    ## <a heading of the deck, of level 2 or 3, word for word>
    *0–4 min.*
    What to say, in Markdown.

The sections follow the deck, so that of two equal headings each has its own; their minutes start at 0 and
leave no gap.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from nbformat.v4 import new_markdown_cell

FOLDER = Path(__file__).resolve().parents[1] / "lecture" / "notes"
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
MINUTES = re.compile(r"\s*\*(\d+)–(\d+) min\.\*$", re.MULTILINE)
HEADING = re.compile(r"#{2,3} (.+)")


class NotesError(Exception):
    """The author of the notes has something to mend; the text says what and where."""


@dataclass(frozen=True)
class Section:
    heading: str
    start: int  # minutes
    stop: int
    text: str


def read(name, folder=FOLDER):
    """(what comes before the first section, the sections) of the deck `name`; ("", []) if it has no notes."""
    path = folder / f"{name}.md"
    if not path.exists():
        return "", []
    before, *parts = SECTION.split(path.read_text(encoding="utf-8"))
    title, _, before = before.partition("\n")
    if not title.startswith("# "):
        raise NotesError(f"{path.name}: the first line is not '# ' and a title")
    sections = [section(path, *pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    check_minutes(path, sections)
    return before.strip(), sections


def section(path, heading, body):
    minutes = MINUTES.match(body)
    if minutes is None:
        raise NotesError(f"{path.name}: '{heading}' does not begin with a line like *3–5 min.*")
    return Section(heading.strip(), int(minutes[1]), int(minutes[2]), body.strip())


def check_minutes(path, sections):
    clock = 0
    for one in sections:
        if not clock == one.start < one.stop:
            raise NotesError(f"{path.name}: '{one.heading}' is at {one.start}–{one.stop}, not {clock}–…")
        clock = one.stop


def heading_of(cell):
    """The heading that a cell opens with; None if it opens with another thing."""
    found = HEADING.match(cell.source) if cell.cell_type == "markdown" else None
    return found[1].strip() if found else None


def with_notes(cells, name, folder=FOLDER):
    """The cells of the deck `name`, each with its notes after it."""
    before, sections = read(name, folder)
    made, waiting = [], list(sections)
    for index, cell in enumerate(cells):
        made.append(cell)
        if index == 0 and before:
            made.append(note(before))
        if waiting and heading_of(cell) == waiting[0].heading:
            made.append(note(waiting.pop(0).text))
    if waiting:
        after = sections[-len(waiting) - 1].heading if len(waiting) < len(sections) else "its title"
        raise NotesError(f"{name}.md: after '{after}' the deck has no heading '{waiting[0].heading}'")
    return made


def note(text):
    return new_markdown_cell(text, metadata={"slideshow": {"slide_type": "notes"}})
