"""The thread through the chapters: links, progress at their ends, results, glossary, references, claims."""

import json
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from build import chapters, how_to_build, stale
from pages import (
    CLAIM,
    KINDS,
    VERDICTS,
    further_reading,
    ledger,
    parts,
    section_cells,
    shown,
    table,
    titles,
)
from thread import minutes

from course_lib import data, progress
from course_lib.course import chapter_progress
from course_lib.course import chapters as listed

LINK = re.compile(r"\]\(([^)\s]+?)(?:#[^)\s]*)?\)")
NOTEBOOKS = {chapter.name: nbformat.read(chapter.notebook, as_version=4) for chapter in chapters()}
TEXTS = {chapter.name: chapter.source.read_text(encoding="utf-8") for chapter in chapters()}
RESULTS, TERMS = table(data.path("results.csv")), table(data.path("glossary.csv"))
KEPT = json.loads((Path(__file__).parent / "data/identifiers-0.1.0.json").read_text(encoding="utf-8"))
RETIRED = KEPT["retired"]["predictions"]
NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?!\w)")
# Those that a reader would look for in vain among the headings of the core.
UNDER_DEEPER = {
    "4": "Deeper: what DDP divides by",
    "5": "Deeper: two bandwidths",
    "6": "Deeper: where the sine comes from",
    "7": "Deeper: a rank is killed",
}
every_chapter = pytest.mark.parametrize("name", NOTEBOOKS)


def test_pages_and_readme_are_what_the_chapters_and_data_give():
    assert not stale(), how_to_build()


# --- the chapters and their ends


def test_the_course_lists_twelve_chapters_and_no_other_has_a_source():
    names = [chapter.notebook for chapter in listed()]
    assert [name[:2] for name in names] == [f"{number:02}" for number in range(1, 13)]
    assert NOTEBOOKS.keys() <= set(names)


@every_chapter
def test_a_chapter_is_called_in_the_list_as_it_calls_itself(name):
    (chapter,) = (chapter for chapter in listed() if chapter.notebook == name)
    assert NOTEBOOKS[name].cells[0].source.startswith(f"# {chapter.number} · {chapter.title}")
    core, _ = minutes(NOTEBOOKS[name].cells)
    assert core <= 45


@every_chapter
def test_a_chapter_is_linked_with_its_neighbours_above_and_below(name):
    names = [chapter.notebook for chapter in listed()]
    place = names.index(name)
    wanted = {f"{each}.ipynb" for each in names[max(0, place - 1) : place + 2] if each != name}
    top, *_, shown, bottom = NOTEBOOKS[name].cells[1:]
    assert set(LINK.findall(top.source)) == wanted <= set(LINK.findall(bottom.source))
    assert "chapter_progress" in shown.source and shown.execution_count


@every_chapter
def test_keys_are_the_chapters_own_and_count_from_one(name):
    exercises = re.findall(r"^### Exercise (\S+) ", TEXTS[name], re.MULTILINE)
    asked = set(re.findall(r'predict\("([^"]+)"', TEXTS[name]))
    guesses = asked | {key for key in RETIRED if key.split(".")[0] == str(int(name[:2]))}
    wanted = [{f"{int(name[:2])}.{n}" for n in range(1, len(keys) + 1)} for keys in (exercises, guesses)]
    assert [set(exercises), guesses] == wanted


def test_the_end_of_a_chapter_shows_what_the_learner_has_done(tmp_path, monkeypatch):
    nothing = repr(chapter_progress(5, exercises=3, predictions=9))
    assert nothing.splitlines() == [
        "Chapter 5 has 3 exercises and 9 predictions. Run this cell to see how many of them are yours.",
        "Next: [6 · Synchronous and asynchronous](06_sync_vs_async.ipynb)",
    ]
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "mine.jsonl"))
    progress.note("solved", "5.2")
    progress.note("solved", "5.2")
    progress.note("solved", "10.2")
    progress.note("comparison", "5.1", value="c", measured="c")
    progress.note("comparison", "5.3", value=4, measured=1.3)
    progress.note("guess", "5.4", value=3)
    assert repr(chapter_progress(5, exercises=3, predictions=9)).splitlines() == [
        "Chapter 5: 1 of 3 exercises solved, 3 of 9 predictions made.",
        "Compared so far: 2, of which right or within a factor of 2: 1.",
        "Exercises left: 5.1, 5.3.",
        "Kept in the file mine.jsonl, on this machine only. You may delete it at any time.",
        "Next: [6 · Synchronous and asynchronous](06_sync_vs_async.ipynb)",
    ]
    assert "Next" not in repr(chapter_progress(12, exercises=1, predictions=0))


# --- results, glossary and references


def named(row):
    """The cells of the section that a row of results.csv or glossary.csv names."""
    (notebook,) = (each for name, each in NOTEBOOKS.items() if int(name[:2]) == int(row["chapter"]))
    cells = section_cells(notebook, row["section"])
    about = row.get("result") or row.get("term")
    assert cells, f"{about!r}: chapter {row['chapter']} has no heading {row['section']!r}"
    return cells


def numbers(text):
    return {float(number.replace(",", "")) for number in NUMBER.findall(text)}


