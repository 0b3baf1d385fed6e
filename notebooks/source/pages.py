"""The course's pages beside its chapters: results, glossary, references, the ledger of the article's claims.

Each is a notebook of Markdown alone, built from a table in data/: JupyterLab and GitHub show it as a page.
"""

import csv
import re
from dataclasses import dataclass
from itertools import groupby

from nbformat.v4 import new_markdown_cell, new_notebook

from course_lib import data
from course_lib.course import chapters

VERDICTS = ("holds", "holds if", "wrong")
KINDS = ("law", "bound", "measured")
ITALICS = re.compile(r"(?<![*\w])\*([^*]{4,})\*(?!\*)")
CLAIM = re.compile(r"claim-(\d+\.\d+)")
WORDS = ("text/plain", "text/markdown")  # an output's kinds that are read as text


@dataclass(frozen=True)
class Claim:
    """A claim of the article: its chapter there, our words for it, the verdict, a condition or correction."""

    id: str
    claim: str
    verdict: str
    note: str

    @property
    def chapter(self):
        return int(self.id.split(".")[0])


def table(path):
    """The rows of a CSV file as dicts."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ledger():
    """All Claims, in the order of the article: data/claims/ has a file for each of its chapters."""
    files = sorted((data.FOLDER / "claims").glob("[0-9][0-9].csv"))
    return [Claim(**row) for path in files for row in table(path)]


def pages(notebooks):
    """{name: notebook}; `notebooks` is {name: chapter's notebook}, to find what decides a claim."""
    return {
        "results": results(),
        "glossary": glossary(),
        "references": references(notebooks),
        "claims": claims(notebooks),
    }


# --- the four


def results():
    cells = [
        "# Results\n\nWhat the course finds, a line for each result: a *law* that is derived or checked, a "
        "*bound* that nothing can pass, or what was *measured*, in real processes or in the simulator. "
        "The last column leads to the section that shows it. Formulas are set as code; every other number "
        "stands in an output of that section. It tells what the chapters ask you to predict: read it after "
        "them."
    ]
    titled = {str(chapter.number): f"{chapter.number} · {chapter.title}" for chapter in chapters()}
    for number, group in groupby(table(data.path("results.csv")), key=lambda row: row["chapter"]):
        lines = [(row["result"], row["kind"], row_link(row)) for row in group]
        cells.append(section(titled[number], ["result", "kind", "shown in"], lines))
    return page(cells)


def glossary():
    rows = table(data.path("glossary.csv"))
    cells = ["# Glossary\n\nThe course's terms with the Chinese ones, and for each a section that uses it."]
    for letter, group in groupby(rows, key=lambda row: row["term"][0].upper()):
        lines = [(f"**{row['term']}**", row["chinese"], row["definition"], row_link(row)) for row in group]
        cells.append(section(letter, ["term", "中文", "meaning", "section"], lines))
    return page(cells)


def references(notebooks):
    cells = ["# References\n\nWhat the course draws on, and which chapters say more about it."]
    reading = {name: further_reading(notebook) for name, notebook in notebooks.items()}
    lines = []
    for row in table(data.path("references.csv")):
        title = f"[{row['title']}]({row['url']})" if row["url"] else row["title"]
        where = ", ".join(filter(None, (row["venue"], row["year"])))
        citing = [name for name, text in reading.items() if cites(text, row["title"])]
        linked = ", ".join(f"[{int(name[:2])}]({name}.ipynb)" for name in citing)
        lines.append((row["authors"], title, where, row["what"], linked))
    cells.append(section("Sources", ["authors", "title", "where", "for", "chapter"], lines))
    return page(cells)


def claims(notebooks):
    decide = deciding(notebooks)
    cells = [
        "# The article's claims, measured\n\nEvery factual claim and formula of the article, in our words. "
        "The last column leads to the section that shows it; the cell is tagged with the claim's number. "
        "What people do, prefer or believe was not counted: where a claim is about that, its reason is "
        "what was measured, and the note says so."
    ]
    headings = {chapter.number: f"{chapter.number} · {chapter.title}" for chapter in chapters()}
    for number, group in groupby(ledger(), key=lambda claim: claim.chapter):
        lines = [
            (claim.id, claim.claim, f"**{claim.verdict}**", claim.note, decide.get(claim.id, ""))
            for claim in group
        ]
        columns = ["", "claim", "verdict", "condition, or what is so", "shown in"]
        cells.append(section(headings[number], columns, lines))
    return page(cells)


def section(heading, columns, rows):
    """A heading and a table, as Markdown."""
    rows = [[column.replace("|", "\\|") for column in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows)]
    return "\n".join([f"## {heading}\n", *lines])


def page(texts):
    return new_notebook(cells=[new_markdown_cell(text, id=f"page-{n}") for n, text in enumerate(texts)])


# --- where a result is shown and a claim decided, and what a chapter names


def row_link(row):
    """To the section that a table's row names; `chapter` is a chapter's number, `section` its heading."""
    names = {str(chapter.number): chapter.notebook for chapter in chapters()}
    return section_link(names[row["chapter"]], row["section"] or "")


def section_cells(notebook, heading):
    """The cells under a heading, its own first, up to the next of its level; none if there is no such one."""
    found, level = [], 0
    for cell in notebook.cells:
        lines = cell.source.splitlines() if cell.cell_type == "markdown" else []
        for marks, text in re.findall(r"^(#{2,3}) (.+)$", "\n".join(lines), re.MULTILINE):
            if level and len(marks) <= level:
                return found
            level = level or (len(marks) if text == heading else 0)
        found += [cell] if level else []
    return found


def shown(cells):
    """All that the outputs of these cells say in words."""
    parts = []
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        parts += [output.get("text", ""), *(output.get("data", {}).get(kind, "") for kind in WORDS)]
    return "\n".join(parts)


def deciding(notebooks):
    """{claim: link to its section} for the code cells tagged claim-N.M."""
    found = {}
    for name, notebook in notebooks.items():
        heading = ""
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                heading = (re.findall(r"^## (.+)$", cell.source, re.MULTILINE) or [heading])[-1]
            for tag in filter(CLAIM.fullmatch, cell.metadata.get("tags", [])):
                found[CLAIM.fullmatch(tag)[1]] = section_link(name, heading)
    return found


def section_link(name, heading):
    """Markdown, with the anchor that JupyterLab gives a heading."""
    return f"[{int(name[:2])} · {heading}]({name}.ipynb#{heading.replace(' ', '-')})"


def further_reading(notebook):
    """The text of a chapter's further reading."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return text.partition("## Further reading")[2]


def cites(text, title):
    return title in text or bool(parts(title) & titles(text))


def titles(text):
    """The titles that a chapter's further reading names: all in italics, without what follows a colon."""
    return {min(parts(title), key=title.lower().index) for title in re.findall(ITALICS, text)}


def parts(title):
    """A title before and after its colon, in small letters: chapters name a work by either."""
    return {part.strip(" .!").lower() for part in title.split(": ")}
