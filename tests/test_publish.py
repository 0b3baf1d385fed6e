"""The offline site and the slides: nothing comes from elsewhere, links lead somewhere, pictures speak."""

import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote

import publish
import pytest
from build import code_cells
from lecture import tagged, two_hours
from nbformat.v4 import new_code_cell, new_output
from pygments.styles import get_style_by_name
from rendering import MarkdownWithMath, Renderer

from course_lib import widgets
from course_lib.pictures.style import contrast

# What a browser fetches by itself; a link that a reader follows may lead out.
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}
STYLE_URL = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


class Page(HTMLParser):
    """What a page loads, where it links to, which ids it has, and its pictures' alt texts."""

    def __init__(self, path):
        super().__init__()
        self.path, self.loads, self.links, self.ids, self.alts = path, [], [], [], []
        self.html = {}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        about = dict(attributes)
        self.ids += [about["id"]] if "id" in about else []
        if address := about.get(LOADING.get(tag)):
            self.loads.append(address)
        if tag == "a":
            self.links.append(about["href"])
        if tag == "img":
            self.alts.append(about.get("alt", ""))
        if tag in ("html", "meta"):
            self.html[about.get("name", tag)] = about.get("content", about.get("lang"))


@pytest.fixture(scope="module")
def pages(published):
    return [Page(path) for path in sorted(published.rglob("*.html"))]


def test_all_are_there(pages):
    names = {page.path.name for page in pages}
    chapters = list(publish.built())
    assert {f"{name}.html" for name in [*chapters, *publish.PAGES, "index"]} <= names
    assert {f"{name}.slides.html" for name in [*chapters, "lecture-core"]} <= names


def outside(address):
    return re.match(r"(?!data:)[\w+.-]+:|//", address)


def is_here(path, address):
    """Whether what the file at `path` loads is in itself or beside it."""
    return not outside(address) and (address.startswith("data:") or (path.parent / address).is_file())


def test_nothing_is_loaded_from_elsewhere(published, pages):
    loads = {page.path: page.loads for page in pages}
    assert all(loads.values())
    for path in published.rglob("*.css"):
        loads[path] = filter(None, sum(STYLE_URL.findall(path.read_text(encoding="utf-8")), ()))
    wrong = [(path.name, each) for path, all_ in loads.items() for each in all_ if not is_here(path, each)]
    assert wrong == []


def test_every_link_between_pages_leads_somewhere(pages):
    known = {page.path: set(page.ids) for page in pages}

    def leads(page, link):
        file, _, anchor = link.partition("#")
        ids = known.get(page.path.parent / file if file else page.path, set())
        return unquote(anchor).removeprefix("/") in ids if anchor else bool(ids)

    inner = [(page, link) for page in pages for link in page.links if not outside(link)]
    assert len(inner) > 500
    assert [(page.path.name, link) for page, link in inner if not leads(page, link)] == []


def test_every_picture_has_an_alt_text(pages):
    alts = [(page.path.name, alt) for page in pages for alt in page.alts]
    assert len(alts) > 150
    missing = "No description"  # nbconvert's own words
    assert not [name for name, alt in alts if len(alt) < 40 or alt.startswith(missing)]


def test_pages_say_what_they_are(pages, subtests):
    for page in pages:
        with subtests.test(msg=page.path.name):
            assert page.html["html"] == "en"
            assert page.html["viewport"] and 40 <= len(page.html["description"]) <= 200


def test_a_search_engine_shows_what_a_chapter_is_about(subtests):
    titles = publish.titles()
    for name in publish.built():
        with subtests.test(msg=name):
            about, _, course = titles[name]["title"].partition(" — ")
            assert 40 <= len(about) <= 65 and course == publish.COURSE


@pytest.mark.parametrize("kind", ["site", "slides"])
def test_titles_differ(published, kind):
    texts = [path.read_text(encoding="utf-8") for path in (published / kind).glob("*.html")]
    titles = [re.search(r"<title>(.+?)</title>", text)[1] for text in texts]
    assert len(set(titles)) == len(titles)


