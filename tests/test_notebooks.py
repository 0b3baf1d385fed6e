"""The stored notebooks are what their sources give, and keep the rules. Only nbval executes them."""

import nbformat
import pytest
from build import chapters, differences, how_to_build, orphans
from rules import violations

every_chapter = pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)


@every_chapter
def test_is_what_its_source_gives(chapter):
    found = differences(chapter.source)
    assert not found, "\n".join([*found, how_to_build([chapter.number])])


@every_chapter
def test_keeps_the_rules(chapter):
    found = violations(nbformat.read(chapter.notebook, as_version=4))
    assert not found, "\n".join(found)


def test_every_notebook_has_a_source():
    assert orphans() == []
