"""The answers of chapter 12's questions, folded, with links to what proves them: for those who only read.

A line <!-- answers: Q --> in a chapter's source stands for those of all questions whose ids begin with Q.
"""

import re

import jupytext
from pages import deciding, section_link

from course_lib.pictures.wording import number_text
from course_lib.quiz import load_questions

ANSWERS = re.compile(r"^<!-- answers: (\w) -->$", re.MULTILINE)


def with_answers(cells, sources):
    """The cells with the answers instead of such lines; sources: the folder of the chapters' sources."""
    if any(ANSWERS.search(cell.source) for cell in cells):
        decide = deciding(chapters(sources))
        for cell in cells:
            cell.source = ANSWERS.sub(lambda found: folded(found[1], decide), cell.source)
    return cells


def chapters(sources):
    """{name: notebook}, not executed, in the order of the course."""
    paths = sorted(sources.glob("[0-9][0-9]_*.md"))
    return {path.stem: jupytext.reads(path.read_text(encoding="utf-8"), fmt="md:myst") for path in paths}


def folded(letter, decide):
    return "\n\n".join(answer(each, decide) for each in load_questions() if each.id.startswith(letter))


def answer(question, decide):
    """One question's answer as Markdown; decide is {claim: link to its section}."""
    parts = [*right(question), *([f"*Arguable:* {question.arguable}"] if question.arguable else [])]
    parts.append(f"Proof: {'; '.join(proofs(question.proof, decide))}.")
    summary = f"<details><summary>{question.id}: answer and proof</summary>"
    return "\n\n".join([summary, *parts, "</details>"])


def right(question):
    if question.kind == "number":
        number = f"{number_text(question.right)} {question.unit}".strip()
        return [f"**{number}.** {question.why}"]
    if question.kind == "open":
        return [question.model, "\n".join(f"- {point} ({worth})" for point, worth in question.guide)]
    chosen = sorted(question.right)
    return ["\n".join(f"- **{question.options[letter]}.** {question.why[letter]}" for letter in chosen)]


def proofs(proof, decide):
    """Links: to the section that a learner is sent to, then to those that decide the claims."""
    links = {section_link(proof.notebook.removesuffix(".ipynb"), proof.heading): []}
    for claim in proof.claims:
        links.setdefault(decide[claim], []).append(claim)
    return [f"{link} ({named(claims)})" if claims else link for link, claims in links.items()]


def named(claims):
    return f"claim{'s' * (len(claims) > 1)} {', '.join(claims)}"