CHAPTERS = [path.stem for path in sorted(publish.NOTEBOOKS.glob("[0-9]*.ipynb"))]
every_chapter = pytest.mark.parametrize("name", CHAPTERS)


@pytest.fixture(scope="module")
def notebooks():
    return publish.built()


@every_chapter
def test_solutions_are_folded_and_stubs_are_not(published, notebooks, name):
    notebook = notebooks[name]
    text = (published / "site" / f"{name}.html").read_text(encoding="utf-8")
    solutions = [cell for cell in notebook.cells if "solution" in cell.metadata.get("tags", [])]
    assert text.count('<details class="solution">') == len(solutions) > 0
    unfolded = re.sub(r'<details class="solution">.*?</details>', "", text, flags=re.DOTALL)
    seen = unescape(re.sub(r"<[^>]+>", "", unfolded))
    stubs = [cell for cell in notebook.cells if "stub" in cell.metadata.get("tags", [])]
    assert all(stub.source in seen for stub in stubs)
    assert not any(solution.source in seen for solution in solutions)


def markdown(source):
    return MarkdownWithMath(renderer=Renderer({"a": "a.html"}, "#", Counter())).render(source)


def test_links_lead_to_the_pages():
    assert 'href="a.html"' in markdown("[x](a.ipynb)") and 'href="a.html"' in markdown(
        "[x](notebooks/a.ipynb)"
    )
    assert 'href="a.html#A-b"' in markdown("[x](a.ipynb#A-b)")
    assert "<a" not in markdown("[x](b.ipynb)") and ">x<" in markdown("[x](b.ipynb)")
    assert 'href="https://a.org/a.ipynb"' in markdown("[x](https://a.org/a.ipynb)")


def test_a_repeated_heading_has_an_id_of_its_own():
    assert re.findall('id="(.+?)"', markdown("## A b\n\n## C\n\n## A b")) == ["A-b", "C", "A-b-2"]


def test_formulas_are_marked():
    assert '<span class="math">a &lt; b</span>' in markdown("If $a < b$, then")
    assert '<span class="math display">' in markdown("$$\na\n$$")


