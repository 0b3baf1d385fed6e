"""Build the notebooks of the course: NN_name.md (MyST Markdown) becomes an executed ../NN_name.ipynb.

    python notebooks/source/build.py [NAME ...] [--force] [--check] [--record]

NAME is a chapter's name or number; without one, all chapters are built. What is up to date is skipped.
--check executes nothing and fails when a notebook is not what its source would give. --record stores
new outputs for the cells tagged `live`, measured on this machine, in data/recorded/.

The same source and recording give the same bytes, so that a rebuild without changes shows no difference.
"""

import argparse
import difflib
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from datetime import date
from itertools import zip_longest
from pathlib import Path

import jupytext
import nbformat
from answers import with_answers
from jupytext.myst import MystMetadataParsingError
from machine import this_machine
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbformat.validator import NotebookValidationError
from pages import pages
from thread import PAGES, add_thread, with_table

from course_lib.course import chapters as listed
from course_lib.saving import LANGUAGE, pop_view

SOURCES = Path(__file__).resolve().parent
CELL_TIMEOUT = 60  # seconds
KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class BuildError(Exception):
    """The author has something to mend; the text says what and where."""


@dataclass(frozen=True)
class Chapter:
    """One source, and where what belongs to it lies."""

    source: Path

    @property
    def name(self):
        return self.source.stem

    @property
    def number(self):
        return self.name[:2]

    @property
    def notebook(self):
        return self.source.parent.parent / f"{self.name}.ipynb"

    @property
    def data(self):
        return self.source.parents[2] / "data"

    @property
    def recording(self):
        return self.data / "recorded" / f"{self.name}.json"

    @property
    def digest(self):
        texts = [path.read_text(encoding="utf-8") for path in (self.source, self.recording) if path.exists()]
        return sha256("\0".join(texts))


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


# --- choosing chapters


def chapters(names=(), sources=SOURCES):
    """The chapters called `names`, or all; a name may be a number and may have a suffix."""
    everything = [Chapter(path) for path in sorted(Path(sources).glob("[0-9][0-9]_*.md"))]
    return [find(name, everything) for name in names] or everything


def find(name, everything):
    stem = Path(name).stem
    for chapter in everything:
        if stem == chapter.name or stem.zfill(2) == chapter.number:
            return chapter
    there_is = ", ".join(chapter.name for chapter in everything) or "none"
    raise BuildError(f"no chapter {name!r}; there is: {there_is}")


# --- from the source to cells


def tags(cell):
    return cell.metadata.get("tags", [])


def slide_type(cell):
    """How a cell shows on slides when its author did not say: only an answer waits for a click."""
    if {"check", "solution"} & set(tags(cell)):
        return "skip"
    heading = re.match(r"(#{1,3}) ", cell.source) if cell.cell_type == "markdown" else None
    if not heading:
        return "fragment" if "reveal" in tags(cell) else "-"
    return "subslide" if len(heading[1]) == 3 else "slide"


def complete(cell):
    """Add the metadata that follow from a cell's tags and text."""
    cell.metadata.setdefault("slideshow", {}).setdefault("slide_type", slide_type(cell))
    if "solution" in tags(cell):
        cell.metadata.setdefault("jupyter", {})["source_hidden"] = True
    if "reveal" in tags(cell):  # JupyterLab shows the output again as soon as the cell is run
        cell.metadata.setdefault("jupyter", {})["outputs_hidden"] = True
    if "live" in tags(cell) and "nbval-ignore-output" not in tags(cell):
        cell.metadata["tags"] = [*tags(cell), "nbval-ignore-output"]


def name_cells(cells):
    """Ids from content: they stay when other cells come and go; a repeated cell gets a number."""
    seen = Counter()
    for cell in cells:
        content = sha256(f"{cell.cell_type}\n{cell.source}")[:12]
        seen[content] += 1
        cell.id = content if seen[content] == 1 else f"{content}-{seen[content]}"


def prepare(chapter):
    """The notebook before it is executed."""
    if (chapter.data / "course.json").exists() and chapter.name not in (each.notebook for each in listed()):
        raise BuildError(f"{chapter.name}: not in data/course.json")
    try:
        notebook = jupytext.reads(chapter.source.read_text(encoding="utf-8"), fmt="md:myst")
    except (MystMetadataParsingError, NotebookValidationError) as error:
        raise BuildError(f"{chapter.name}: the source cannot be read: {error}") from error
    notebook.cells = with_answers(add_thread(notebook.cells, chapter.name), chapter.source.parent)
    for cell in notebook.cells:
        complete(cell)
    name_cells(notebook.cells)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": KERNEL,
            "language_info": LANGUAGE,
            "course": {"digest": chapter.digest, "source": f"source/{chapter.source.name}"},
        }
    )
    return notebook


