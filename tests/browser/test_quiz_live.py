"""Chapter 12's quiz in JupyterLab in a real browser: by keyboard alone, both themes, nothing given away."""

import lab
import pytest
from live import NAMELESS, faint, kernel, tab_through, until

from course_lib.quiz import load_questions, question
from course_lib.quiz.order import shuffled

SEED = 1
CELLS = [
    "from course_lib.quiz import load_questions\nfrom course_lib.widgets import quiz\n"
    "all_ = load_questions()",
    f"quiz_ = quiz(all_[:10], title='Ten', seed={SEED})\nquiz_",
    "numbers_ = quiz(all_[10:20], title='Numbers')\nnumbers_",
    "opens_ = quiz(all_[20:], title='Open')\nopens_",
]


@pytest.fixture(scope="module")
def notebook(browser, server):
    with lab.ran(browser, server, "quiz", CELLS) as notebook:
        yield notebook


@pytest.fixture(autouse=True)
def afresh(notebook):
    kernel(notebook, "quiz_.reset(); numbers_.reset(); opens_.reset()")
    until(lambda: "Points: 0." in cell(notebook, 1).inner_text())


def cell(notebook, number):
    return notebook.page.locator(".jp-CodeCell").nth(number)


def place(id, letter):
    """Where that option stands in the widget."""
    return shuffled(question(id), SEED).index(letter)


def focused(notebook):
    return notebook.page.evaluate("document.activeElement.textContent || document.activeElement.value")


def test_tab_comes_to_every_control(notebook):
    kernel(notebook, "numbers_.current = 3; quiz_.submit('Q1', 'C')")  # a field, a link
    until(lambda: "Arguable" in cell(notebook, 1).inner_text())
    tab_through(notebook)
    for number, field in ((2, "input"), (3, "textarea")):
        cell(notebook, number).locator(field).fill("")  # what it typed is a draft, which a reset leaves


def test_a_single_choice_by_keyboard(notebook):
    frame, page = cell(notebook, 1), notebook.page
    assert place("Q1", "B") != 1  # else the order would not be seen
    frame.locator("input[type=radio]").first.focus()
    for _ in range(place("Q1", "B") or 4):  # round and back to the first
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    assert focused(notebook) == "Submit"
    page.keyboard.press("Enter")
    until(lambda: "Right." in frame.locator("[role=status].course-result").inner_text())
    assert kernel(notebook, "print(quiz_.grades['Q1'].correct)") == "True"
    assert "Points: 1. Answered: 1 of 10" in frame.inner_text() and "Arguable:" in frame.inner_text()
    link = frame.locator("a")
    assert link.get_attribute("href") == load_questions()[0].proof.link
    until(lambda: focused(notebook) == "Next")
    page.keyboard.press("Enter")
    until(lambda: "Question 2 of 10" in frame.inner_text())
    until(lambda: kernel(notebook, "print(quiz_.current)") == "1")
    assert "Arguable:" not in frame.inner_text()
    page.keyboard.press("Shift+Tab")
    assert focused(notebook) == "Previous"
    page.keyboard.press("Space")
    until(lambda: "Question 1 of 10" in frame.inner_text())
    assert (
        frame.locator("input[type=radio]").nth(place("Q1", "B")).is_checked()
        and "← right, your answer" in frame.inner_text()
    )


def test_several_boxes_by_keyboard(notebook):
    frame, page = cell(notebook, 1), notebook.page
    kernel(notebook, "quiz_.current = 6")
    until(lambda: frame.locator("input[type=checkbox]").count() == 4)
    boxes = frame.locator("input[type=checkbox]")
    boxes.nth(0).focus()
    for each in range(4):
        if each in (place("Q7", "A"), place("Q7", "B")):
            page.keyboard.press("Space")
        page.keyboard.press("Tab")
    boxes.nth(0).press("Enter")  # submits, as in any form
    until(lambda: "Half right" in frame.inner_text())
    assert kernel(notebook, "print(quiz_.grades['Q7'].points)") == "0.5"


def test_nothing_chosen_gets_a_hint(notebook):
    frame = cell(notebook, 1)
    frame.get_by_role("button", name="Submit").press("Enter")
    until(lambda: "No answer yet" in frame.inner_text())
    assert (
        kernel(notebook, "print(quiz_.grades)") == "{}"
        and frame.get_by_role("button", name="Submit").is_visible()
    )


