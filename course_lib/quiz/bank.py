"""The bank of questions: data/questions.json, as objects that do not show their answers."""

import json
from dataclasses import dataclass, field
from functools import cache

from course_lib import data
from course_lib.labels import label


@dataclass(frozen=True, repr=False)
class Proof:
    """Where the course shows it: a notebook, a heading in it or None, and claims whose cells decide it."""

    notebook: str
    heading: str | None = None
    claims: tuple = ()

    @property
    def link(self):
        """The address as JupyterLab wants it: a heading with dashes for spaces, nothing escaped."""
        return self.notebook + (f"#{self.heading.replace(' ', '-')}" if self.heading else "")

    def __repr__(self):
        name = self.notebook.removesuffix(".ipynb")
        return f"{name}, “{self.heading}”" if self.heading else name


@dataclass(frozen=True, repr=False)
class Question:
    """One question. Shown, it is what the learner reads; what gives the answer away is not in it.

    kind: "single", "multiple", "number" or "open". options: {letter: text}. unit: of a number. chapters:
    the chapter it is from, then others it needs. For `grade`: right, the letters or the number; tolerance,
    relative; why, {letter: explanation} or the working; slips, ((wrong number, hint), ...); guide, ((point,
    worth), ...) of an open question; model, a short answer to it.
    """

    id: str
    kind: str
    difficulty: str
    chapters: tuple
    text: str
    options: dict = field(default_factory=dict)
    unit: str = ""
    right: object = None
    tolerance: float = 0.0
    why: dict | str = ""
    slips: tuple = ()
    guide: tuple = ()
    model: str = ""
    arguable: str = ""
    proof: Proof | None = None

    def __repr__(self):
        listed = [f"  {letter}  {text}" for letter, text in self.options.items()]
        return "\n".join([f"{self.id}. {self.text} ({self.about})", *listed])

    def _repr_markdown_(self):
        listed = [f"- **{letter}** {text}" for letter, text in self.options.items()]
        return "\n".join([f"**{self.id}.** {self.text} *({self.about})*", *([""] * bool(listed)), *listed])

    @property
    def about(self):
        """Kind and difficulty, and a number's unit, in words."""
        words = f"{label(f'quiz_{self.kind}')} · {label(f'quiz_{self.difficulty}')}"
        return f"{words} · {label('quiz_in', unit=self.unit)}" if self.unit else words

    def public(self, order=None):
        """What a browser may know before the answer: a dict for JSON. order: the options' letters."""
        options = [[letter, self.options[letter]] for letter in order or self.options]
        return {
            "id": self.id,
            "kind": self.kind,
            "about": self.about,
            "text": self.text,
            "options": options,
            "unit": self.unit,
        }


def load_questions():
    """All questions: the article's ten, in its order, then ten with numbers, then three open ones."""
    return list(_bank()[0].values())


def question(id):
    """The question called `id`, such as "Q1", "N3" or "O2"."""
    bank, name = _bank()[0], id.strip().upper() if isinstance(id, str) else None
    if name not in bank:
        raise ValueError(f"id must be one of {', '.join(bank)}; got {id!r}")
    return bank[name]


def example(kind):
    """A question of that kind, "multiple" or "number", to show the rules by; it counts for nothing."""
    found = {each.kind: each for each in _bank()[1].values()}
    if kind not in found:
        raise ValueError(f"kind must be one of {', '.join(found)}; got {kind!r}")
    return found[kind]


@cache
def _bank():
    stored = json.loads(data.path("questions.json").read_text(encoding="utf-8"))
    return tuple({raw["id"]: _question(raw) for raw in stored[part]} for part in ("questions", "examples"))


def _proof(notebook, heading=None, claims=()):
    return Proof(notebook, heading, tuple(claims))


def _question(raw):
    kind, options = raw["kind"], raw.get("options", {})
    common = {name: raw[name] for name in ("id", "kind", "difficulty", "text")}
    common |= {"chapters": tuple(raw["chapters"]), "arguable": raw.get("arguable", "")}
    common["proof"] = _proof(**raw["proof"]) if "proof" in raw else None
    if kind == "number":
        slips = tuple((slip["value"], slip["hint"]) for slip in raw["slips"])
        answer = {"right": raw["answer"]["value"], "tolerance": raw["answer"]["tolerance"]}
        return Question(**common, **answer, unit=raw["unit"], why=raw["working"], slips=slips)
    if kind == "open":
        guide = tuple((point["point"], point["worth"]) for point in raw["guide"])
        return Question(**common, guide=guide, model=raw["model"])
    texts = {letter: option["text"] for letter, option in options.items()}
    why = {letter: option["why"] for letter, option in options.items()}
    return Question(**common, options=texts, right=frozenset(raw["answer"]), why=why)
