"""Tracebacks and stacks of workers: the worker's own frames, with the text of its cell."""

import linecache
import re
import sys
import traceback
from pathlib import Path

LIBRARY = str(Path(__file__).parent)
FRAME = re.compile(r'  File "(?P<file>[^"]+)", line \d+ in (?P<function>.+)')
_labels = {}  # file name of a cell -> what to call it, "Cell In[3]"


def worker_traceback(error):
    """`error`'s traceback as text, without this library's frames around the worker's."""
    report = traceback.TracebackException.from_exception(error, lookup_lines=True)
    own = [not frame.filename.startswith(LIBRARY) for frame in report.stack]
    if not any(own):  # a call that did not even begin, say with too many arguments
        return "".join(report.format_exception_only()).rstrip()
    frames = report.stack[own.index(True) : len(own) - own[::-1].index(True)]
    report.stack = traceback.StackSummary.from_list(frames)
    for frame in report.stack:
        frame.filename = _labels.get(frame.filename, frame.filename)
    return "".join(report.format()).rstrip()


def worker_stacks(text, sources):
    """What faulthandler wrote of a rank, without the frames below the worker and threads that are ours."""
    threads = [thread for thread in text.strip().split("\n\n") if "in _leave_with_launcher" not in thread]
    return "\n\n".join(_worker_frames(thread, sources) for thread in threads)


def _worker_frames(thread, sources):
    """The frames of one thread, cells by their labels."""
    lines = []
    for line in thread.splitlines():
        frame = FRAME.match(line)
        if frame and frame["file"].startswith(LIBRARY) and frame["function"] == "_work":
            break
        if frame and frame["file"] in sources:
            line = line.replace(f'"{frame["file"]}"', sources[frame["file"]][0])
        lines.append(line)
    return "\n".join(lines)


def cell_sources():
    """Text of the notebook cells that have run: {file name: (label, lines)}; empty outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return {}
    sources = {}
    for name, entry in list(linecache.cache.items()):
        label = shell.compile.format_code_name(name)
        if label and len(entry) == 4:
            sources[name] = (" ".join(label), entry[2])
    return sources


def add_sources(sources):
    """Make cells known to this process, so that a traceback shows their lines."""
    for name, (label, lines) in sources.items():
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
        _labels[name] = label
