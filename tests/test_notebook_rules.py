"""Each rule passes a small good notebook and catches one that breaks it."""

import socket

import pytest
from build import caption
from machine import this_machine
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from rules import RULES, machine_traces, no_sentences, violations

from course_lib.saving import WIDGET_VIEW

OPENING = """\
# 1 A chapter

## The question

What does a rule catch?

## What you will be able to do

Break each rule.

## Before you start

About 20 minutes. It builds on no other chapter.
"""
SECTION = "## A section\n\n" + "Enough words for a few lines of code, so that nobody asks for more. " * 5
EXERCISE = "### Exercise 1.1 — Add (difficulty 1/5, about 2 minutes)\n\nWrite it."
CLOSING = """\
## Takeaways

- one
- two
- three

## The article's claim, measured

It holds.

## Further reading

![a picture of a book](book.png)
"""
PICTURE = {"image/png": {"alt": "Time in seconds against workers: a falling line."}}


def markdown(source, *tags):
    return new_markdown_cell(source, metadata={"tags": list(tags), "slideshow": {"slide_type": "slide"}})


def code(source, *tags, outputs=()):
    metadata = {"tags": list(tags), "slideshow": {"slide_type": "fragment"}}
    return new_code_cell(source, metadata=metadata, execution_count=1, outputs=list(outputs))


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def recorded():
    text = caption({"machine": this_machine(), "date": "2026-11-30"})
    return new_output("display_data", {"text/markdown": text})


def good():
    picture = new_output("display_data", {"image/png": "/tmp/"}, metadata=PICTURE)
    return new_notebook(
        cells=[
            markdown(OPENING),
            markdown(SECTION, "core", "lecture-core"),
            code("x = 1  # one", outputs=[printed("1\n"), picture]),
            code("import time\ntime.time()", "live", "nbval-ignore-output", outputs=[recorded()]),
            markdown(EXERCISE, "exercise"),
            code("def add(a, b): ...", "stub"),
            code("check(add)", "check"),
            code('def add(a, b):\n    """The sum of two numbers, whatever their signs are."""', "solution"),
            markdown(CLOSING),
        ]
    )


def replaced(index, old, new):
    """A breach: the text of one cell is changed."""

    def change(notebook):
        assert old in notebook.cells[index].source
        notebook.cells[index].source = notebook.cells[index].source.replace(old, new)

    return change


def tagged(index, *tags):
    return lambda notebook: notebook.cells[index].metadata.update(tags=list(tags))


def showing(output):
    return lambda notebook: notebook.cells[2].outputs.append(output)


def every_code_cell(source):
    def change(notebook):
        for cell in notebook.cells[2:4]:
            cell.source = source
        notebook.cells[1].source += " word" * 500

    return change


def folded(place, what, *outputs):
    def change(notebook):
        notebook.cells[place].metadata["jupyter"] = {f"{what}_hidden": True}
        notebook.cells[place].outputs = list(outputs)

    return change


def html(text):
    return showing(new_output("display_data", {"text/html": text}))


def error():
    return new_output("error", ename="ValueError", evalue="no", traceback=[])


def asking(question, source):
    def change(notebook):
        notebook.cells[1].source += f"\n\n**Predict.** {question}"
        notebook.cells[2].source = source
        tagged(2, "predict")(notebook)

    return change


