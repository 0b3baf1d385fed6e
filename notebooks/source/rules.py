"""The rules of the course's notebooks, and what breaks them.

    python notebooks/source/rules.py [NAME ...]

Each rule is a function that yields one text for every breach; RULES lists them all.
"""

import ast
import io
import json
import os
import re
import socket
import sys
import tokenize
from itertools import groupby
from statistics import median

import nbformat
from build import BuildError, chapters, code_cells, tags
from questions import OPENING as OPENING_OF_QUESTION
from questions import question

from course_lib.saving import WIDGET_VIEW

OPENING = ["The question", "What you will be able to do", "Before you start"]
CLOSING = ["Takeaways", "The article's claim, measured", "Further reading"]
TAGS = set(
    """core deeper lecture-core live predict reveal exercise stub check solution raises-exception
nbval-ignore-output nbval-skip skip-execution hide-input thread""".split()
)
CLAIM = re.compile(r"claim-\d+\.\d+")
SLIDES = {"slide", "subslide", "fragment", "skip", "notes", "-"}

EXERCISE = re.compile(r"#{2,4} Exercise \d+\.\d+ — \S.* \(difficulty [1-5]/5, about \d+ minutes?\)")
MACHINE_PATH = re.compile(r"(?<![\w.])/(home|root|work|tmp|Users)/|[A-Z]:\\+Users\\|site-packages")
# The number of a process, or where one listens.
MACHINE_TRACE = re.compile(
    r"\bpid\W{1,3}\d+|\bport\W{1,3}\d{4,5}\b|(?:\blocalhost|\[[\da-f]*(?::[\da-f]*)+\]):\d+"
    r"|\b\d+(?:\.\d+){3}:\d+|\b[a-z][\w-]*(?:\.[\w-]+)+:\d{5}\b",
    re.IGNORECASE,
)
CAPTION = re.compile(r"\*Recorded on \d+ cores \(\w+\), .*, on \d{4}-\d\d-\d\d\.")
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
BASE64 = re.compile(r"base64,[\w+/=\s]+")
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\(")
SOLUTION = re.compile("# One solution")
HARMLESS = re.compile("(def|from|import|#) .*")
# Of an output's kinds, the first of these is what its placeholder begins with.
PLACEHOLDERS = ("text/html", "image/svg+xml", "application/pdf", "text/markdown", "text/plain")
COMPARED = re.compile(r"Prediction \d+\.\d+, compared:")
NEUTRAL = re.compile(r"\D+:|" + COMPARED.pattern)  # a heading without a number
IMAGE_TAG = re.compile(r"<img\b[^>]*>")

RULES = []


def rule(function):
    RULES.append(function)
    return function


def violations(notebook):
    """Every breach of every rule, as text."""
    return [text for function in RULES for text in function(notebook)]


# --- looking at a notebook


def numbered(notebook, kind=None, tag=None):
    """(index, cell) for the cells of one kind and tag."""
    for index, cell in enumerate(notebook.cells):
        if kind in (None, cell.cell_type) and (tag is None or tag in tags(cell)):
            yield index, cell


def outputs(notebook):
    for index, cell in numbered(notebook, "code"):
        for output in cell.outputs:
            yield index, cell, output


def texts(output):
    """The readable texts of an output, without encoded pictures, where chance letters look like a path."""
    data = [
        value if isinstance(value, str) else json.dumps(value)
        for kind, value in output.get("data", {}).items()
        if kind not in ("image/png", "image/jpeg")
    ]
    error = [output.get("evalue", ""), *output.get("traceback", [])]
    return [BASE64.sub("", text) for text in [output.get("text", ""), *data, *error]]


def prose(cell):
    """The lines of a Markdown cell outside code fences."""
    inside = False
    for line in cell.source.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            inside = not inside
        elif not inside:
            yield line


def sections(notebook):
    """(heading, body, cell) for each level-2 heading, in order."""
    found = []
    for _, cell in numbered(notebook, "markdown"):
        for line in prose(cell):
            if line.startswith("## "):
                found.append((line[3:].strip(), [], cell))
            elif found:
                found[-1][1].append(line)
    return [(heading, "\n".join(body), cell) for heading, body, cell in found]


def body_of(title, notebook):
    return next((body for heading, body, _ in sections(notebook) if heading == title), "")


def lines(cell):
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def words(text):
    return sum(any(letter.isalpha() for letter in word) for word in text.split())


def python(cell):
    """The Python in a cell: its magics left out."""
    if cell.source.startswith("%%"):
        return ""
    return "\n".join("" if line[:1] in ("%", "!") else line for line in cell.source.splitlines())


# --- the balance of prose and code


@rule
def short_cells(notebook):
    """Half of the code cells have at most 5 lines that are not blank; none has more than 20."""
    counts = [lines(cell) for cell in code_cells(notebook)]
    if counts and median(counts) > 5:
        yield f"the median code cell has {median(counts):g} lines, not 5 or fewer"
    for index, cell in numbered(notebook, "code"):
        if lines(cell) > 20:
            yield f"cell {index}: {lines(cell)} lines of code, more than 20"


@rule
def cells_of_prose(notebook):
    """Between 1 and 2.5 Markdown cells for each code cell.

    An exercise's check and solution do not count: they belong to its text and its stub.
    """
    code = [cell for cell in code_cells(notebook) if not {"check", "solution"} & set(tags(cell))]
    ratio = len(list(numbered(notebook, "markdown"))) / max(1, len(code))
    if not 1 <= ratio <= 2.5:
        yield f"{ratio:.2f} Markdown cells for each code cell, not 1 to 2.5"


@rule
def words_of_prose(notebook):
    """At least 8 words of prose for each line of code, over the whole notebook."""
    prose_words = sum(words("\n".join(prose(cell))) for _, cell in numbered(notebook, "markdown"))
    code_lines = sum(map(lines, code_cells(notebook)))
    if prose_words < 8 * code_lines:
        yield f"{prose_words} words of prose for {code_lines} lines of code, fewer than 8 for each"


# --- the shape of a chapter


@rule
def title(notebook):
    """The first cell starts with the chapter's title."""
    if not notebook.cells or not notebook.cells[0].source.startswith("# "):
        yield "the first cell does not start with '# ' and a title"


@rule
def fixed_headings(notebook):
    """A chapter opens and closes with the same three headings as every other."""
    headings = [heading for heading, _, _ in sections(notebook)]
    if headings[:3] != OPENING:
        yield f"the first three '## ' headings are {headings[:3]}, not {OPENING}"
    if headings[-3:] != CLOSING:
        yield f"the last three '## ' headings are {headings[-3:]}, not {CLOSING}"


@rule
def before_you_start(notebook):
    """The opening says how many minutes the chapter needs, and what it builds on."""
    body = body_of("Before you start", notebook)
    if not re.search(r"\d+ minutes", body):
        yield "'Before you start' does not say how many minutes"
    if not re.search(r"\bbuilds? on\b", body, re.IGNORECASE):
        yield "'Before you start' does not say what the chapter builds on"


@rule
def takeaways(notebook):
    """The chapter closes with three to five takeaways, as a list."""
    count = len(re.findall(r"^(?:[-*]|\d+\.) ", body_of("Takeaways", notebook), re.MULTILINE))
    if not 3 <= count <= 5:
        yield f"{count} takeaways, not 3 to 5"


@rule
def depth(notebook):
    """Every section but the fixed ones says whether it is core or deeper."""
    for heading, _, cell in sections(notebook):
        if heading not in OPENING + CLOSING and len({"core", "deeper"} & set(tags(cell))) != 1:
            yield f"section '{heading}': tag its cell either core or deeper"


@rule
def exercises(notebook):
    """An exercise has a header with difficulty and minutes, then a stub, a check and a solution cell."""
    parts = ["stub", "check", "solution"]
    for index, cell in numbered(notebook, "markdown", "exercise"):
        if not EXERCISE.fullmatch(cell.source.split("\n", 1)[0]):
            yield f"cell {index}: not 'Exercise N.M — title (difficulty D/5, about T minutes)'"
        following = [later for place, later in numbered(notebook, "code") if place > index][:3]
        if [part for part, later in zip(parts, following, strict=False) if part in tags(later)] != parts:
            yield f"cell {index}: its next three code cells are not tagged stub, check, solution"
    count = len(list(numbered(notebook, "markdown", "exercise")))
    for part in parts:
        if len(code_cells(notebook, part)) != count:
            yield f"{count} exercises, but {len(code_cells(notebook, part))} cells tagged {part}"


# --- tags and slides


@rule
def known_tags(notebook):
    """Only tags that mean something here, so that a misspelt one is found."""
    for index, cell in numbered(notebook):
        for tag in sorted(tag for tag in set(tags(cell)) - TAGS if not CLAIM.fullmatch(tag)):
            yield f"cell {index}: unknown tag {tag!r}"


@rule
def claims(notebook):
    """A tag `claim-N.M` is on one code cell: the one that decides the claim."""
    seen = set()
    for index, cell in numbered(notebook):
        for tag in filter(CLAIM.fullmatch, tags(cell)):
            if cell.cell_type != "code" or tag in seen:
                yield f"cell {index}: {tag} is on a second cell, or on one without code"
            seen.add(tag)


@rule
def live_is_not_compared(notebook):
    """A measurement differs each time: nbval must not compare it."""
    for index, cell in numbered(notebook, tag="live"):
        if cell.cell_type != "code" or "nbval-ignore-output" not in tags(cell):
            yield f"cell {index}: live, but not a code cell with nbval-ignore-output"


@rule
def answers_are_hidden(notebook):
    """A cell that compares a guess is tagged `reveal`: stored folded, so that the guess comes first."""
    for index, cell in numbered(notebook, "code"):
        if ".compare(" in cell.source and "reveal" not in tags(cell):
            yield f"cell {index}: compares a prediction, but is not tagged reveal"


@rule
def what_is_hidden_gives_nothing_away(notebook):
    """JupyterLab shows the first line of folded code, and of folded output."""
    for index, what, line, harmless in folded(notebook):
        if line and not harmless.fullmatch(line):
            yield f"cell {index}: its folded {what} begins with {line!r}, not with {harmless.pattern!r}"


def folded(notebook):
    """(cell's index, "code" or "output", its first line, the pattern of a harmless one)."""
    for index, cell in numbered(notebook, "code"):
        about = cell.metadata.get("jupyter", {})
        if about.get("source_hidden"):
            line = cell.source.partition("\n")[0]
            yield index, "code", line, SOLUTION if "solution" in tags(cell) else HARMLESS
        if about.get("outputs_hidden") and cell.outputs:
            line = first_line(cell.outputs[0])
            yield index, "output", line, COMPARED if ".compare(" in cell.source else NEUTRAL


def first_line(output):
    """What JupyterLab's placeholder of a folded output shows."""
    if output.output_type == "error":
        text = "\n".join(output.traceback) or f"{output.ename}: {output.evalue}"
    elif output.output_type == "stream":
        text = "\n".join(map(drawn_over, output.text.split("\n")))
    else:
        text = next((output.data[kind] for kind in PLACEHOLDERS if kind in output.data), "")
    return next(filter(None, text.split("\n")), "")


def drawn_over(line):
    """What is left of a printed line that begins anew at each carriage return."""
    left = ""
    for text in line.split("\r"):
        left = text + left[len(text) :]
    return left


@rule
def questions_can_be_shown(notebook):
    """A `predict` cell stands right after its question: **Predict**, and each choice."""
    for index, cell in numbered(notebook, tag="predict"):
        before = notebook.cells[index - 1]
        found = OPENING_OF_QUESTION.search(before.source) if before.cell_type == "markdown" else None
        if found is None:
            yield f"cell {index}: no Markdown cell before it with **Predict** and a question"
            continue
        try:
            question(cell, found[0])
        except ValueError as error:
            yield f"cell {index}: {error}"


@rule
def slides(notebook):
    """Every cell says how it shows in a lecture."""
    for index, cell in numbered(notebook):
        if cell.metadata.get("slideshow", {}).get("slide_type") not in SLIDES:
            yield f"cell {index}: no slide type"


# --- outputs


@rule
def executed(notebook):
    """Every code cell was executed, or nbval would not compare it."""
    for index, cell in numbered(notebook, "code"):
        if cell.execution_count is None and "skip-execution" not in tags(cell):
            yield f"cell {index}: not executed"


@rule
def no_errors(notebook):
    """No error but one that the cell is there to show; nothing on stderr."""
    for index, cell, output in outputs(notebook):
        if output.output_type == "error" and "raises-exception" not in tags(cell):
            yield f"cell {index}: {output.ename}: {output.evalue}"
        if output.get("name") == "stderr":
            yield f"cell {index}: writes to stderr: {output.text.strip()[:80]}"


@rule
def alt_texts(notebook):
    """Every picture has a description: 40 characters or more for one that a cell draws."""
    for index, _, output in outputs(notebook):
        for kind in output.get("data", {}):
            alt = output.metadata.get(kind, {}).get("alt", "") if kind.startswith("image/") else None
            if alt is not None and len(alt.strip()) < 40:
                yield f"cell {index}: its {kind} has {len(alt.strip())} characters of alt text, fewer than 40"
    for index, cell in numbered(notebook, "markdown"):
        text = "\n".join(prose(cell))
        named = [match["alt"] for match in IMAGE.finditer(text)]
        tagged = [re.search(r"\balt=[\"'][^\"']", tag) for tag in IMAGE_TAG.findall(text)]
        if not all(alt.strip() for alt in named) or not all(tagged):
            yield f"cell {index}: a picture without alt text"


@rule
def no_machine_paths(notebook):
    """Nothing tells where the files of the author lay."""
    for index, cell in numbered(notebook):
        found = [cell.source, *(text for output in cell.get("outputs", []) for text in texts(output))]
        for match in filter(None, map(MACHINE_PATH.search, found)):
            yield f"cell {index}: a machine's path: {match.string[match.start() :][:40]!r}"


@rule
def no_machine_traces(notebook):
    """No output tells a process's number, an address with a port, or who built it on what machine."""
    for index, _, output in outputs(notebook):
        for text in texts(output):
            for found in machine_traces(text):
                yield f"cell {index}: of the machine that built it: {found!r}"


def machine_traces(text):
    """What in a text only the machine knows that made it; this machine's own names too."""
    names = (socket.gethostname(), os.environ.get("USER", ""), os.environ.get("LOGNAME", ""))
    own = [re.escape(name) for name in names if re.search(r"\w[\d._-]+\w", name)]  # "vm" may stand anywhere
    patterns = [MACHINE_TRACE, *(re.compile(rf"(?<![\w-]){name}(?![\w-])") for name in own)]
    return [match[0] for pattern in patterns if (match := pattern.search(text))]


@rule
def measurements_say_where_and_when(notebook):
    """What was measured names its machine and the date."""
    for index, cell in numbered(notebook, "code", "live"):
        said = [output.get("data", {}).get("text/markdown", "") for output in cell.outputs]
        if not any(map(CAPTION.match, said)):
            yield f"cell {index}: live, but its output does not say on what machine it was recorded, and when"


@rule
def no_addresses(notebook):
    """No output shows an address in memory: it differs each time."""
    for index, _, output in outputs(notebook):
        for match in filter(None, map(ADDRESS.search, texts(output))):
            yield f"cell {index}: an address in memory: {match.string[: match.end()][-60:]!r}"


@rule
def no_widget_state(notebook):
    """No stored widgets: a page that holds them needs a network to show anything."""
    if "widgets" in notebook.metadata:
        yield "the notebook's metadata hold widget state"
    for index, _, output in outputs(notebook):
        if WIDGET_VIEW in output.get("data", {}):
            yield f"cell {index}: a widget's view; its picture and text say it without a kernel"


# --- code holds no sentences


@rule
def no_sentences(notebook):
    """Prose stays in Markdown, so that a translation keeps the code: short strings and comments only.

    A string has at most 6 words, a one-line docstring 10, a comment 8.
    """
    for index, cell in numbered(notebook, "code"):
        source = python(cell)
        try:
            found = [*long_strings(ast.parse(source)), *long_comments(source)]
        except (SyntaxError, tokenize.TokenError) as error:
            found = [f"not Python: {error}"]
        for text in found:
            yield f"cell {index}: {text}"


def long_strings(tree):
    docstrings = {text for node in ast.walk(tree) if (text := one_line_docstring(node))}
    for node, text in strings(tree):
        if words(text) > (10 if node in docstrings else 6):
            yield f"a string of {words(text)} words: {text[:60]!r}"


def strings(tree):
    """(node, text) of every string; the pieces of an f-string are one."""
    f_strings = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    pieces = {piece for node in f_strings for piece in node.values}
    for node in f_strings:
        yield node, " … ".join(piece.value for piece in node.values if isinstance(piece, ast.Constant))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in pieces:
            yield node, node.value


def one_line_docstring(node):
    if not isinstance(node, ast.FunctionDef | ast.ClassDef) or ast.get_docstring(node) is None:
        return None
    text = node.body[0].value
    return text if "\n" not in text.value.strip() else None


def long_comments(source):
    """Comments of too many words; one that goes on over several lines counts as one."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]

    def block(item):
        count, token = item
        beside_code = not token.line.lstrip().startswith("#")
        return beside_code, token.start[0] if beside_code else token.start[0] - count

    for _, run in groupby(enumerate(comments), key=block):
        text = " ".join(token.string for _, token in run)
        if words(text) > 8:
            yield f"a comment of {words(text)} words: {text[:60]!r}"


def main(names=()):
    found = []
    try:
        for chapter in chapters(names):
            stored = nbformat.read(chapter.notebook, as_version=4)
            found += [f"{chapter.name}: {text}" for text in violations(stored)]
    except (BuildError, FileNotFoundError) as error:
        return str(error)
    return "\n".join(found) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