def test_a_number_by_keyboard(notebook):
    frame, page = cell(notebook, 2), notebook.page
    kernel(notebook, "numbers_.current = 3")
    until(lambda: "Question 4 of 10" in frame.inner_text())
    field = frame.locator("input[type=text]")
    field.focus()
    page.keyboard.type("about an hour")
    page.keyboard.press("Enter")
    until(lambda: "Give a number in ms" in frame.inner_text())
    assert field.input_value() == "about an hour"
    field.fill("0,841 s")
    page.keyboard.press("Enter")
    until(lambda: "Right: 841 ms." in frame.inner_text())
    assert frame.locator("input[type=text]").is_disabled()


def test_an_open_question_by_keyboard(notebook):
    frame, page = cell(notebook, 3), notebook.page
    frame.locator("textarea").focus()
    page.keyboard.type("Measure first.")
    assert frame.locator("input[type=checkbox]").count() == 0
    page.keyboard.press("Tab")
    assert focused(notebook) == "Show the marking guide"
    page.keyboard.press("Enter")
    until(lambda: frame.locator("input[type=checkbox]").count() == 6)
    assert frame.locator("textarea").input_value() == "Measure first."
    frame.locator("input[type=checkbox]").first.press("Space")
    frame.get_by_role("button", name="Mark").press("Enter")
    until(lambda: "20% of the points" in frame.inner_text())


def test_start_again(notebook):
    frame = cell(notebook, 1)
    kernel(notebook, "quiz_.submit('Q1', 'C')")
    until(lambda: "Not right" in frame.inner_text())
    chosen = frame.locator("input[type=radio]").nth(place("Q1", "C"))
    assert chosen.is_checked() and "← your answer" in frame.inner_text()
    frame.get_by_role("button", name="Start again").press("Enter")
    until(lambda: "Not right" not in frame.inner_text())
    assert kernel(notebook, "print(quiz_.grades)") == "{}"


def test_options_stand_in_the_learners_order_without_letters(notebook):
    asked, frame = question("Q1"), cell(notebook, 1)
    shown = frame.locator(".course-quiz-option").all_inner_texts()
    assert [text.strip() for text in shown] == [asked.options[letter] for letter in shuffled(asked, SEED)]
    assert shuffled(asked, SEED) != list(asked.options)
    kernel(notebook, "quiz_.submit('Q1', 'C')")
    until(lambda: "Not right: “After every update” is." in frame.inner_text())
    right = frame.locator(".course-quiz-option").nth(place("Q1", "B")).inner_text()
    assert "← right" in right and asked.why["B"] in right


def test_the_page_holds_no_answer_before_it_is_given(notebook):
    page = notebook.page.content() + "".join(
        notebook.page.evaluate("[...document.scripts].map(script => script.textContent)")
    )
    assert [asked.id for asked in load_questions() if asked.arguable and asked.arguable[:60] in page] == []


def test_every_control_has_a_name(notebook, subtests):
    assert notebook.ask(NAMELESS) == []
    for number in (1, 2, 3):
        with subtests.test(number=number):
            assert cell(notebook, number).locator("fieldset > legend").first.inner_text()
            assert cell(notebook, number).locator(".course-root [aria-live=polite]").count() == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(notebook, theme):
    kernel(notebook, "quiz_.submit('Q1', 'C'); numbers_.submit('N1', 'x'); opens_.show_guide('O1')")
    until(lambda: "Arguable" in cell(notebook, 1).inner_text())
    notebook.change_theme(theme)
    too_faint, texts = faint(notebook)
    notebook.change_theme("light")
    assert texts > 40 and too_faint == []


@pytest.mark.slow
def test_pictures_for_authors(notebook, tmp_path):
    paths = notebook.pictures(tmp_path, "quiz")
    notebook.change_theme("light")
    assert {path.name.split("-")[1] for path in paths} == {"light", "dark", "projected"}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_a_failed_test_leaves_a_picture_and_the_log(notebook, monkeypatch, tmp_path):
    monkeypatch.setattr(lab, "ARTIFACTS", tmp_path)
    notebook.keep("test_this[a/b]")
    assert (tmp_path / "failed-test-this-a-b.png").read_bytes().startswith(b"\x89PNG")
    assert "Kernel started" in (tmp_path / "failed-test-this-a-b.log").read_text()
