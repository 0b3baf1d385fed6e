"""Make the offline site and the slides of the stored notebooks; nothing is executed.

    python notebooks/source/publish.py html   [--to DIR]
    python notebooks/source/publish.py slides [--to DIR] [--font 1.2] [--lecture core]

html writes a page for each chapter, the results, the glossary, the references and the claims, and an index.
slides writes a deck for each chapter, with the speaker notes of notebooks/lecture/notes, and the students'
handout; with --lecture core also the two-hour path, made of the cells tagged lecture-core.
What is written asks the network for nothing: styles, fonts and scripts lie in its folder assets/.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

import nbformat
from lecture import LECTURE, two_hours
from nbformat.v4 import new_markdown_cell, new_notebook
from pygments.formatters import HtmlFormatter
from questions import with_questions
from rendering import Decks, Pages
from speaker_notes import NotesError, with_notes
from thread import PAGES, table

from course_lib.course import chapters

SOURCES = Path(__file__).resolve().parent
ROOT, NOTEBOOKS, WEB = SOURCES.parents[1], SOURCES.parent, SOURCES / "web"
HANDOUT = NOTEBOOKS / "lecture"
COURSE = "Synchronous data-parallel SGD"
A_COURSE = "a course on data-parallel SGD: simulate it, run it, measure it"
ABOUT = (
    "A course in twelve notebooks on training one model with many workers: all-reduce, PyTorch DDP, "
    "stragglers, batch size and learning rate, simulated, run and measured."
)
PACE = re.compile(r"^\*(?:core|deeper), [^*\n]*\.\* ?", re.MULTILINE)  # *core, 4 minutes.*
CODE_STYLES = {"light": "xcode", "dark": "lightbulb"}  # contrasts of 4.5 and more


def stored(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def built():
    """{name: notebook} of the chapters that are there, their questions as on paper."""
    names = [chapter.notebook for chapter in chapters()]
    found = {name: stored(name) for name in names if (NOTEBOOKS / f"{name}.ipynb").exists()}
    for notebook in found.values():
        notebook.cells = with_questions(notebook.cells)
    return found


def html(folder):
    notebooks = built()
    sources = {"index": index(notebooks), **notebooks, **{name: stored(name) for name in PAGES}}
    exporter = Pages(template_file=str(WEB / "page.html.j2"))
    exporter.addresses = {name: f"{name}.html" for name in sources}
    menu = {"index": "The course", **PAGES}
    fresh(folder, ["katex"], ["style.css", "math.js", "scroll.js"])
    shown = titles()
    for name, notebook in sources.items():
        about = {"name": name, "pages": menu, **shown[name]}
        write(exporter, notebook, about, folder / f"{name}.html")


def slides(folder, font=1.0, lecture=None):
    notebooks = built()
    exporter = Decks(template_file=str(WEB / "deck.html.j2"))
    exporter.addresses = {name: f"{name}.slides.html" for name in notebooks}
    if lecture:
        notebooks[LECTURE] = two_hours(notebooks)
    files = ["style.css", "deck.css", "handout.css", "math.js", "scroll.js", "deck.js"]
    fresh(folder, ["katex", "reveal.js"], files)
    shown = titles()
    for name, notebook in notebooks.items():
        about = {"font": font, **shown[name]}
        notebook.cells = with_notes(without_pace(notebook.cells), name)
        write(exporter, notebook, about, folder / f"{name}.slides.html")
    handout(folder)


def handout(folder):
    """The students' page, beside the decks; on paper it is one sheet of A4."""
    page = new_notebook(cells=[new_markdown_cell((HANDOUT / "handout.md").read_text(encoding="utf-8"))])
    about = {"title": f"{COURSE} on one page", "description": f"Idea, formulas and symptoms of {A_COURSE}."}
    shutil.copy(HANDOUT / "step.svg", folder)
    write(Pages(template_file=str(WEB / "handout.html.j2")), page, about, folder / "handout.html")


def without_pace(cells):
    """The cells without a reader's minutes: a lecturer's stand in the notes."""
    for cell in cells:
        cell.source = PACE.sub("", cell.source)
    return cells


def index(notebooks):
    further = "\n".join(f"- [{title}]({name}.ipynb)" for name, title in PAGES.items())
    text = f"# {COURSE}\n\n{ABOUT}\n\n## Chapters\n\n{table(notebooks)}\n\n## And\n\n{further}"
    return new_notebook(cells=[new_markdown_cell(text, id="index")])


def titles():
    """{page: what a search engine shows of it}."""
    found = {
        chapter.notebook: {
            "title": f"{chapter.search} — {COURSE}",
            "description": f"{plain(chapter.able)}. Chapter {chapter.number} of {A_COURSE}.",
        }
        for chapter in chapters()
    }
    found["index"] = {"title": f"{COURSE}: a course in twelve notebooks", "description": ABOUT}
    found[LECTURE] = {"title": f"{COURSE} in two hours", "description": ABOUT}
    for name, title in PAGES.items():
        found[name] = {
            "title": f"{title} — {COURSE}",
            "description": f"{title} of {A_COURSE}.",
        }
    return found


def plain(text):
    """A sentence's start, without Markdown's marks."""
    text = text.replace("`", "")
    return text[0].upper() + text[1:]


def fresh(folder, packages, files):
    """An empty folder but for assets/; what is there is thrown away only if it was made here."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "assets" / "code.css").exists():
        raise SystemExit(f"{folder} holds other things than a site or slides; name another folder")
    shutil.rmtree(folder, ignore_errors=True)
    assets = folder / "assets"
    for package in packages:
        shutil.copytree(WEB / "vendor" / package, assets / package)
    for file in files:
        shutil.copy(WEB / file, assets)
    light, dark = (
        HtmlFormatter(style=CODE_STYLES[theme]).get_style_defs(".highlight") for theme in ("light", "dark")
    )
    css = f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
    (assets / "code.css").write_text(css, encoding="utf-8")


def write(exporter, notebook, about, path):
    text, _ = exporter.from_notebook_node(notebook, resources={"course": about})
    path.write_text(text, encoding="utf-8", newline="\n")
    print(path.name, flush=True)


def size(text):
    number = float(text)
    if not 0.5 <= number <= 2:
        raise argparse.ArgumentTypeError(f"{text} is not between 0.5 and 2")
    return number


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["html", "slides"])
    parser.add_argument("--to", type=Path, help="the folder to write; it is emptied first")
    parser.add_argument("--font", type=size, default=1.0, help="times the usual size, on slides")
    parser.add_argument("--lecture", choices=["core"], help="the two-hour path as well")
    options = parser.parse_args(arguments)
    try:
        if options.what == "html":
            html(options.to or ROOT / "site")
        else:
            slides(options.to or ROOT / "slides", options.font, options.lecture)
    except NotesError as error:
        return str(error)  # sys.exit prints it and exits with 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
