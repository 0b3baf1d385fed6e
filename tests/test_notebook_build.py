"""The build of the notebooks, on a course of one small chapter."""

import json
import platform
import shutil

import nbformat
import pytest
from build import (
    BuildError,
    Chapter,
    build,
    chapters,
    code_cells,
    differences,
    how_to_build,
    main,
    orphans,
    prepare,
    settled,
    slide_type,
)
from nbformat.v4 import new_code_cell

SOURCE = """\
# A chapter

Some words.

+++ {"tags": ["core"], "slideshow": {"slide_type": "notes"}}

## A section

+++

### A part of it

```{code-cell}
:tags: [live]

import time
seconds = time.perf_counter_ns()
seconds
```

```{code-cell}
print(seconds > 0, {"a", "b", "c", "d"})
```

```{code-cell}
:tags: [solution]

answer = 42
```

```{code-cell}
:tags: [raises-exception]

import json
json.loads("{")
```

```{code-cell}
answer
```

```{code-cell}
answer
```
"""


def new_course(folder, source=SOURCE, name="07_tiny"):
    sources = folder / "notebooks" / "source"
    sources.mkdir(parents=True)
    (sources / f"{name}.md").write_text(source)
    return Chapter(sources / f"{name}.md")


def read(chapter):
    return nbformat.read(chapter.notebook, as_version=4)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Built once, and never changed."""
    chapter = new_course(tmp_path_factory.mktemp("built"))
    build(chapter, recording_anew=True)
    return chapter


@pytest.fixture
def copy(built, tmp_path):
    """The same, to break."""
    shutil.copytree(built.source.parents[2], tmp_path / "copy")
    return Chapter(tmp_path / "copy" / "notebooks" / "source" / built.source.name)


def test_a_rebuild_gives_the_same_bytes(copy):
    before = copy.notebook.read_bytes()
    copy.notebook.unlink()
    build(copy)
    assert copy.notebook.read_bytes() == before
    assert before.endswith(b"}\n")


def test_what_is_unchanged_is_not_executed(built, capsys):
    assert main([], built.source.parent) == 0
    assert capsys.readouterr().out == "07_tiny: unchanged\n"


def test_the_check_passes_after_a_build(built):
    assert differences(built.source) == []
    assert main(["--check"], built.source.parent) == 0


@pytest.mark.parametrize(
    "old, new, shown",
    [
        ("Some words.", "Other words.", "+Other words."),
        ("[solution]", "[solution, hide-input]", '"hide-input"'),
        ('"core"', '"deeper"', '"deeper"'),
        ("### A part of it", "### A part of it\n\n+++\n\nMore.", "+More."),
    ],
)
def test_the_check_finds_a_changed_source(copy, old, new, shown):
    edit(copy.source, old, new)
    cell, stale = differences(copy.source)
    assert cell.startswith("07_tiny: cell ") and shown in cell
    assert "another source" in stale
    assert "07_tiny: cell" in main(["--check"], copy.source.parent)


def test_the_check_finds_an_edited_notebook(copy):
    edit(copy.notebook, "Some words.", "Words from JupyterLab.")
    assert "-Words from JupyterLab.\n+Some words." in "\n".join(differences(copy.source))


def test_the_check_finds_another_recording(copy):
    edit(copy.recording, '"date": "', '"date": "1')
    assert differences(copy.source) == ["07_tiny: was built from another source or recording"]


def test_the_check_finds_an_altered_measurement(copy):
    notebook = read(copy)
    (cell, *_) = code_cells(notebook, "live")
    cell.outputs[0].text = "9000"
    nbformat.write(notebook, copy.notebook)
    assert differences(copy.source) == [f"07_tiny: what the live cell {cell.id} shows is not its recording"]


def test_the_check_finds_changed_metadata(copy):
    edit(copy.notebook, "Python 3 (ipykernel)", "My kernel")
    assert differences(copy.source) == ["07_tiny: the notebook's metadata were changed"]


def test_the_check_finds_what_has_no_counterpart(copy):
    copy.notebook.rename(copy.notebook.with_name("08_other.ipynb"))
    assert differences(copy.source) == ["07_tiny: has no notebook"]
    assert orphans(copy.source.parent) == ["08_other: has no source"]
    assert "08_other: has no source" in main(["--check"], copy.source.parent)


def test_a_chapter_that_the_course_does_not_list_is_refused_at_once(tmp_path, subtests):
    chapter = new_course(tmp_path, name="13_new")
    chapter.data.mkdir()
    (chapter.data / "course.json").write_text("[]")
    for arguments in (["--check"], ["--record"], []):
        with subtests.test(arguments=arguments):
            assert main(arguments, chapter.source.parent) == "13_new: not in data/course.json"
    assert not chapter.notebook.exists()


def test_the_check_says_what_to_type(copy):
    edit(copy.source, "Some words.", "Other words.")
    assert main(["--check"], copy.source.parent).endswith("\nBuild again: make notebooks NB=07")
    assert how_to_build(["07", "10"]) == 'Build again: make notebooks NB="07 10"'
    assert how_to_build() == "Build again: make notebooks"


def test_a_live_cell_shows_the_recording_and_whose_it_is(built):
    recording = json.loads(built.recording.read_text())
    (cell,) = code_cells(read(built), "live")
    result, caption = cell.outputs
    assert result.data == recording["cells"][cell.id][0]["data"]
    assert result.execution_count == cell.execution_count == 1
    assert f"Python {platform.python_version()}" in caption.data["text/markdown"]
    assert platform.node() not in built.recording.read_text()
    assert "nbval-ignore-output" in cell.metadata.tags


def test_a_live_cell_without_recording_asks_for_one(copy):
    edit(copy.source, "perf_counter_ns", "time_ns")
    with pytest.raises(BuildError, match="07_tiny.*import time.*make record NB=07"):
        build(copy)


def test_a_failing_cell_is_named_and_nothing_is_written(tmp_path):
    chapter = new_course(tmp_path, "# T\n\n```{code-cell}\nx = 0\n1 / x\n```\n")
    message = main([], chapter.source.parent)
    assert message.startswith("07_tiny: cell 1 (x = 0) failed")
    assert "ZeroDivisionError: division by zero" in message
    assert not chapter.notebook.exists()


def test_an_unreadable_source_is_named(tmp_path):
    chapter = new_course(tmp_path, "# T\n\n```{code-cell}\n:tags: [live\n\n1\n```\n")
    with pytest.raises(BuildError, match="07_tiny: the source cannot be read"):
        build(chapter)


def test_a_solution_is_folded_and_executed(built):
    (cell,) = code_cells(read(built), "solution")
    assert cell.metadata.jupyter.source_hidden is True
    assert cell.execution_count == 3


def test_every_cell_gets_a_slide_type_unless_the_author_gave_one(built):
    types = [cell.metadata.slideshow.slide_type for cell in read(built).cells]
    assert types == ["slide", "notes", "subslide", "-", "-", "skip", "-", "-", "-"]


@pytest.mark.parametrize(("tag", "kind"), [("reveal", "fragment"), ("check", "skip"), ("live", "-")])
def test_only_an_answer_waits_for_a_click(tag, kind):
    assert slide_type(new_code_cell("x", metadata={"tags": ["core", tag]})) == kind


def test_ids_are_unique_and_stay_when_another_cell_comes(built, tmp_path):
    before = [cell.id for cell in prepare(built).cells]
    longer = new_course(tmp_path, SOURCE.replace("### A part", "New text.\n\n+++\n\n### A part"))
    after = [cell.id for cell in prepare(longer).cells]
    assert len(set(before)) == len(before) == len(after) - 1
    assert [name for name in after if name in before] == before


def test_nothing_of_the_machine_is_stored(built):
    notebook = read(built)
    assert set(notebook.metadata) == {"course", "kernelspec", "language_info"}
    assert "version" not in notebook.metadata.language_info
    (cell,) = code_cells(notebook, "raises-exception")
    trace = "\n".join(cell.outputs[0].traceback)
    assert "JSONDecodeError" in trace and "decoder.py" not in trace


def test_a_widget_is_stored_as_its_picture_and_text():
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "chance"}, "text/plain": "a widget"}
    assert settled(nbformat.v4.new_output("display_data", data)).data == {"text/plain": "a widget"}


@pytest.mark.parametrize("name", ["7", "07", "07_tiny", "07_tiny.md", "notebooks/07_tiny.ipynb"])
def test_a_chapter_answers_to_its_name_and_number(built, name):
    assert chapters([name], built.source.parent) == [built]


def test_a_misspelt_name_tells_what_there_is(built):
    assert main(["07_tny"], built.source.parent) == "no chapter '07_tny'; there is: 07_tiny"