def code_cells(notebook, tag=None):
    return [
        cell for cell in notebook.cells if cell.cell_type == "code" and (tag is None or tag in tags(cell))
    ]


# --- executing


def execute(notebook, chapter):
    """Fill in the outputs. Only outputs and counts change, whatever the client does to a copy."""
    copy = nbformat.from_dict(notebook)
    client = NotebookClient(
        copy,
        timeout=CELL_TIMEOUT,
        kernel_name=KERNEL["name"],
        extra_arguments=["--log-level=ERROR"],  # no remarks about how client and kernel talk
        resources={"metadata": {"path": str(chapter.notebook.parent)}},
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
    )
    with tempfile.TemporaryDirectory() as profile:
        with client.setup_kernel(env=environment(profile)):
            for index, cell in enumerate(copy.cells):
                execute_cell(client, cell, index, chapter)
    for cell, executed in zip(code_cells(notebook), code_cells(copy), strict=True):
        cell.execution_count = executed.execution_count
        cell.outputs = [settled(output) for output in executed.outputs]


def environment(profile):
    """The kernel's variables, such that the author's own settings do not show in the course."""
    backend = "module://matplotlib_inline.backend_inline"
    own = {"PYTHONHASHSEED": "0", "IPYTHONDIR": profile, "MPLBACKEND": backend, "COURSE_PROGRESS": "off"}
    return {**os.environ, **own}


def execute_cell(client, cell, index, chapter):
    try:
        client.execute_cell(cell, index, execution_count=client.code_cells_executed + 1)
    except (CellControlSignal, DeadKernelError) as error:
        first_line = cell.source.strip().splitlines()[0]
        details = ANSI_COLOUR.sub("", str(error)).strip()
        raise BuildError(f"{chapter.name}: cell {index} ({first_line}) failed\n{details}") from error


def settled(output):
    """An output without what differs from run to run or from machine to machine."""
    pop_view(output)
    if output.output_type == "error":
        # Frames outside the notebook show where the author's files lie; the cell's own frame stays.
        output.traceback = [
            text for text in output.traceback if not ANSI_COLOUR.sub("", text).startswith("File ")
        ]
    return output


# --- recorded measurements


def record(notebook, chapter):
    """Keep the outputs that the live cells have now."""
    cells = {cell.id: cell.outputs for cell in code_cells(notebook, "live")}
    if not cells:
        chapter.recording.unlink(missing_ok=True)
        return
    recording = {"machine": this_machine(), "date": date.today().isoformat(), "cells": cells}
    chapter.recording.parent.mkdir(parents=True, exist_ok=True)
    write(chapter.recording, json.dumps(recording, indent=1, sort_keys=True, ensure_ascii=False))


def read_recording(notebook, chapter):
    """The recording; it must know every live cell as it is now."""
    there = chapter.recording.exists()
    recording = json.loads(chapter.recording.read_text(encoding="utf-8")) if there else {"cells": {}}
    for cell in code_cells(notebook, "live"):
        if cell.id not in recording["cells"]:
            raise BuildError(
                f"{chapter.name}: no recording of the live cell {cell.id} ({cell.source.splitlines()[0]}): "
                f"it is new or was edited. Measure: make record NB={chapter.number}"
            )
    return recording


def replay(notebook, recording):
    """Store the recorded outputs, and say whose they are."""
    for cell in code_cells(notebook, "live"):
        cell.outputs = [nbformat.from_dict(output) for output in recording["cells"][cell.id]]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = cell.execution_count
        cell.outputs.append(nbformat.v4.new_output("display_data", {"text/markdown": caption(recording)}))


def caption(recording):
    return (
        "*Recorded on {cores} cores ({architecture}), {os}, Python {python}, torch {torch}, on {date}. "
        "Run the cell for your own machine's figures.*"
    ).format(**recording["machine"], date=recording["date"])


# --- building and checking


def build(chapter, recording_anew=False):
    """Execute a chapter and write its notebook; with `recording_anew` its recording too."""
    notebook = prepare(chapter)
    if not recording_anew:
        read_recording(notebook, chapter)  # complain before the long part, not after
    execute(notebook, chapter)
    if recording_anew:
        record(notebook, chapter)
        notebook.metadata.course.digest = chapter.digest
    replay(notebook, read_recording(notebook, chapter))
    nbformat.validate(notebook)
    write(chapter.notebook, nbformat.writes(notebook))  # sorts the keys


def write(path, text):
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8", newline="\n")


