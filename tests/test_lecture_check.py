"""make lecture-check: each check passes here or says why, and notices what it is there for."""

import math
import os
import shutil
import socket
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest

from course_lib import progress

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks" / "lecture"))
import check  # noqa: E402
from room import Remark, Trouble, computer, course, lab_server  # noqa: E402


def holds(value):
    return lambda *args, **settings: value


def fails(error):
    def call(*args, **settings):
        raise error

    return call


# --- the machine


def old_python(patch):
    patch.setattr(computer.sys, "version_info", (3, 9, 1))


def no_port_answers(patch):
    patch.setattr(computer.socket, "create_connection", fails(ConnectionRefusedError("refused")))


def one_core(patch):
    patch.setattr(computer.os, "sched_getaffinity", holds({0}), raising=False)


def little_memory(patch):
    patch.setattr(computer.psutil, "virtual_memory", holds(SimpleNamespace(available=5e8)))


def little_disk(patch):
    patch.setattr(computer.shutil, "disk_usage", holds(SimpleNamespace(free=1e8)))


def no_folder_for_fonts(patch):
    patch.setenv("MPLCONFIGDIR", str(Path(__file__) / "below-a-file"))


@pytest.mark.parametrize(
    "broken, checked, says",
    [
        (old_python, computer.python, "Python 3.9.1"),
        (one_core, computer.cores, "one core"),
        (little_memory, computer.memory, "0.5 GB of memory"),
        (little_disk, computer.disk, "0.1 GB"),
        (no_port_answers, computer.loopback, "refused"),
        (no_folder_for_fonts, computer.fonts, "matplotlib says: .*director"),
    ],
)
def test_trouble_with_the_machine(broken, checked, says, monkeypatch):
    broken(monkeypatch)
    with pytest.raises(Trouble, match=says):
        checked()


def test_other_versions_are_a_remark(monkeypatch):
    monkeypatch.setattr(computer, "installed", {"numpy": "1.0", "torch": "2.13.0+cpu"}.get)
    with pytest.raises(Remark, match="tested: numpy 1.0'"):
        computer.versions()


def test_a_busy_machine_is_a_remark(monkeypatch):
    monkeypatch.setattr(computer.psutil, "cpu_percent", holds(97))
    with pytest.raises(Remark, match="97 % busy"):
        computer.cores()


def test_without_a_browser_is_a_remark(monkeypatch):
    monkeypatch.setattr(computer.webbrowser, "get", fails(computer.webbrowser.Error()))
    monkeypatch.setattr(lab_server.lab, "find_browser", holds(None))
    with pytest.raises(Remark, match="no browser"):
        computer.browser()


def test_ports_are_reached():
    assert "reaches" in computer.loopback()


# --- the course


def simulated(worker, ranks, timeout):
    """What a launch gives, at once."""
    return course.simulate(worker, ranks)


def test_the_two_worlds_agree(monkeypatch):
    monkeypatch.setattr(course, "launch", simulated)
    monkeypatch.setattr(course, "SLOW", math.inf)
    assert "as simulated" in course.worlds()


def test_slow_launches_are_a_remark(monkeypatch):
    monkeypatch.setattr(course, "SLOW", 0)
    monkeypatch.setattr(course, "launch", simulated)
    with pytest.raises(Remark, match="the second"):
        course.worlds()


def test_worlds_that_differ_are_trouble(monkeypatch):
    monkeypatch.setattr(course, "launch", holds(SimpleNamespace(values=[0] * 4)))
    with pytest.raises(Trouble, match="disagree"):
        course.worlds()


@pytest.fixture(scope="module")
def server():
    with lab_server.jupyter_lab() as server:
        yield server
    assert not psutil.pid_exists(server.pid)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(server.url.rstrip("/").rsplit(":")[-1])), timeout=5)


