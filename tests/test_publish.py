"""The offline site and the slides: nothing comes from elsewhere, links lead somewhere, pictures speak."""

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote

import publish
import pytest
from build import WIDGET_VIEW

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
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    publish.html(folder / "site")
    publish.slides(folder / "slides", lecture="core")
    return folder


@pytest.fixture(scope="module")
def pages(folder):
    return [Page(path) for path in sorted(folder.rglob("*.html"))]


def test_all_are_there(pages):
    names = {page.path.name for page in pages}
    chapters = list(publish.built())
    assert {f"{name}.html" for name in [*chapters, *publish.PAGES, "index"]} <= names
    assert {f"{name}.slides.html" for name in [*chapters, "lecture-core"]} <= names


def outside(address):
    return re.match(r"(?!data:)[\w+.-]+:|//", address)


def test_nothing_is_loaded_from_elsewhere(folder, pages):
    for page in pages:
        assert page.loads
        for address in page.loads:
            assert not outside(address), (page.path.name, address)
            assert address.startswith("data:") or (page.path.parent / address).is_file(), address
    for path in folder.rglob("*.css"):
        for address in filter(None, sum(STYLE_URL.findall(path.read_text(encoding="utf-8")), ())):
            assert not outside(address), (path.name, address)
            assert address.startswith("data:") or (path.parent / address).is_file(), (path.name, address)


def test_every_link_between_pages_leads_somewhere(pages):
    known = {page.path: set(page.ids) for page in pages}
    for page in pages:
        for link in filter(lambda link: not outside(link), page.links):
            file, _, anchor = link.partition("#")
            target = page.path.parent / file if file else page.path
            assert target in known, (page.path.name, link)
            assert not anchor or unquote(anchor).removeprefix("/") in known[target], (page.path.name, link)


def test_every_picture_has_an_alt_text(pages):
    alts = [(page.path.name, alt) for page in pages for alt in page.alts]
    assert len(alts) > 150
    missing = "No description"  # nbconvert's own words
    assert not [name for name, alt in alts if len(alt) < 40 or alt.startswith(missing)]


def test_pages_say_what_they_are(pages):
    for page in pages:
        assert page.html["html"] == "en"
        assert page.html["viewport"] and 40 <= len(page.html["description"]) <= 200, page.path.name


def test_titles_differ(folder):
    for kind in ("site", "slides"):
        texts = [path.read_text(encoding="utf-8") for path in (folder / kind).glob("*.html")]
        titles = [re.search(r"<title>(.+?)</title>", text)[1] for text in texts]
        assert len(set(titles)) == len(titles)


def test_solutions_are_folded_and_stubs_are_not(folder):
    for name, notebook in publish.built().items():
        text = (folder / "site" / f"{name}.html").read_text(encoding="utf-8")
        solutions = [cell for cell in notebook.cells if "solution" in cell.metadata.get("tags", [])]
        assert text.count('<details class="solution">') == len(solutions) > 0
        unfolded = re.sub(r'<details class="solution">.*?</details>', "", text, flags=re.DOTALL)
        seen = unescape(re.sub(r"<[^>]+>", "", unfolded))
        stubs = [cell for cell in notebook.cells if "stub" in cell.metadata.get("tags", [])]
        assert all(stub.source in seen for stub in stubs)
        assert not any(solution.source in seen for solution in solutions)


def markdown(source):
    renderer = publish.Renderer({"a": "a.html"}, "#")
    return publish.MarkdownWithMath(renderer=renderer).render(source)


def test_links_lead_to_the_pages():
    assert 'href="a.html"' in markdown("[x](a.ipynb)") and 'href="a.html"' in markdown(
        "[x](notebooks/a.ipynb)"
    )
    assert 'href="a.html#A-b"' in markdown("[x](a.ipynb#A-b)")
    assert "<a" not in markdown("[x](b.ipynb)") and ">x<" in markdown("[x](b.ipynb)")
    assert 'href="https://a.org/a.ipynb"' in markdown("[x](https://a.org/a.ipynb)")


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


def test_the_two_hours_hold_only_what_is_tagged():
    notebooks = publish.built()
    path = publish.two_hours(notebooks)
    tagged = [c for n in notebooks.values() for c in n.cells if publish.LECTURE in c.metadata.get("tags", [])]
    assert len(path.cells) == len(tagged) + len(notebooks)


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


def test_what_a_widget_shows_stays(folder):  # C27
    """Of each widget its still picture with its words; where it has none, the words."""
    stills = 0
    for name, notebook in publish.built().items():
        path = folder / "site" / f"{name}.html"
        text, alts = path.read_text(encoding="utf-8"), Page(path).alts
        seen = unescape(re.sub(r"<[^>]+>", "", text))
        assert "widget-view" not in text
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        for output in [each for each in outputs if WIDGET_VIEW in each.get("data", {})]:
            if "image/png" in output.data:
                assert output.data["image/png"].strip() in text
                assert output.metadata["image/png"]["alt"] in alts
                stills += 1
            else:
                assert any(line in seen for line in output.data["text/plain"].split("\n")[:2])
    assert stills >= 12
