"""Speaker notes: under their headings, with minutes that leave no gap."""

import publish
import pytest
from lecture import LECTURE, two_hours
from nbformat.v4 import new_code_cell, new_markdown_cell
from speaker_notes import NotesError, heading_of, read, with_notes

from course_lib.course import chapters
from course_lib.quiz import load_questions

CELLS = [
    new_markdown_cell("# T"),
    new_markdown_cell("## A\n\nText."),
    new_code_cell("1"),
    new_markdown_cell("### B"),
    new_markdown_cell("## A"),
]


def noted(folder, text, cells=CELLS):
    (folder / "deck.md").write_text(text, encoding="utf-8")
    return [cell.source for cell in with_notes(cells, "deck", folder)]


def test_each_heading_gets_its_notes(tmp_path):
    sections = "## A\n\n*0–2 min.*\n\nSay.\n\n## B\n*2–3 min.*\n\n## A\n*3–9 min.*\nStop.\n"
    found = noted(tmp_path, f"# T\n\nBring cards.\n\n{sections}")
    opening, ending = ["# T", "Bring cards."], ["## A", "*3–9 min.*\nStop."]
    assert found == [*opening, "## A\n\nText.", "*0–2 min.*\n\nSay.", "1", "### B", "*2–3 min.*", *ending]


def test_a_deck_without_notes_is_as_it_is(tmp_path):
    assert with_notes(CELLS, "deck", tmp_path) == CELLS


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("## A\n*0–2 min.*\n", "first line"),
        ("# T\n\n## A\n\nSay.\n\n*0–2 min.*\n", "'A' does not begin"),
        ("# T\n\n## A\n*1–2 min.*\n", "'A' is at 1–2, not 0–"),
        ("# T\n\n## A\n*0–2 min.*\n\n## B\n*3–4 min.*\n", "'B' is at 3–4, not 2–"),
        ("# T\n\n## A\n*0–0 min.*\n", "'A' is at 0–0"),
        ("# T\n\n## C\n*0–2 min.*\n", "after 'its title' the deck has no heading 'C'"),
        ("# T\n\n## B\n*0–2 min.*\n\n## B\n*2–4 min.*\n", "after 'B' the deck has no heading 'B'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, complaint):
    with pytest.raises(NotesError, match=complaint):
        noted(tmp_path, text)


def shown(notebook):
    """The headings of the sections that a lecturer shows."""
    return [
        heading_of(cell)
        for cell in notebook.cells
        if cell.source.startswith("## ") and "core" in cell.metadata.get("tags", [])
    ]


@pytest.mark.parametrize("name", [chapter.notebook for chapter in chapters()])
def test_every_section_of_a_chapter_has_notes(name):
    notebook, (_, sections) = publish.stored(name), read(name)
    assert len(with_notes(notebook.cells, name)) >= len(notebook.cells) + len(sections)
    assert set(shown(notebook)) <= {section.heading for section in sections}


def test_the_two_hours_are_spoken_to_the_minute():
    headings = filter(None, map(heading_of, two_hours(publish.built()).cells))
    _, sections = read(LECTURE)
    assert list(headings) == [section.heading for section in sections]
    assert sections[-1].stop == 120


def test_the_lecturer_has_the_right_answers():
    _, sections = read(LECTURE)
    answers = [f"{each.id} {''.join(sorted(each.right))}" for each in load_questions()[:10]]
    (quiz,) = [section for section in sections if section.heading == "The article's ten"]
    assert " · ".join(answers) in quiz.text
