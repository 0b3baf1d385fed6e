"""Do the tests notice? Each mutation of mutations.toml in turn, in a copy of the repository.

    python tests/mutations/run.py [NAME ...] [--list] [--coverage FILE] [--minutes 60]

First come the tests that `make coverage` has seen run the changed lines, then the files whose processes do,
then the rest of what `make test` runs. A failure counts if the test passes without the mutation and fails
once more with it. mutmut and cosmic-ray make thousands of mutations by rule; these forty were chosen by hand.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
from coverage import CoverageData
from mutation import ROOT, NoLongerApplies, load

MOST = 40  # tests to begin with: those that run least else of the library than the module's package
TESTS_LIMIT, FILES_LIMIT, REST_LIMIT = 600, 1200, 2400  # seconds; a run that takes longer hangs
OPTIONS = ("-x", "-q", "-m", "not slow", "--nbval", "--nbval-current-env")
AT_FIRST = 6  # files to go on with: those of which the same holds
WORKERS = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")  # as in the Makefile
# Chapters first: of what they run, coverage sees the ranks only, for nbval kills its kernels.
FILES = ("notebooks/[0-9]*.ipynb", "tests/test_*.py", "tests/browser/test_*.py")
OURS = "tests/test_mutations.py"  # of no use here: a mutation that has been applied no longer applies
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: who loses its parent becomes our child


class TimeIsUp(Exception):
    """Of the whole run, not of one test's."""


class Reach:
    """Which tests run which lines: contexts "file|module.test"; "file" is of its other processes."""

    def __init__(self, file):
        self._data = CoverageData(str(file))
        self._data.read()
        self._lines = Counter()  # (context, folder of the library) -> how many of its lines it runs
        for measured in self._data.measured_files():
            for contexts in self._data.contexts_by_lineno(measured).values():
                whole = {*contexts, *(context.partition("|")[0] for context in contexts)}
                self._lines.update((context, Path(measured).parent.name) for context in whole)
        self._all = Counter()  # context -> how many lines it runs
        for (context, _), lines in self._lines.items():
            self._all[context] += lines

    def contexts(self, path, lines):
        """Those that run one of `lines` of the module at `path`, the likeliest to be about it first.

        Each launch runs the launcher; a test of the launcher runs little else.
        """
        found = set()
        for measured in self._data.measured_files():
            if f"/{measured}".endswith(f"/{path}"):
                by_line = self._data.contexts_by_lineno(measured)
                found.update(*(by_line.get(line, ()) for line in lines))
        folder = Path(path).parent.name
        share = {context: self._lines[context, folder] / self._all[context] for context in found}
        return sorted(found, key=lambda context: (-share[context], self._all[context], context))