@pytest.mark.parametrize("row", RESULTS, ids=lambda row: f"{row['chapter']} {row['result'][:40]}")
def test_a_result_is_shown_where_it_says(row):
    told = shown(named(row))
    assert told or row["kind"] != "measured", f"{row['result']!r}: no output in {row['section']!r}"
    missing = numbers(re.sub("`.*?`", "", row["result"])) - numbers(told)
    assert not missing, f"{row['result']!r}: {missing} in no output of {row['section']!r}"


def test_every_chapter_has_its_results():
    counts = Counter(row["chapter"] for row in RESULTS)
    assert list(counts) == [str(int(name[:2])) for name in NOTEBOOKS] and min(counts.values()) >= 3
    wrong = [
        row for row in RESULTS if row["kind"] not in KINDS or not re.fullmatch(r"[A-Z].*\.", row["result"])
    ]
    assert wrong == []
    assert len({row["result"] for row in RESULTS}) == len(RESULTS)
    assert UNDER_DEEPER.items() <= {(row["chapter"], row["section"]) for row in RESULTS}


def test_a_number_that_no_output_shows_is_found():
    row = {"chapter": "10", "section": "Six steps are a beginning", "kind": "measured"}
    test_a_result_is_shown_where_it_says(row | {"result": "401 times, after `1/7` of 69 steps of top-2."})
    with pytest.raises(AssertionError, match=r"402\.0\} in no output of 'Six steps"):
        test_a_result_is_shown_where_it_says(row | {"result": "402 times, by int8."})
    with pytest.raises(AssertionError, match="chapter 10 has no heading 'Seven steps'"):
        named(row | {"section": "Seven steps", "result": "Other."})


@pytest.mark.parametrize("row", TERMS, ids=lambda row: row["term"])
def test_a_term_occurs_in_its_section(row):
    cells = named(row)
    text = "\n".join([*(cell.source for cell in cells), shown(cells)]).lower()
    found = re.search(rf"(?<![a-z]){re.escape(row['term'].lower())}", text)
    assert found, f"glossary.csv: {row['term']!r} does not occur in {row['section']!r}"


def test_each_term_is_once_in_the_glossary():
    terms = [row["term"].lower() for row in TERMS]
    assert len(terms) >= 100 and terms == sorted(set(terms))
    sentence = re.compile(r"[A-Z\d].*\.")
    assert [row for row in TERMS if not row["chinese"] or not sentence.fullmatch(row["definition"])] == []


def test_no_reference_is_there_twice():
    rows = table(data.path("references.csv"))
    titles, links = (
        [part for row in rows for part in parts(row["title"])],
        [row["url"].lower() for row in rows],
    )
    counts = Counter(filter(None, titles)) + Counter(filter(None, links))
    assert [value for value, count in counts.items() if count > 1] == []
    assert all(row["authors"] and row["title"] and row["venue"] and row["what"] for row in rows)


@every_chapter
def test_what_a_chapter_recommends_is_among_the_references(name):
    known = set().union(*(parts(row["title"]) for row in table(data.path("references.csv"))))
    named = titles(further_reading(NOTEBOOKS[name]))
    assert named and not named - known


# --- the ledger of claims


def test_the_ledger_is_whole():
    claims, numbers = ledger(), {}
    for claim in claims:
        numbers.setdefault(claim.chapter, []).append(int(claim.id.split(".")[1]))
    assert [each for each in claims if each.verdict not in VERDICTS or not each.claim] == []
    assert [each for each in claims if not each.note and each.verdict != "holds"] == []
    assert [each for each in claims if each.verdict == "holds if" and not each.note.startswith("If ")] == []
    assert {int(name[:2]) for name in NOTEBOOKS} <= numbers.keys()
    assert numbers == {chapter: list(range(1, len(found) + 1)) for chapter, found in numbers.items()}


def test_each_claim_is_decided_by_one_cell_that_ran_and_each_tag_is_a_claim():
    tagged = {}
    for name, notebook in NOTEBOOKS.items():
        for cell in notebook.cells:
            for tag in filter(CLAIM.fullmatch, cell.metadata.get("tags", [])):
                tagged.setdefault(CLAIM.fullmatch(tag)[1], []).append((name, cell))
    there = {claim.id for claim in ledger()}
    assert tagged.keys() == there
    assert {claim: len(cells) for claim, cells in tagged.items()} == dict.fromkeys(there, 1)
    cells = {claim: cell for claim, [(_, cell)] in tagged.items()}
    ran = {claim for claim, cell in cells.items() if cell.get("execution_count") and cell.get("outputs")}
    failed = {claim for claim in ran if any(each.output_type == "error" for each in cells[claim].outputs)}
    assert ran - failed == there


@pytest.mark.parametrize(
    ("page", "count"), [("claims", len(ledger())), ("results", len(RESULTS)), ("glossary", len(TERMS))]
)
def test_links_of_the_pages_lead_to_headings(page, count):
    anchors = {
        f"{name}.ipynb": {
            heading.replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        }
        for name, text in TEXTS.items()
    }
    built = nbformat.read(chapters()[0].notebook.with_name(f"{page}.ipynb"), as_version=4)
    text = "\n".join(cell.source for cell in built.cells)
    links = re.findall(r"\]\((\S+?\.ipynb)#(.*?)\) \|$", text, re.MULTILINE)
    assert len(links) == count
    assert [link for link in links if link[1] not in anchors[link[0]]] == []
