"""Whose answer a check has accepted: the learner's, or that of the notebook's own solution cell.

A notebook that runs from top to bottom passes every check with its folded solutions. Only an answer that was
made in some other cell counts. Cells are told apart by their text, whichever program sent them.
"""

import ast
import json
from contextlib import suppress
from functools import wraps
from symtable import symtable

from course_lib import data, progress


def exercise(key):
    """Make a check, a function that returns a Report, note in the learner's progress what it accepts."""

    def decorate(check):
        check.exercise = key

        @wraps(check)
        def noting(*answers, **options):
            report = check(*answers, **options)
            if report.passed and progress.path() and key not in progress.solved():
                if is_own(check.__name__, key, executed_cells()):
                    progress.note("solved", key)
            return report

        return noting

    return decorate


def executed_cells():
    """The texts of the cells that the kernel has executed, this one last; none outside of a notebook."""
    with suppress(ImportError):
        from IPython import get_ipython

        if shell := get_ipython():
            return [cell.strip() for cell in shell.history_manager.input_hist_parsed]
    return []


def is_own(check, key, cells):
    """Was what the last cell hands to `check` made in other cells than the chapter's solutions?

    False if that cannot be told: outside of a notebook, or if the chapter's notebook is not there.
    """
    stored = solutions(key.split(".")[0])
    calls = _calls(check, cells[-1]) if cells else []
    if not calls or not stored:
        return False
    return stored.isdisjoint(_last_to_bind(name, cells) for name in _handed_to(calls))


def solutions(chapter):
    """The texts of a chapter's solution cells, as its notebook has them now."""
    found = set()
    for path in (data.FOLDER.parent / "notebooks").glob(f"{int(chapter):02}_*.ipynb"):
        with suppress(OSError, ValueError, KeyError, TypeError):  # just being saved, say
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            tagged = [cell for cell in cells if "solution" in cell["metadata"].get("tags", [])]
            found |= {"".join(cell["source"]).strip() for cell in tagged}
    return found


def _calls(check, cell):
    """The calls of `check`, as syntax trees; also within a magic such as %time, whose line is a string."""
    try:
        nodes = list(ast.walk(ast.parse(cell)))
    except SyntaxError:  # of another cell, when this one left no trace in the history
        return []
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = [
        node
        for node in nodes
        if isinstance(node, ast.Call)
        and check in (getattr(node.func, "id", None), getattr(node.func, "attr", None))
    ]
    return sum((_calls(check, text) for text in texts if check in text), found)


def _handed_to(calls):
    """The names in the arguments of these calls."""
    return {
        node.id
        for call in calls
        for argument in [*call.args, *call.keywords]
        for node in ast.walk(argument)
        if isinstance(node, ast.Name)
    }


def _last_to_bind(name, cells):
    """The last cell that gave the global `name` a value; None if none did."""
    return next((cell for cell in reversed(cells) if name in _bound(cell)), None)


def _bound(cell):
    try:
        symbols = symtable(cell, "cell", "exec").get_symbols()
    except SyntaxError:  # a cell that failed has bound nothing
        return set()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned()}