class Copy:
    """The repository's files as git knows them and as they are now, and what pytest says of them."""

    def __init__(self, folder, minutes):
        self._folder, self.root = Path(folder), Path(folder, "copy")
        self._end = time.monotonic() + 60 * minutes
        self._shaky = []  # tests that fail without any mutation, too
        subprocess.run(["git", "clone", "-q", ROOT, self.root], check=True)
        changed = ["git", "diff", "--name-only", "--no-renames", "-z", "HEAD"]
        names = subprocess.run(changed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, names.split("\0")):
            (self.root / name).unlink(missing_ok=True)
            if (ROOT / name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        found = [path for pattern in FILES for path in sorted(self.root.glob(pattern))]
        self.files = [str(path.relative_to(self.root)) for path in found if not path.match(OURS)]
        self._environment = self._make_environment()

    def _make_environment(self):
        """What pytest is to see, and all that it starts: first of all this copy's library."""
        own = ("PYTEST_", "COVERAGE_", "COURSE_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        path = filter(None, [str(self.root), environment.get("PYTHONPATH")])
        temporary = self._folder / "tmp"
        temporary.mkdir()
        environment |= {"PYTHONPATH": os.pathsep.join(path), "TMPDIR": str(temporary)}
        asked = [sys.executable, "-c", "import course_lib; print(course_lib.__file__)"]
        options = {"cwd": temporary, "env": environment, "capture_output": True, "text": True}
        library = Path(subprocess.run(asked, check=True, **options).stdout.strip())
        if self.root not in library.parents:
            raise SystemExit(f"the tests would import {library}, not the copy in {self.root}")
        return environment

    def test_of(self, context):
        """The id of a context's test; None for one of whole files, or that is only called like a test."""
        file, _, name = context.partition("|")
        _, here, test = name.rpartition(f"{Path(file).stem}.")
        definition = rf"^ *def {test.rpartition('.')[2]}\("
        if here and file in self.files and re.search(definition, self._text(file), re.MULTILINE):
            return f"{file}::{test.replace('.', '::')}"
        return None

    def noticed_by(self, mutation, runs):
        """The id of the first test that fails for the mutation, or how its run ended; None if all pass."""
        before = self._text(mutation.path)
        for limit, arguments in runs:
            while failed := self._with(mutation, before, arguments, limit):
                file = failed.partition("::")[0]
                test = file if file.endswith(".ipynb") else failed  # a cell needs those before it
                if file not in self.files:
                    return failed  # hung, or crashed
                without = self._first_failure([test], limit)
                # What does not run the changed lines may have failed by chance: it must fail again.
                if not without and (test in arguments or self._with(mutation, before, [test], limit)):
                    return failed
                self._shaky.append(test)
                print(
                    f"  not counted: {test}, {'which fails without it, too' if without else 'by chance'}",
                    flush=True,
                )
        return None

    def _with(self, mutation, before, arguments, limit):
        module = self.root / mutation.path
        module.write_text(mutation.applied(before), encoding="utf-8")
        try:
            return self._first_failure(arguments, limit)
        finally:
            module.write_text(before, encoding="utf-8")

    def _first_failure(self, arguments, limit):
        """The id of the first test that fails, or how pytest ended; None if all pass."""
        cache, output = self._folder / "cache", self._folder / "output.txt"
        shutil.rmtree(cache, ignore_errors=True)
        without = [f"--deselect={test}" for test in self._shaky]
        command = [sys.executable, "-m", "pytest", *OPTIONS, "-o", f"cache_dir={cache}", *without, *arguments]
        left = self._end - time.monotonic()
        with open(output, "w") as file:
            place = {"cwd": self.root, "env": self._environment, "start_new_session": True}
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, **place)
            try:
                code = process.wait(max(0, min(limit, left)))
            except subprocess.TimeoutExpired:
                if left < limit:
                    raise TimeIsUp from None
                return f"hung for {limit} s"
            finally:
                _kill_all(process.pid)
        if code in (3, 4):
            raise SystemExit(f"pytest could not run:\n{output.read_text(errors='replace')[-3000:]}")
        if code in (0, 5):  # all passed, none was left to run
            return None
        failures = cache / "v" / "cache" / "lastfailed"
        return next(iter(json.loads(failures.read_text()))) if failures.exists() else f"crashed with {code}"

    def _text(self, name):
        return (self.root / name).read_text(encoding="utf-8")


def _kill_all(group):
    """End what a run has left behind, in its process group and, on Linux, wherever else."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    left = psutil.Process().children(recursive=True)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=5)


def plan(mutation, reach, copy):
    """(seconds, pytest's arguments) of each run: what is cheap, and likely to notice, first."""
    text = (copy.root / mutation.path).read_text(encoding="utf-8")
    contexts = reach.contexts(mutation.path, mutation.lines(text))
    if not any("|" in context for context in contexts):  # a default, say, is run by whoever imports it
        contexts += reach.contexts(mutation.path, mutation.function_lines(text))
    tests = list(dict.fromkeys(test for context in contexts if (test := copy.test_of(context))))[:MOST]
    order = [test.partition("::")[0] for test in tests]
    tests.sort(key=lambda test: order.index(test.partition("::")[0]))  # one file's together
    files = [file for file in dict.fromkeys(contexts) if file in copy.files]
    package = Path(mutation.path).parts[1]  # of JavaScript, coverage sees nothing
    rest = [file for file in copy.files if file not in files]
    rest.sort(key=lambda file: package not in Path(file).name)
    runs = (TESTS_LIMIT, tests), (FILES_LIMIT, files[:AT_FIRST]), (REST_LIMIT, files[AT_FIRST:] + rest)
    return [(limit, [*(WORKERS if names is not tests else ()), *names]) for limit, names in runs if names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help="of mutations; all if none is given")
    parser.add_argument("--list", action="store_true", help="only tell what there is")
    parser.add_argument("--coverage", metavar="FILE", type=Path, default=ROOT / ".coverage")
    parser.add_argument("--minutes", type=float, default=60, help="for all of it")
    options = parser.parse_args()
    known = {mutation.name: mutation for mutation in load()}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no mutation {', '.join(unknown)}; --list names all")
    chosen = [known[name] for name in options.names or known]
    if options.list:
        for each in chosen:
            print(f"{each.name}: {each.path}, {each.function}: {each.harm}")
        return 0
    return 0 if _try_all(chosen, options.coverage, options.minutes) else 1


def _try_all(chosen, coverage, minutes):
    """Tell of each mutation who notices it; True if all are noticed."""
    if not coverage.exists():
        print(f"there is no {coverage}: nothing is known of who runs what, so everything runs each time")
    if hasattr(libc := ctypes.CDLL(None), "prctl"):
        libc.prctl(SUBREAPER, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # nothing of ours stays
    reach, caught = Reach(coverage), 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Copy(Path(folder).resolve(), minutes)
        plans = [(mutation, plan(mutation, reach, copy)) for mutation in chosen]
        for mutation, runs in plans:
            begin = time.monotonic()
            try:
                found = copy.noticed_by(mutation, runs)
            except TimeIsUp:
                print(
                    f"{minutes:g} minutes are up: {mutation.name} and what follows is not known", flush=True
                )
                break
            told = f"caught by {found}" if found else "SURVIVED"
            print(f"{mutation.name}: {told} ({time.monotonic() - begin:.0f} s)", flush=True)
            caught += bool(found)
    print(f"{caught} of {len(chosen)} caught")
    return caught == len(chosen)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NoLongerApplies as error:
        sys.exit(str(error))
