"""What the files around the course promise one another."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEPENDENCIES = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]

TOP_LEVEL = set(
    """notebooks course_lib data tests environment.yml pyproject.toml constraints.txt Makefile
README.md CONTRIBUTING.md LICENSE conftest.py .ci .github .gitignore""".split()
)
# In pieces, or this file would find itself.
MACHINE_PATHS = re.compile("|".join("/" + path for path in ("work/", "root/", "tmp/w")))


def pins():
    """(requirement, pinned version) of each line of constraints.txt."""
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if text := line.split("#")[0].strip():
            requirement = Requirement(text)
            (exact,) = requirement.specifier
            assert exact.operator == "==", text
            yield requirement, exact.version


def git_files():
    """The files of the repository; new ones too, so that a breach shows before the commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in names.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("text", DEPENDENCIES)
def test_a_dependency_has_one_pin_in_its_range(text):
    wanted = Requirement(text)
    name = canonicalize_name(wanted.name)
    (version,) = [version for pin, version in pins() if canonicalize_name(pin.name) == name]
    assert wanted.specifier.contains(version)


def test_the_pins_hold_wherever_torch_comes_from():
    (version,) = [version for pin, version in pins() if pin.name == "torch"]
    assert "+" not in version


def test_conda_installs_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *conda, by_pip = environment["dependencies"]
    assert environment["name"] == "sync-sgd-course"
    assert conda == [f"python{PROJECT['requires-python']}", "pip"]
    assert by_pip == {"pip": ["-c constraints.txt", "-e .[test]"]}


def test_data_are_listed_with_origin_and_licence():
    text = (ROOT / "data/README.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([^`]+)` \|(.+)\|(.+)\|(.+)\|$", text, re.MULTILINE)
    there = {path.name + "/" * path.is_dir() for path in (ROOT / "data").iterdir()}
    assert {name for name, *_ in table} == there - {"README.md"}
    assert all(cell.strip() for row in table for cell in row)


def test_recordings_say_where_and_when():
    for path in (ROOT / "data/recorded").glob("*.json"):
        assert {"machine", "date"} <= json.loads(path.read_text(encoding="utf-8")).keys(), path.name


def test_no_file_knows_the_machine_of_its_author():
    found = [
        name
        for name in git_files()
        if MACHINE_PATHS.search((ROOT / name).read_bytes().decode("utf-8", "replace"))
    ]
    assert not found


def test_no_file_has_marks_of_a_merge():
    marks = re.compile(rb"^(<{7} |>{7} |={7}$)", re.MULTILINE)
    assert not [name for name in git_files() if marks.search((ROOT / name).read_bytes())]


def test_the_top_level_stays_small():
    assert {name.split("/")[0] for name in git_files()} <= TOP_LEVEL


def test_importing_the_library_is_cheap():
    script = "import course_lib, sys; print(*{'torch', 'matplotlib'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert not loaded.split()
