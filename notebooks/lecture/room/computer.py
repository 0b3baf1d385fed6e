"""The room's machine, without the course."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
import webbrowser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
from packaging.requirements import Requirement

from room import Remark, Trouble
from room.lab_server import ROOT, lab

GB = 1e9
MEMORY, DISK = 2, 1  # GB that are wanted
LIMIT = 60  # seconds


def python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = Requirement(f"python{project['requires-python']}").specifier
    here = ".".join(map(str, sys.version_info[:3]))
    if here not in wanted:
        raise Trouble(
            f"Python {here}; the course needs {wanted}", "make clean, make PYTHON=python3.12 install"
        )
    return f"Python {here}"


def versions():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(text) for line in lines if (text := line.split("#")[0].strip())]
    there = {pin: found for pin in pins if (found := installed(pin.name))}
    if other := [f"{pin.name} {found}" for pin, found in there.items() if found not in pin.specifier]:
        raise Remark(
            f"other versions than were tested: {', '.join(other[:5])}",
            "after the lecture: make clean, make install",
        )
    return f"{len(there)} packages in the versions that were tested"


def installed(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cores():
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if count < 2:
        raise Trouble("one core: every launch drags", "show them on slides: make slides LECTURE=core")
    busy = psutil.cpu_percent(interval=1)
    if busy > 50:
        raise Remark(f"{count} cores, {busy:.0f} % busy: measured times will be off", "close other programs")
    return f"{count} cores, {busy:.0f} % busy"


def memory():
    free = psutil.virtual_memory().available / GB
    if free < MEMORY:
        raise Trouble(f"{free:.1f} GB of memory free, {MEMORY} are wanted", "close programs, stop kernels")
    return f"{free:.1f} GB of memory free"


def disk():
    for folder in (ROOT, Path(tempfile.gettempdir())):
        free = shutil.disk_usage(folder).free / GB
        if free < DISK:
            raise Trouble(f"{free:.1f} GB free for {folder}, {DISK} is wanted", "make room, or set TMPDIR")
    return f"more than {DISK} GB of disk free"


def loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        try:
            socket.create_connection(server.getsockname(), timeout=5).close()
        except OSError as error:
            way_out = "let the firewall allow 127.0.0.1"
            raise Trouble(f"this machine does not reach its own ports: {error}", way_out) from error
    return "this machine reaches its own ports"


def fonts():
    """The first import builds the cache; only what the second says would be seen in the room."""
    command = [sys.executable, "-c", "import matplotlib.pyplot"]
    said = [subprocess.run(command, capture_output=True, text=True, timeout=LIMIT).stderr for _ in range(2)]
    if said[-1]:
        first_line = said[-1].splitlines()[0]
        raise Trouble(f"matplotlib says: {first_line}", "set MPLCONFIGDIR to a folder that can be written")
    return "matplotlib has its fonts cached"


def browser():
    try:
        return f"a browser: {webbrowser.get().name}"
    except webbrowser.Error:
        if found := lab.find_browser():
            return f"a browser: {Path(found).name}"
    raise Remark("no browser was found, so none will open", "open the address that make lab prints in yours")