def face(cell):
    """What an author decides about a cell, as text that can be compared."""
    about = json.dumps(cell.metadata, sort_keys=True)
    return [f"{cell.cell_type} cell {cell.id}", about, *cell.source.splitlines()]


def differences(source):
    """How the stored notebook of `source` differs from what its source would give; nothing is executed."""
    chapter = Chapter(Path(source))
    expected = prepare(chapter)
    if not chapter.notebook.exists():
        return [f"{chapter.name}: has no notebook"]
    stored = nbformat.read(chapter.notebook, as_version=4)
    found = first_differing_cell(chapter.name, expected.cells, stored.cells)
    if stored.metadata.get("course", {}).get("digest") != chapter.digest:
        found.append(f"{chapter.name}: was built from another source or recording")
    elif stored.metadata != expected.metadata:
        found.append(f"{chapter.name}: the notebook's metadata were changed")
    return found or altered(chapter, expected, stored)


def altered(chapter, expected, stored):
    """The measurements in the stored notebook that are not the recorded ones; nbval does not compare them."""
    pairs = list(zip(code_cells(expected, "live"), code_cells(stored, "live"), strict=True))
    for want, have in pairs:
        want.execution_count = have.execution_count
    replay(expected, read_recording(expected, chapter))
    ids = [want.id for want, have in pairs if want.outputs != have.outputs]
    return [f"{chapter.name}: what the live cell {id} shows is not its recording" for id in ids]


def first_differing_cell(name, expected, stored):
    pairs = zip_longest(map(face, expected), map(face, stored), fillvalue=[])
    for index, (want, have) in enumerate(pairs):
        if want != have:
            diff = difflib.unified_diff(have, want, "notebook", "source", lineterm="", n=1)
            return [f"{name}: cell {index} differs\n" + "\n".join(list(diff)[:16])]
    return []


def orphans(sources=SOURCES):
    """Notebooks that no source would give."""
    notebooks = {path.stem for path in Path(sources).parent.glob("*.ipynb")}
    names = {chapter.name for chapter in chapters(sources=sources)} | PAGES.keys()
    return [f"{name}: has no source" for name in sorted(notebooks - names)]


def around(sources=SOURCES):
    """{path: text} of what is made of all chapters together: README's table and the pages."""
    readme, notebooks = sources.parents[1] / "README.md", sources.parent
    if not readme.exists():
        return {}
    there = [chapter for chapter in chapters(sources=sources) if chapter.notebook.exists()]
    built = {chapter.name: nbformat.read(chapter.notebook, as_version=4) for chapter in there}
    texts = {readme: with_table(readme.read_text(encoding="utf-8"), built)}
    for name, page in pages(built).items():
        # With a kernel, though there is no code: else JupyterLab asks for one.
        page.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE})
        texts[notebooks / f"{name}.ipynb"] = nbformat.writes(page) + "\n"
    return texts


def stale(sources=SOURCES):
    """Those of them that are not as they would be made now."""
    texts = around(sources)
    return [path for path in texts if not path.exists() or path.read_text(encoding="utf-8") != texts[path]]


def check(chosen, sources):
    differ = {chapter.number: found for chapter in chosen if (found := differences(chapter.source))}
    found = sum(differ.values(), []) + orphans(sources)
    found += [f"{path.name}: is not what the chapters and data/ would give" for path in stale(sources)]
    if found:
        raise BuildError("\n".join([*found, how_to_build(differ)]))


def how_to_build(numbers=()):
    """What to type, to build the chapters with these numbers."""
    chosen = " ".join(numbers)
    quoted = f'"{chosen}"' if " " in chosen else chosen
    return "Build again: make notebooks" + f" NB={quoted}" * bool(chosen)


def make(chosen, force, recording_anew):
    """Build what is not up to date, and say so."""
    for chapter in chosen:
        if not (force or recording_anew or differences(chapter.source)):
            print(f"{chapter.name}: unchanged")
            continue
        start = time.perf_counter()
        build(chapter, recording_anew)
        print(f"{chapter.name}: built in {time.perf_counter() - start:.1f} s", flush=True)


def main(arguments=None, sources=SOURCES):
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a chapter's name or number")
    parser.add_argument("--force", action="store_true", help="build what is unchanged, too")
    parser.add_argument("--check", action="store_true", help="execute nothing; fail if a build is needed")
    parser.add_argument("--record", action="store_true", help="measure the live cells on this machine")
    options = parser.parse_args(arguments)
    try:
        chosen = chapters(options.names, sources)
        if options.check:
            check(chosen, sources)
        else:
            make(chosen, options.force, options.record)
            for path in stale(sources):
                write(path, around(sources)[path])
                print(f"{path.name}: written")
    except BuildError as error:
        return str(error)  # sys.exit prints it and exits with 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
