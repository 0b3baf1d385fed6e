"""The course on this machine: real processes, JupyterLab, and what is stored."""

import shutil
import subprocess
import time

import nbformat
import numpy as np

from course_lib import launch, progress, simulate
from course_lib.collectives import ring_all_reduce
from room import Remark, Trouble
from room.lab_server import ROOT, jupyter_lab

NOTEBOOKS = ROOT / "notebooks"
LIMIT, SLOW = 60, 5  # seconds
AGAIN = "make clean, make install"
EXTENSIONS = ("anywidget", "@jupyter-widgets/jupyterlab-manager")
WIDGET, PICTURE = "application/vnd.jupyter.widget-view+json", "image/png"
CELL = """
import matplotlib.pyplot as plt
from course_lib.widgets import step_player
plt.plot([0, 1])
plt.show()
step_player()
"""


def worker(comm):
    return ring_all_reduce(comm, np.arange(8.0) + comm.rank)


def worlds():
    simulated, seconds = simulate(worker, ranks=4).values, []
    for _ in range(2):
        start = time.perf_counter()
        real = launch(worker, ranks=4, timeout=LIMIT).values
        seconds.append(time.perf_counter() - start)
        if not np.array_equal(real, simulated):
            raise Trouble("real processes and the simulator disagree", "make test says more")
    took = "4 real ranks, as simulated: {:.1f} s the first time, {:.1f} s the second".format(*seconds)
    if seconds[-1] > SLOW:
        raise Remark(took, "close other programs; on macOS and Windows, show long rows of launches on slides")
    return took


def jupyter():
    with jupyter_lab() as server:
        scripts = server.extensions()
        if missing := [name for name in EXTENSIONS if name not in scripts]:
            raise Trouble(f"JupyterLab lacks {', '.join(missing)}: widgets stand still", AGAIN)
        for name in EXTENSIONS:
            server.ask(scripts[name])
        look_at(server.run(CELL))
    return "JupyterLab starts, a cell runs, the widgets' scripts load"


def look_at(contents):
    """Of the messages of CELL: Trouble unless picture and widget are there."""
    for content in contents:
        if "ename" in content:
            way_out = f"jupyter kernelspec list says whose Python ran it; then {AGAIN}"
            raise Trouble(f"a cell fails: {content['ename']}: {content['evalue']}", way_out)
    kinds = {kind for content in contents for kind in content.get("data", {})}
    if missing := {WIDGET, PICTURE} - kinds:
        raise Trouble(f"a cell does not show {' and '.join(sorted(missing))}", AGAIN)


def notebooks(folder=NOTEBOOKS):
    way_out = "git checkout notebooks"
    if changed := edited(folder):
        raise Trouble(f"changed since they were committed: {', '.join(changed)}", way_out)
    for path in chapters(folder):
        notebook = nbformat.read(path, as_version=4)
        if not any(cell.get("outputs") for cell in notebook.cells):
            raise Trouble(f"{path.name} has no outputs, nothing to show if a launch fails", way_out)
    return f"{len(chapters(folder))} notebooks as committed, with outputs"


def chapters(folder=NOTEBOOKS):
    return sorted(folder.glob("[0-9]*.ipynb"))


def edited(folder):
    """The notebooks that git calls changed; none where there is no git."""
    if not shutil.which("git"):
        return []
    command = ["git", "status", "--porcelain", "--", "*.ipynb"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT).stdout
    return [line[3:] for line in said.splitlines()]


def guesses():
    off = "COURSE_PROGRESS=off make lab"
    if (kept := progress.path()) is None:
        return "guesses are not kept"
    if progress.events():
        raise Trouble(f"guesses of an earlier time will show, from {kept.name}", off)
    raise Remark(f"guesses will be kept in {kept.name}", off)


def slides(folder=ROOT / "slides"):
    newest = max(path.stat().st_mtime for path in chapters())
    for name in [*(path.stem for path in chapters()), "lecture-core"]:
        deck = folder / f"{name}.slides.html"
        if not deck.exists() or deck.stat().st_mtime < newest:
            state = "older than the notebooks" if deck.exists() else "missing"
            raise Trouble(
                f"{deck.name}, what you show if all else fails, is {state}", "make slides LECTURE=core"
            )
    return "slides as new as the notebooks"
