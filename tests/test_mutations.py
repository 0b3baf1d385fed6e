"""The mutations of tests/mutations still apply: forty small, valid changes, in every part of the library."""

import ast
import shutil
import subprocess
from pathlib import PurePath

import pytest
from mutations.mutation import ROOT, NoLongerApplies, load

MUTATIONS = load()


def test_there_are_forty_of_different_names():
    assert len(MUTATIONS) == len({each.name for each in MUTATIONS}) == 40


def test_every_package_has_one():
    packages = {path.parent.relative_to(ROOT) for path in (ROOT / "course_lib").rglob("__init__.py")}
    assert packages <= {parent for each in MUTATIONS for parent in PurePath(each.path).parents}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[each.name for each in MUTATIONS])
def test_it_applies_and_leaves_a_valid_module(mutation, tmp_path):
    before = (ROOT / mutation.path).read_text(encoding="utf-8")
    after = mutation.applied(before)
    assert after != before
    if mutation.path.endswith(".py"):
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before))
    elif node := shutil.which("node"):
        module = tmp_path / "mutated.mjs"
        module.write_text(after, encoding="utf-8")
        subprocess.run([node, "--check", module], check=True)


def test_what_has_changed_no_longer_applies():
    mutation = MUTATIONS[0]
    before = (ROOT / mutation.path).read_text(encoding="utf-8")
    for text in ("", before.replace(mutation.old, "0"), mutation.applied(before)):
        with pytest.raises(NoLongerApplies, match=mutation.name):
            mutation.applied(text)