def test_notes_are_kept_for_the_speaker(tmp_path):
    cells = [publish.new_markdown_cell(text) for text in ("# Title", "Say it slowly.", "Not shown")]
    for cell, kind in zip(cells, ("slide", "notes", "skip"), strict=True):
        cell.metadata.slideshow = {"slide_type": kind}
    exporter = publish.Decks(template_file=str(publish.WEB / "deck.html.j2"))
    about = {"title": "T", "description": "D", "font": 1.5}
    publish.write(exporter, publish.new_notebook(cells=cells), about, tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    assert re.search(r'<aside class="notes">.*Say it slowly', text) and "Not shown" not in text
    assert "--font: 1.5" in text


def test_the_two_hours_are_a_plan_what_is_tagged_and_what_to_keep():
    notebooks = publish.built()
    plan, *path, last = two_hours(notebooks).cells
    assert [cell.id for cell in path] == [cell.id for each in notebooks.values() for cell in tagged(each)]
    titles = [each.cells[0].source.splitlines()[0][2:] for each in notebooks.values() if tagged(each)]
    titles.append(last.source.splitlines()[0].removeprefix("## "))
    assert [title for title in titles if title not in plan.source] == [] and len(titles) > 6
    assert last.metadata.slideshow.slide_type == "slide"


@pytest.mark.parametrize("name", [*CHAPTERS, publish.LECTURE])
def test_every_measurement_that_a_deck_shows_has_its_recording(published, notebooks, name):
    notebook = two_hours(publish.built()) if name == publish.LECTURE else notebooks[name]
    live = code_cells(notebook, "live")
    for cell in live:
        *recorded, caption = cell.outputs
        assert recorded and caption.data["text/markdown"].startswith("*Recorded on ")
    text = (published / "slides" / f"{name}.slides.html").read_text(encoding="utf-8")
    assert text.count("<em>Recorded on ") == len(live)


def test_an_id_is_on_one_element(pages):
    twice = [
        (page.path.name, each) for page in pages for each, count in Counter(page.ids).items() if count > 1
    ]
    assert twice == []


@every_chapter
def test_a_question_is_shown_with_its_choices(published, notebooks, name, subtests):
    asked = [cell.metadata.question for cell in notebooks[name].cells if "question" in cell.metadata]
    for path in (published / "site" / f"{name}.html", published / "slides" / f"{name}.slides.html"):
        with subtests.test(path=path.name):
            cards = re.findall(r'<div class="question">(.*?)</div>', path.read_text("utf-8"), re.DOTALL)
            assert [card.count("<li>") for card in cards] == [len(each.choices) for each in asked]
            assert all(each.key in card for each, card in zip(asked, cards, strict=True))
            assert "You made no guess" not in path.read_text("utf-8")


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.md").write_text("Years of work.")
    with pytest.raises(SystemExit, match="holds other things"):
        publish.fresh(tmp_path, [], [])
    assert (tmp_path / "thesis.md").exists()


@pytest.mark.parametrize("font", ["0", "9", "large"])
def test_letters_of_no_size_are_refused(font, capsys):
    with pytest.raises(SystemExit):
        publish.main(["slides", "--font", font])
    assert font in capsys.readouterr().err


def test_a_question_moves_to_its_cell_and_nobody_is_not_mentioned():
    told = publish.new_markdown_cell(
        "Four ranks.\n\n**Predict.** Which? **a** one · **b** two.\nCommit to a letter."
    )
    asked = new_code_cell('g = predict("1.1", choices="ab")\ng', metadata={"tags": ["predict"]})
    answer = new_output("execute_result", {"text/plain": "You made no guess. The answer is b."})
    compared = new_code_cell('g.compare("b")', outputs=[answer])
    cells = publish.with_questions([told, asked, compared])
    assert cells[0].source == "Four ranks."
    question = {"key": "1.1", "text": "**Predict.** Which?", "choices": {"a": "one", "b": "two"}, "unit": ""}
    assert cells[1].metadata.question == question
    assert cells[2].outputs[0].data["text/plain"] == "The answer is b."


@pytest.mark.parametrize("theme", publish.CODE_STYLES)
def test_code_is_legible(theme):
    css = (publish.WEB / "style.css").read_text(encoding="utf-8")
    paper = dict(zip(("light", "dark"), re.findall(r"--code: (#\w{6})", css), strict=True))[theme]
    style = get_style_by_name(publish.CODE_STYLES[theme])
    colours = {f"#{look['color']}" for _, look in style if look["color"]}
    assert len(colours) > 3
    assert [colour for colour in sorted(colours) if contrast(colour, paper) < 4.5] == []


WIDGETS = set(widgets.__all__) - {"quiz"}  # which has words only
WIDGET = re.compile(rf"(?<![\w.])({'|'.join(WIDGETS)})\(")


def test_what_a_widget_shows_stays(published):  # C27
    """Its picture and its words are stored, and the site shows them."""
    stills = 0
    for name, notebook in publish.built().items():
        path = published / "site" / f"{name}.html"
        text, alts = path.read_text(encoding="utf-8"), Page(path).alts
        for cell in code_cells(notebook):
            if not WIDGET.search(cell.source) or ".compare(" in cell.source:
                continue
            (output,) = [each for each in cell.outputs if "image/png" in each.get("data", {})]
            alt = output.metadata["image/png"]["alt"]
            assert alt in alts and alt in output.data["text/plain"]
            assert output.data["image/png"].strip() in text
            stills += 1
    assert stills >= 12