def test_jupyterlab_shows_a_widget(server):
    scripts = server.extensions()
    assert all(server.ask(scripts[name]) for name in course.EXTENSIONS)
    course.look_at(server.run(course.CELL))
    assert server.ask("api/kernels") == "[]"


@pytest.mark.parametrize(
    "cell, says", [("import no_course", "ModuleNotFoundError: .*no_course"), ("1", "image/png")]
)
def test_a_cell_that_fails_or_shows_nothing_is_trouble(server, cell, says):
    with pytest.raises(Trouble, match=says):
        course.look_at(server.run(cell))


def test_widgets_that_are_not_installed_are_trouble(server, monkeypatch):
    monkeypatch.setattr(course, "jupyter_lab", lambda: nullcontext(server))
    monkeypatch.setattr(type(server), "extensions", holds({"anywidget": ""}))
    with pytest.raises(Trouble, match="lacks @jupyter-widgets"):
        course.jupyter()


def test_a_server_that_ends_at_once_is_told_with_its_words():
    command = [sys.executable, "-c", "print('no room left')"]
    with pytest.raises(RuntimeError, match="no room left"), lab_server.jupyter_lab(command):
        pass


# --- what is stored


@pytest.fixture
def folder(tmp_path):
    """A repository with one chapter."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    folder = tmp_path / "course"
    folder.mkdir()
    shutil.copy(course.NOTEBOOKS / "01_visual_demo.ipynb", folder)
    for command in ("init -q", "add .", "-c user.name=a -c user.email=b commit -qm c"):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    return folder


def stored(folder, change):
    path = folder / "01_visual_demo.ipynb"
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)


def test_notebooks_as_committed(folder):
    assert "1 notebooks as committed" in course.notebooks(folder)


def test_an_edited_notebook_is_trouble(folder):
    stored(folder, lambda notebook: notebook.cells.pop())
    with pytest.raises(Trouble, match="changed .*: 01_visual_demo.ipynb"):
        course.notebooks(folder)


def test_a_notebook_without_outputs_is_trouble(folder, monkeypatch):
    monkeypatch.setattr(course.shutil, "which", holds(None))
    stored(folder, lambda notebook: [cell.outputs.clear() for cell in notebook.cells if "outputs" in cell])
    with pytest.raises(Trouble, match="no outputs"):
        course.notebooks(folder)


def test_guesses(tmp_path, monkeypatch):
    assert "not kept" in course.guesses()  # conftest.py
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))
    with pytest.raises(Remark, match="progress.jsonl"):
        course.guesses()
    progress.note("guess", "1.1", value=3)
    with pytest.raises(Trouble, match="earlier") as caught:
        course.guesses()
    assert not isinstance(caught.value, Remark)


def test_slides(tmp_path):
    with pytest.raises(Trouble, match="01_visual_demo.slides.html, .* is missing"):
        course.slides(tmp_path)
    for name in [*(path.stem for path in course.chapters()), "lecture-core"]:
        (tmp_path / f"{name}.slides.html").touch()
    assert "as new" in course.slides(tmp_path)
    os.utime(tmp_path / "lecture-core.slides.html", (0, 0))
    with pytest.raises(Trouble, match="lecture-core.* is older"):
        course.slides(tmp_path)


# --- the report


def test_one_trouble_fails_and_says_the_way_out(capsys):
    checks = [holds("a"), fails(Remark("b", "do b")), fails(Trouble("c", "do c"))]
    assert check.main(checks) == 1
    said = capsys.readouterr().out
    assert said.startswith("fine a\nnote b\n     -> do b\nMEND c\n     -> do c\n")


def test_remarks_alone_do_not_fail(capsys):
    assert check.main([holds("a"), fails(Remark("b", "do b"))]) == 0
    assert "Ready" in capsys.readouterr().out


def test_what_cannot_be_tried_is_trouble(capsys):
    assert check.main([fails(PermissionError("closed"))]) == 1
    assert "PermissionError: closed" in capsys.readouterr().out
