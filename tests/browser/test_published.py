"""Slides and site in a browser: nothing is cut off or fetched, formulas are drawn, a phone is wide enough."""

import re

import axe
import lab
import publish
import pytest
from build import code_cells
from lecture import two_hours
from speaker_notes import read
from waiting import limit

PHONE = (390, 844)
CHAPTERS = publish.built()
DECKS = {**CHAPTERS, publish.LECTURE: two_hours(CHAPTERS)}
NAMES = list(DECKS)


def often(*names):
    """The decks as parameters, all but `names` for the slow run."""
    return [pytest.param(name, marks=[] if name in names else pytest.mark.slow) for name in NAMES]


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
# Far apart in time, here one below the other; `reach` is called whenever a slide comes up.
SHOW_ALL = """() => {
    document.querySelectorAll('.slides section').forEach(slide => {
        slide.hidden = false;
        slide.removeAttribute('aria-hidden');
        slide.style.cssText = 'display: block; position: static; visibility: visible; transform: none';
    });
    reach();
}"""
WRONG_FORMULAS = "document.querySelectorAll('.katex-error, .math:not(:has(.katex))').length"
REPEATED_IDS = """() => {
    const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
    return ids.filter((id, index) => ids.indexOf(id) < index);
}"""
# Clicks that show more of the same page.
STEPS = """() => [...document.querySelectorAll('.slides section:not(:has(section))')].map(slide =>
    new Set([...slide.querySelectorAll('.fragment')].map(one => one.dataset.fragmentIndex)).size)"""
BROKEN = "[...document.images].filter(image => image.complete && !image.naturalWidth).length"


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
    page.wait_for_function("window.Reveal?.isReady()", timeout=1000 * limit(lab.OPEN))
    return page, complaints


@pytest.mark.parametrize("name", often(NAMES[4], publish.LECTURE))
def test_a_deck_fits_the_projector(name, published, opened):
    page, complaints = deck(opened, published / "slides" / f"{name}.slides.html")
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate(WRONG_FORMULAS) == page.evaluate(BROKEN) == 0
    assert page.evaluate(REPEATED_IDS) == complaints == []
    steps, notebook = page.evaluate(STEPS), DECKS[name]
    assert 0 < sum(steps) <= len(code_cells(notebook, "reveal"))  # nothing but answers waits for a click
    assert len(steps) < len(notebook.cells)


def test_the_speaker_sees_the_notes(published, opened):
    page, complaints = deck(opened, published / "slides" / f"{publish.LECTURE}.slides.html")
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    _, (first, *_) = read(publish.LECTURE)
    page.keyboard.press("Space")
    popup.value.get_by_text(f"{first.start}–{first.stop} min.").wait_for(timeout=1000 * limit(lab.OPEN))
    popup.value.close()
    assert complaints == []


@pytest.mark.parametrize("name", often(NAMES[4]))
def test_a_deck_in_larger_letters_fits(name, published, opened):
    usual, large = (published / "slides" / f"{name}.{kind}.html" for kind in ("slides", "large"))
    text = usual.read_text(encoding="utf-8")
    assert "--font: 1.0" in text
    large.write_text(text.replace("--font: 1.0", "--font: 1.4", 1), encoding="utf-8")
    page, _ = deck(opened, large)
    large.unlink()  # others count the decks
    assert [text for text in page.evaluate(CUT_OFF) if text.startswith("cut off")] == []


def test_nothing_is_lost_when_a_deck_is_cut(published, opened):
    """All text is there, in order, but for formulas, and for a table's head: it comes again on each page."""
    path = published / "slides" / f"{NAMES[1]}.slides.html"
    page, _ = deck(opened, path)
    text = """(root, pieces) => [...root.querySelectorAll(pieces)].map(piece => {
        piece.querySelectorAll('.math, summary, thead, details.folded').forEach(one => one.remove());
        return piece.textContent.replace(/\\s+/g, ''); }).join('')"""
    piece = ".slides section:not(:has(section)) > *:not(.running, aside)"
    shown = page.evaluate(f"({text})(document, '{piece}')")
    parsed = "new DOMParser().parseFromString(source, 'text/html')"
    assert shown == page.evaluate(f"source => ({text})({parsed}, '.cell')", path.read_text(encoding="utf-8"))
    assert len(shown) > 20_000


def test_the_handout_is_one_sheet(published, opened):
    page, complaints = opened(published / "slides" / "handout.html")
    page.wait_for_function("document.querySelector('.katex')")
    sheets = re.search(rb"/Type /Pages\b[^>]*/Count (\d+)", page.pdf(format="A4"))
    assert sheets[1] == b"1"
    assert page.evaluate(WRONG_FORMULAS) == page.evaluate(BROKEN) == 0
    assert complaints == []


@pytest.mark.parametrize("name", [*NAMES[:-1], *publish.PAGES, "index"])
def test_a_page_reads_on_a_phone(name, published, opened):
    page, complaints = opened(published / "site" / f"{name}.html", PHONE)
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert page.evaluate(WRONG_FORMULAS) == page.evaluate(BROKEN) == 0
    assert complaints == []


def barriers(page):
    light = axe.violations(page)
    page.emulate_media(color_scheme="dark")
    return light + axe.violations(page, rules=axe.COLOURS)


@pytest.mark.parametrize("name", ["index", "glossary", NAMES[0]])
def test_a_page_is_for_everybody(name, published, opened):
    page, _ = opened(published / "site" / f"{name}.html", PHONE)
    assert barriers(page) == []


def test_barriers_are_seen(published, opened):
    """One that all themes show, and one of the dark theme alone."""
    page, _ = opened(published / "site" / f"{NAMES[0]}.html", PHONE)
    page.evaluate("document.querySelector('img').removeAttribute('alt')")
    page.evaluate("document.querySelector('main p').style.color = '#1b1f24'")
    found = barriers(page)
    assert [text.split(":")[0] for text in found] == ["image-alt", "color-contrast"]


def test_a_deck_is_for_everybody(published, opened):
    page, _ = deck(opened, published / "slides" / f"{NAMES[-2]}.slides.html")
    page.evaluate(SHOW_ALL)
    assert barriers(page) == []