BREACHES = {
    "short_cells": [
        (replaced(2, "x = 1", "x = 1\n" * 21), "22 lines"),
        (
            lambda notebook: [
                every_code_cell("x = 1\n" * 6)(notebook),
                replaced(6, "check(add)", "x = 1\n" * 6)(notebook),
            ],
            "median",
        ),
    ],
    "cells_of_prose": [
        (lambda notebook: notebook.cells.extend(code("x") for _ in range(3)), "0.67"),
        (lambda notebook: notebook.cells.extend(markdown("x") for _ in range(5)), "3.00"),
    ],
    "words_of_prose": [(replaced(2, "x = 1", "x = 1\n" * 15), "fewer than 8")],
    "title": [(replaced(0, "# 1 A chapter\n", ""), "title")],
    "fixed_headings": [
        (replaced(0, "## The question", "## A question"), "first three"),
        (replaced(8, "## Takeaways", "## Summary"), "last three"),
        (replaced(8, "## Further reading", "```\n## Further reading\n```"), "last three"),
    ],
    "before_you_start": [
        (replaced(0, "20 minutes", "a while"), "minutes"),
        (replaced(0, "builds on", "needs"), "builds on"),
    ],
    "takeaways": [
        (replaced(8, "- three\n", ""), "2 takeaways"),
        (replaced(8, "- three\n", "- three\n" * 4), "6 takeaways"),
    ],
    "depth": [(tagged(1, "lecture-core"), "A section"), (tagged(1, "core", "deeper"), "A section")],
    "exercises": [
        (replaced(4, "1/5", "6/5"), "difficulty"),
        (replaced(4, "about 2 minutes", "short"), "minutes"),
        (tagged(6), "0 cells tagged check"),
        (lambda notebook: notebook.cells.insert(6, notebook.cells.pop(7)), "next three"),
        (lambda notebook: notebook.cells.pop(4), "0 exercises"),
    ],
    "claims": [
        (lambda notebook: [tagged(place, "claim-1.1")(notebook) for place in (2, 3)], "second cell"),
        (tagged(1, "core", "claim-1.1"), "without code"),
    ],
    "known_tags": [(tagged(2, "sovled"), "sovled"), (tagged(2, "claim-9"), "claim-9")],
    "answers_are_hidden": [(replaced(2, "x = 1", "guess.compare(1)"), "reveal")],
    "what_is_hidden_gives_nothing_away": [
        (folded(2, "source"), "x = 1"),
        (folded(7, "source"), "One solution"),
        (folded(2, "outputs", printed("\n12 messages\nsent:\n")), "12 messages"),
        (folded(2, "outputs", new_output("display_data", {"text/plain": "Bars"})), "Bars"),
        (folded(2, "outputs", error()), "ValueError: no"),
        (
            lambda notebook: [
                folded(2, "outputs", printed("messages:\n"))(notebook),
                replaced(2, "x = 1", "guess.compare(1)")(notebook),
                tagged(2, "reveal")(notebook),
            ],
            "messages:",
        ),
    ],
    "live_is_not_compared": [(tagged(3, "live"), "live")],
    "slides": [(lambda notebook: notebook.cells[1].metadata.pop("slideshow"), "cell 1")],
    "questions_can_be_shown": [
        (tagged(2, "predict"), "no Markdown cell before it"),
        (asking("How many?", "x"), "no call of predict"),
        (asking("Which? **a** one · **b** two", 'predict("1.1", choices="abc")'), "no **c** in"),
    ],
    "executed": [(lambda notebook: notebook.cells[2].update(execution_count=None), "cell 2")],
    "no_errors": [(showing(error()), "ValueError: no"), (showing(printed("oh", "stderr")), "oh")],
    "alt_texts": [
        (lambda notebook: notebook.cells[2].outputs[1].metadata.clear(), "0 characters"),
        (
            lambda notebook: notebook.cells[2].outputs[1].metadata.update({"image/png": {"alt": "x"}}),
            "1 characters",
        ),
        (replaced(8, "![a picture of a book]", "![]"), "without alt"),
        (replaced(8, "![a picture of a book](book.png)", '<img src="book.png">'), "without alt"),
    ],
    "no_machine_paths": [
        (showing(printed("see /home/ada/x.py")), "/home/ada"),
        (html("<p>/tmp/x</p>"), "/tmp/x"),
        (replaced(2, "x = 1", r"x = 'C:\Users\ada'"), "Users"),
        (showing(printed("lib/site-packages/x")), "site-packages"),
    ],
    "no_machine_traces": [
        (showing(printed("ended (pid: 31840)")), "pid: 31840"),
        (showing(printed("pid 7")), "pid 7"),
        (html("<p>http://127.0.0.1:54321/lab</p>"), "127.0.0.1:54321"),
        (showing(printed("connect to localhost:29500")), "localhost:29500"),
        (showing(printed("[::1]:29500 is taken")), "[::1]:29500"),
        (showing(printed("--rdzv-endpoint=node-3.cluster.org:29500")), "node-3.cluster.org:29500"),
        (showing(printed("listens at port 41873")), "port 41873"),
    ],
    "measurements_say_where_and_when": [(lambda notebook: notebook.cells[3].outputs.clear(), "and when")],
    "no_addresses": [
        (showing(printed("<object object at 0x7f01>")), "0x7f01"),
        (html("&lt;f at 0x7f01&gt;"), "0x7f01"),
    ],
    "no_widget_state": [
        (lambda notebook: notebook.metadata.update(widgets={}), "widget state"),
        (lambda notebook: notebook.cells[2].outputs[1].data.update({WIDGET_VIEW: {}}), "widget's view"),
    ],
    "no_sentences": [
        (replaced(2, "x = 1", "x = 'one two three four five six seven'"), "7 words"),
        (replaced(2, "x = 1", "x = f'one two {3} four five {6} seven eight nine'"), "string"),
        (replaced(7, "whatever their signs", "whatever the signs of both"), "11 words"),
        (replaced(2, "# one", "# one two three four five six seven eight nine"), "9 words"),
        (replaced(2, "x = 1  #", "# one two three four five\n# six seven eight"), "9 words"),
        (replaced(2, "x = 1", "x ="), "not Python"),
    ],
}


