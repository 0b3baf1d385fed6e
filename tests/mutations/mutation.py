"""The mutations of mutations.toml: where each stands in the library, and what it makes of its module."""

import ast
import re
import tomllib
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class NoLongerApplies(Exception):
    """The library has changed: what a mutation replaces is not there, or there more than once."""


@dataclass(frozen=True)
class Mutation:
    """`old` of `function`, in the module at `path`, becomes `new`; harm: what a learner would suffer from."""

    name: str
    path: str
    function: str
    old: str
    new: str
    harm: str

    def applied(self, text):
        """The module's text with the mutation."""
        start = self._start(text)
        return text[:start] + self.new + text[start + len(self.old) :]

    def lines(self, text):
        """The numbers of the lines that change, from 1."""
        start = self._start(text)
        last = start + len(self.old.rstrip("\n"))
        return range(text.count("\n", 0, start) + 1, text.count("\n", 0, last) + 2)

    def function_lines(self, text):
        """The numbers of the lines of `function`, from 1."""
        find = _in_script if self.path.endswith(".js") else _in_python
        lines = find(text, self.function)
        if lines is None:
            raise NoLongerApplies(f"no longer applies: {self.name} ({self.path} has no {self.function})")
        return lines

    def _start(self, text):
        lines = self.function_lines(text)
        starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
        within = starts[lines.start - 1], starts[lines.stop - 1]
        if (count := text.count(self.old, *within)) != 1:
            where = f"{self.old.strip()!r} occurs {count} times in {self.function} of {self.path}"
            raise NoLongerApplies(f"no longer applies: {self.name} ({where})")
        return text.index(self.old, *within)


def load():
    """All mutations, in the file's order."""
    stored = tomllib.loads(Path(__file__).with_name("mutations.toml").read_text(encoding="utf-8"))
    return [Mutation(**each) for each in stored["mutation"]]


def _in_python(text, name):
    """The lines of a function or class by its qualified name; None unless there is just one."""
    found = [ast.parse(text)]
    for part in name.split("."):
        found = [node for parent in found for node in parent.body if getattr(node, "name", None) == part]
    return range(found[0].lineno, found[0].end_lineno + 1) if len(found) == 1 else None


def _in_script(text, name):
    """The same in JavaScript as laid out here: a definition ends on its own line, or at its brace."""
    lines = text.splitlines()
    definition = re.compile(rf"( *)(?:export )?(?:function|const) {name}\b")
    found = [(number, match) for number, line in enumerate(lines, 1) if (match := definition.match(line))]
    if len(found) != 1:
        return None
    start, indent = found[0][0], found[0][1][1]
    if lines[start - 1].endswith(";"):
        return range(start, start + 1)
    stop = next(number for number in range(start, len(lines)) if lines[number].startswith(f"{indent}}}"))
    return range(start, stop + 2)
