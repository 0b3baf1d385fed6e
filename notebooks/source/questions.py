"""A prediction on paper: what the page of a `predict` cell asks, where no kernel runs.

The question stands in the Markdown cell before, from **Predict** on; here it moves to the cell that takes the
answer, which shows it with its choices.
"""

import ast
import re

OPENING = re.compile(r"\*\*(?:Predict|Your verdict)\b.*", re.DOTALL)
# For those who sit at the notebook.
ADVICE = re.compile(r"\s*(?:Commit to|The answer counts for|It counts for|Give a number)\b[^.]*\.")
NOBODY = re.compile(r"^You made no guess\. ", re.MULTILINE)  # begins a comparison when nobody was there


def question(cell, text):
    """What is shown of a `predict` cell: its key, the question, {letter: choice} or the unit of a number."""
    key, letters, unit = asked(cell)
    text, *choices = cut(ADVICE.sub("", text), [f"**{letter}** " for letter in letters])
    return {"key": key, "text": text, "choices": dict(zip(letters, choices, strict=True)), "unit": unit}


def cut(text, marks):
    """The text before the first mark, and what follows each."""
    parts, rest = [], text.removesuffix(".") if marks else text
    for mark in marks:
        before, found, rest = rest.partition(mark)
        if not found:
            raise ValueError(f"no {mark.strip()} in {text!r}")
        parts.append(before)
    return [part.strip(" ·\n") for part in [*parts, rest]]


def asked(cell):
    """(key, choices, unit) of the call of `predict` in a cell."""
    calls = (node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call))
    call = next((call for call in calls if getattr(call.func, "id", None) == "predict"), None)
    if call is None:
        raise ValueError("no call of predict")
    about = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    return ast.literal_eval(call.args[0]), about.get("choices", ""), about.get("unit", "")


def is_question(cell):
    return "predict" in cell.metadata.get("tags", [])


def with_questions(cells):
    """The cells, with each question at its `predict` cell instead of before it, and with plain answers."""
    made = []
    for cell in cells:
        if is_question(cell):
            found = OPENING.search(made[-1].source)
            made[-1].source = made[-1].source[: found.start()].rstrip()
            cell.metadata.question = question(cell, found[0])
        for output in cell.get("outputs", []):
            forget_nobody(output)
        made.append(cell)
    return [cell for cell in made if cell.source]


def forget_nobody(output):
    for place, key in ((output, "text"), (output.get("data", {}), "text/plain")):
        if key in place:
            place[key] = NOBODY.sub("", place[key])
