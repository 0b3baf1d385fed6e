"""What the files around the course promise one another."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import readme_picture
import rules
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEPENDENCIES = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]

TOP_LEVEL = set(
    """notebooks course_lib data tests environment.yml pyproject.toml constraints.txt Makefile
README.md CONTRIBUTING.md CHANGELOG.md CITATION.cff LICENSE conftest.py
.binder .ci .github .gitignore .pre-commit-config.yaml""".split()
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
    assert sorted(name for name, *_ in table) == sorted(there - {"README.md"})
    assert all(cell.strip() for row in table for cell in row)


def test_recordings_say_where_and_when(subtests):
    for path in (ROOT / "data/recorded").glob("*.json"):
        with subtests.test(path=path.name):
            assert {"machine", "date"} <= json.loads(path.read_text(encoding="utf-8")).keys()


def test_recordings_know_no_process_and_no_port(subtests):
    for path in [ROOT / "data/horovod.json", *(ROOT / "data/recorded").glob("*.json")]:
        with subtests.test(path=path.name):
            recording = json.loads(path.read_text(encoding="utf-8"))
            outputs = [output for cell in recording.get("cells", {}).values() for output in cell]
            words = [text for output in outputs for text in rules.texts(nbformat.from_dict(output))]
            if not outputs:
                words = [json.dumps(recording)]
            assert words and not [found for text in words for found in rules.machine_traces(text)]


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


# --- make, CI and what a visitor of the repository meets

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[1].split()
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[0-9]*.yml"))


GUIDES = ["README.md", "CONTRIBUTING.md", "notebooks/lecture/README.md"]


def named(text):
    """What is called by `make` in a text."""
    return set(re.findall(r"\bmake ([a-z][a-z.-]*[a-z])", text))


def steps(workflow):
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return [(job, step) for job in jobs.values() for step in job["steps"]]


def test_lab_finds_the_extension_for_alternative_texts():
    (folder,) = re.findall(r"--LabApp\.extra_labextensions_path=(\S+)", MAKEFILE)
    (package,) = (ROOT / folder).glob("*/package.json")
    about = json.loads(package.read_text(encoding="utf-8"))
    assert about["name"] == package.parent.name and about["version"] == PROJECT["version"]
    assert (package.parent / about["jupyterlab"]["_build"]["load"]).is_file()
    assert f"extra_labextensions_path={folder}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_each_target_is_in_the_help_and_in_the_guides():
    rules = re.findall(r"^([a-z][a-z.-]*):", MAKEFILE, re.MULTILINE)
    assert sorted(rules) == sorted([*TARGETS, "constraints-lowest.txt"])
    helped = named("\n".join(line for line in MAKEFILE.splitlines() if "@echo" in line))
    assert helped == set(rules) - {"help"}
    guides = [(ROOT / name).read_text(encoding="utf-8") for name in GUIDES]
    assert set(rules) <= named("\n".join(guides))


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_leads_to_what_is_there(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)) <= {*TARGETS, "constraints-lowest"}
    headings = {title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        path, _, anchor = link.partition("#")
        assert ((ROOT / name).parent / path).exists(), link
        assert path or anchor in headings, link


def test_the_readme_counts_the_hours_of_its_table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[.* \| (\d+) \+ (\d+) \|", text, re.MULTILINE)
    core = {int(chapter): int(minutes) / 60 for chapter, minutes, _ in rows}
    everything = sum(core.values()) + sum(int(minutes) for *_, minutes in rows) / 60
    assert len(core) == 12
    assert (
        f"{round(sum(core.values()))} hours; with" in text and f"skipped, {round(everything)} hours" in text
    )
    days = [[core[chapter] for chapter in day] for day in (range(1, 7), range(7, 13), (3, 5, 6), (7, 11, 12))]
    assert [round(4 * sum(day)) / 4 for day in days] == [4.5, 4.5, 2.25, 2.25]
    assert "4½ hours each" in text and "2¼ hours a day" in text


def test_what_the_readme_quotes_is_said():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {"This Python has no venv module", "The course needs Python 3.11 or newer"} <= {
        said for said in re.findall(r'^\| "([^"]+)"', text, re.MULTILINE) if said in MAKEFILE
    }


def test_the_readme_has_its_picture():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ((alt, path),) = re.findall(r"!\[(.+)\]\((.+\.png)\)", text)
    assert len(alt) > 80 and (ROOT / path).stat().st_size < 200_000
    assert ROOT / path == readme_picture.FILE


def test_binder_takes_a_python_of_the_course():
    runtime = (ROOT / ".binder/runtime.txt").read_text().strip()
    assert SpecifierSet(PROJECT["requires-python"]).contains(runtime.removeprefix("python-") + ".0")


def test_live_slides_are_pinned():
    lines = (ROOT / "notebooks/lecture/requirements-live-slides.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in lines if not line.startswith("#"))


def test_ci_covers_the_pythons_that_are_promised():
    pythons = {
        python
        for job, _ in steps(ROOT / ".github/workflows/ci.yml")
        for python in job.get("strategy", {}).get("matrix", {}).get("python", [])
    }
    minors = sorted(int(python.removeprefix("3.")) for python in pythons)
    wanted = SpecifierSet(PROJECT["requires-python"])
    assert minors == list(range(minors[0], minors[-1] + 1)) and minors[-1] >= 13
    assert wanted.contains(f"3.{minors[0]}.0") and not wanted.contains(f"3.{minors[0] - 1}.0")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_what_exists_and_has_a_limit(workflow):
    for job, step in steps(workflow):
        assert job["timeout-minutes"] <= 180
        command = step.get("run", "")
        assert named(command) <= set(TARGETS)
        for path in re.findall(r"\b(?:tests|notebooks|\.ci)/[\w./]+", command.replace("[0-9]*.ipynb", "")):
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_an_issue_form_is_one_that_github_shows(form):
    fields = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= fields.keys()
    ids = [field["id"] for field in fields["body"]]
    assert len(ids) == len(set(ids))
    kinds = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
    assert all(field["type"] in kinds and field["attributes"]["label"] for field in fields["body"])


def test_the_version_is_one_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["version"] == PROJECT["version"]
    assert " AND ".join(citation["license"]) == PROJECT["license"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[\d.]*)\]", changes, re.MULTILINE)
    assert released[0] == PROJECT["version"]


def test_hooks_use_the_tools_of_the_project():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = [repo["hooks"] for repo in config["repos"] if repo["repo"] == "local"]
    assert all(hook["entry"].startswith(".venv/bin/") for hook in local)


def test_importing_the_library_is_cheap():
    script = "import course_lib, sys; print(*{'torch', 'matplotlib'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert not loaded.split()