def test_a_good_notebook_passes():
    assert violations(good()) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_breach_is_caught_by_its_rule(rule, subtests):
    assert rule.__doc__
    for change, said in BREACHES[rule.__name__]:
        with subtests.test(msg=said):
            notebook = good()
            change(notebook)
            assert said in "\n".join(rule(notebook))


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\nx = 1",
        "%%bash\necho this line is not Python and it may be long",
        "a = 1  # one two three four five\nb = 2  # six seven eight nine ten",
    ],
)
def test_what_is_not_a_sentence_passes(source):
    notebook = good()
    notebook.cells[2].source = source
    assert list(no_sentences(notebook)) == []


def test_a_tag_may_name_a_claim():
    notebook = good()
    tagged(2, "core", "claim-9.11")(notebook)
    assert not violations(notebook)


def test_an_error_may_be_the_lesson():
    notebook = good()
    notebook.cells[2].metadata.tags = ["raises-exception"]
    notebook.cells[2].outputs.append(error())
    assert violations(notebook) == []


@pytest.mark.parametrize("name", ["ada-laptop", "fv-az1.internal", "node7.lab"])
def test_the_names_of_the_machine_and_its_user_are_found(name, monkeypatch):
    monkeypatch.setenv("USER", "ada_l")
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    assert machine_traces(f"on {name}, by ada_l") == [name, "ada_l"]
    assert machine_traces(f"my{name} and ada_lovelace") == []


@pytest.mark.parametrize(
    "text",
    [
        "rank 3 of 4, step 12345, loss 0.4321:12345 samples",
        "torch 2.13.0.1 on 2026-11-30 at 12:30:59",
        "the server's port sets the pace: 8 workers",
        "a cluster of 1024 processes; rapid 4",
        'srun torchrun --rdzv-endpoint "$FIRST_NODE:29500"',
        "lib.py:123",
        "ranks [0:3], [1:4]",
    ],
)
def test_numbers_of_other_kinds_pass(text, monkeypatch):
    monkeypatch.setenv("USER", "root")
    monkeypatch.setattr(socket, "gethostname", lambda: "vm")
    assert machine_traces(text) == []
