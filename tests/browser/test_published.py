"""Slides and site in a browser: nothing is cut off or fetched, formulas are drawn, a phone is wide enough."""

import re
from importlib.util import find_spec

import lab
import publish
import pytest
from build import code_cells
from lecture import two_hours
from speaker_notes import read

BROWSER = lab.find_browser()
PHONE = (390, 844)
CHAPTERS = publish.built()
DECKS = {**CHAPTERS, publish.LECTURE: two_hours(CHAPTERS)}
NAMES = list(DECKS)

pytestmark = [
    pytest.mark.skipif(not find_spec("playwright"), reason="playwright is not installed"),
    pytest.mark.skipif(not BROWSER, reason="no Chromium: install one, or name it in CHROMIUM"),
]

# Slides out of sight are taken out of the page: each is put back for its measure.
CUT_OFF = """() => [...document.querySelectorAll('.slides section:not(:has(section))')].flatMap(slide => {
    const shown = [slide, slide.parentElement], before = shown.map(one => one.style.display);
    shown.forEach(one => { one.style.display = 'block'; one.hidden = false; });
    const hides = (one, side) => one[`client${side}`] && one[`scroll${side}`] > one[`client${side}`] + 1;
    const bars = way => ['auto', 'scroll'].includes(way);
    const scrolls = one => hides(one, 'Height') && bars(getComputedStyle(one).overflowY)
        || hides(one, 'Width') && bars(getComputedStyle(one).overflowX);
    const beyond = slide.scrollHeight > slide.clientHeight + 1 || slide.scrollWidth > slide.clientWidth + 1;
    const within = [...slide.querySelectorAll('*')].some(scrolls);
    const found = beyond ? 'cut off' : within ? 'must be scrolled' : null;
    shown.forEach((one, index) => { one.style.display = before[index]; });
    return found ? [`${found}: ${slide.textContent.trim().slice(0, 60)}`] : [];
})"""
WRONG_FORMULAS = "document.querySelectorAll('.katex-error, .math:not(:has(.katex))').length"
REPEATED_IDS = """() => {
    const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
    return ids.filter((id, index) => ids.indexOf(id) < index);
}"""
# Clicks that show more of the same page.
STEPS = """() => [...document.querySelectorAll('.slides section:not(:has(section))')].map(slide =>
    new Set([...slide.querySelectorAll('.fragment')].map(one => one.dataset.fragmentIndex)).size)"""
BROKEN = "[...document.images].filter(image => image.complete && !image.naturalWidth).length"


@pytest.fixture(scope="module")
def browser():
    with lab.chromium(BROWSER) as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    publish.html(folder / "site")
    publish.slides(folder / "slides", lecture="core")
    return folder


@pytest.fixture
def opened(browser):
    """Opens a file; gives the page and what it complains of: errors, and what it asks the network for."""
    pages, complaints = [], []

    def see(path, size=lab.PROJECTOR):
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        pages.append(page)
        page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: local(request.url) or complaints.append(request.url))
        page.goto(path.as_uri())
        return page, complaints

    yield see
    for page in pages:
        page.close()


def local(address):
    return address.startswith(("file:", "data:", "blob:", "about:"))


def deck(opened, path, size=lab.PROJECTOR):
    page, complaints = opened(path, size)
    page.wait_for_function("window.Reveal?.isReady()", timeout=60_000)
    return page, complaints


@pytest.mark.parametrize("name", NAMES)
def test_a_deck_fits_the_projector(name, folder, opened):
    page, complaints = deck(opened, folder / "slides" / f"{name}.slides.html")
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate(WRONG_FORMULAS) == page.evaluate(BROKEN) == 0
    assert page.evaluate(REPEATED_IDS) == complaints == []
    steps, notebook = page.evaluate(STEPS), DECKS[name]
    assert 0 < sum(steps) <= len(code_cells(notebook, "reveal"))  # nothing but answers waits for a click
    assert len(steps) < len(notebook.cells)


def test_the_speaker_sees_the_notes(folder, opened):
    page, complaints = deck(opened, folder / "slides" / f"{publish.LECTURE}.slides.html")
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    _, (first, *_) = read(publish.LECTURE)
    page.keyboard.press("Space")
    popup.value.get_by_text(f"{first.start}–{first.stop} min.").wait_for(timeout=20_000)
    popup.value.close()
    assert complaints == []


@pytest.mark.parametrize("name", NAMES[:-1])
def test_a_deck_in_larger_letters_fits(name, folder, opened):
    usual, large = (folder / "slides" / f"{name}.{kind}.html" for kind in ("slides", "large"))
    text = usual.read_text(encoding="utf-8")
    assert "--font: 1.0" in text
    large.write_text(text.replace("--font: 1.0", "--font: 1.4", 1), encoding="utf-8")
    page, _ = deck(opened, large)
    assert [text for text in page.evaluate(CUT_OFF) if text.startswith("cut off")] == []


def test_nothing_is_lost_when_a_deck_is_cut(folder, opened):
    """All text is there, in order, but for formulas, and for a table's head: it comes again on each page."""
    path = folder / "slides" / f"{NAMES[1]}.slides.html"
    page, _ = deck(opened, path)
    text = """(root, pieces) => [...root.querySelectorAll(pieces)].map(piece => {
        piece.querySelectorAll('.math, summary, thead, details.folded').forEach(one => one.remove());
        return piece.textContent.replace(/\\s+/g, ''); }).join('')"""
    shown = page.evaluate(f"({text})(document, '.slides section:not(:has(section)) > *:not(.running)')")
    parsed = "new DOMParser().parseFromString(source, 'text/html')"
    assert shown == page.evaluate(f"source => ({text})({parsed}, '.cell')", path.read_text(encoding="utf-8"))
    assert len(shown) > 20_000


def test_the_handout_is_one_sheet(folder, opened):
    page, complaints = opened(folder / "slides" / "handout.html")
    page.wait_for_function("document.querySelector('.katex')")
    sheets = re.search(rb"/Type /Pages\b[^>]*/Count (\d+)", page.pdf(format="A4"))
    assert sheets[1] == b"1"
    assert page.evaluate(WRONG_FORMULAS) == page.evaluate(BROKEN) == 0
    assert complaints == []


@pytest.mark.parametrize("name", [*NAMES[:-1], *publish.PAGES, "index"])
def test_a_page_reads_on_a_phone(name, folder, opened):
    page, complaints = opened(folder / "site" / f"{name}.html", PHONE)
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert page.evaluate(WRONG_FORMULAS) == page.evaluate(BROKEN) == 0
    assert complaints == []
