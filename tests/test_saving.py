"""What make lab saves: what was only opened as it was, a learner's work, pictures in place of widgets."""

import json
import shutil
import subprocess
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from jupyter_server.services.contents.filemanager import FileContentsManager
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from traitlets.config import Config

from course_lib.saving import WIDGET_VIEW

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
HOOK = "course_lib.saving.before_saving"
OF_A_KERNEL = {
    "name": "python",
    "version": "3.14.1",
    "mimetype": "text/x-python",
    "codemirror_mode": {"name": "ipython", "version": 3},
    "pygments_lexer": "ipython3",
    "nbconvert_exporter": "python",
    "file_extension": ".py",
}


@pytest.fixture
def save(tmp_path):
    """save(notebook): the text of the file that Jupyter's server makes of it."""
    config = Config({"ContentsManager": {"pre_save_hook": HOOK}, "NotebookNotary": {"db_file": ":memory:"}})
    manager = FileContentsManager(root_dir=str(tmp_path), config=config)

    def saved(notebook):
        manager.save({"type": "notebook", "format": "json", "content": notebook}, "saved.ipynb")
        return (tmp_path / "saved.ipynb").read_bytes().decode("utf-8")

    return saved


def as_in_javascript(digits):
    """JavaScript has one kind of number: 1.0 becomes 1."""
    number = float(digits)
    return int(number) if number.is_integer() else number


def opened(text):
    """A stored notebook with what JupyterLab adds when it is opened."""
    in_javascript = json.dumps(json.loads(text, parse_float=as_in_javascript))
    notebook = nbformat.reads(in_javascript, as_version=4)
    notebook.metadata.language_info = deepcopy(OF_A_KERNEL)
    for cell in notebook.cells:
        cell.metadata.trusted = True
        if cell.metadata.get("jupyter", {}).get("outputs_hidden"):
            cell.metadata.collapsed = True
    return notebook


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_was_only_opened_stays_as_it_was(path, save):
    stored = path.read_bytes().decode("utf-8")
    assert save(opened(stored)) == stored


def test_an_edit_is_saved(save):
    """Code, text, outputs, tags, what is folded and opened, one cell more."""
    notebook = opened((ROOT / "notebooks" / "01_visual_demo.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    hidden = next(cell for cell in code if "collapsed" in cell.metadata)
    shown = next(cell for cell in code if "jupyter" not in cell.metadata)
    shown.source += "\nmine = 1.0"
    shown.outputs, shown.execution_count = [new_output("stream", text="mine\n")], 99
    shown.metadata |= {"tags": ["mine"], "collapsed": False, "jupyter": {"source_hidden": True}}
    del hidden.metadata["collapsed"], hidden.metadata["jupyter"]
    notebook.cells.append(new_markdown_cell("my note"))
    notebook.metadata.mine = {"version": 1}
    saved = nbformat.reads(save(deepcopy(notebook)), as_version=4)
    for each in (notebook, saved):
        del each.metadata["language_info"]
        for cell in each.cells:
            cell.metadata.pop("trusted", None)
            if cell.metadata.get("collapsed"):
                del cell.metadata["collapsed"]
    assert saved == notebook


def test_a_widget_is_saved_as_its_picture_and_words(save):
    data = {"image/png": "iVBORw0KGgo=\n", "text/plain": "words"}
    view = {WIDGET_VIEW: {"model_id": "1", "version_major": 2}}
    live = new_output("display_data", data | view)
    notebook = new_notebook(cells=[new_code_cell("x", outputs=[live, new_output("stream", text="printed")])])
    notebook.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    saved = json.loads(save(notebook))
    shown, printed = saved["cells"][0]["outputs"]
    assert set(shown["data"]) == set(data) and shown["metadata"] == view
    assert printed["text"] == ["printed"]
    assert "widgets" not in saved["metadata"]


def test_another_language_keeps_its_version(save):
    notebook = new_notebook(metadata={"language_info": {"name": "julia", "version": "1.12"}})
    assert json.loads(save(notebook))["metadata"] == notebook.metadata


def test_make_lab_saves_so():
    make = shutil.which("make") or pytest.skip("make is not installed")
    said = subprocess.run([make, "-n", "lab"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"--ContentsManager.pre_save_hook={HOOK} " in said
