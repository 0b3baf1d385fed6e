"""Pictures of chapter 12: what the questions ask about, what to read again, what guessing earns."""

from collections import Counter

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled
from course_lib.quiz.guessing import guessing_law

_ANSWERED = (("ch12_full", "o", 2), ("ch12_some", "^", 1), ("ch12_none", "X", 5))


def question_map(questions):
    """Questions against chapters: which chapter each is about, and which others treat it."""
    counts = Counter(each.chapters[0] for each in questions)
    most = min(counts, key=lambda chapter: (-counts[chapter], chapter))
    with styled():
        figure, axes = _grid(questions)
        main = [(place, each.chapters[0]) for place, each in enumerate(questions)]
        needs = [(place, other) for place, each in enumerate(questions) for other in each.chapters[1:]]
        axes.plot(
            *zip(*main, strict=True), "o", color=rank_colour(0), markersize=8, label=label("ch12_map_main")
        )
        if needs:
            xs, ys = zip(*needs, strict=True)
            axes.plot(xs, ys, "D", color=rank_colour(0), fillstyle="none", label=label("ch12_map_needs"))
        axes.set_title(label("ch12_map_title", most=most, count=counts[most]))
        figure.legend(loc="outside lower center", ncols=2, fontsize=10)
        listed = "; ".join(label("ch12_map_one", chapter=each, count=counts[each]) for each in sorted(counts))
        return Picture(figure, label("ch12_map_alt", listed=listed))


def reread_map(questions, score):
    """The same, with how each answer of a quiz.Score was graded."""
    places = {"ch12_full": [], "ch12_some": [], "ch12_none": [], "ch12_unanswered": []}
    for place, each in enumerate(questions):
        places[_earned(score.grades.get(each.id))].append((place, each.chapters[0]))
    chapters = sorted({each.question.chapters[0] for each in score.again})
    named = label("ch12_nothing")
    if chapters:
        named = label("ch12_again_chapters", listed=", ".join(map(str, chapters)))
    with styled():
        figure, axes = _grid(questions)
        for key, mark, colour in (*_ANSWERED, ("ch12_unanswered", ".", 7)):
            xs, ys = zip(*places[key], strict=True) if places[key] else ((), ())
            axes.plot(
                xs, ys, mark, color=rank_colour(colour), markersize=4 if mark == "." else 9, label=label(key)
            )
        title = label("ch12_again_title", chapters=named) if chapters else label("ch12_again_none")
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=4, fontsize=10)
        counts = {key.removeprefix("ch12_"): len(found) for key, found in places.items()}
        words = {"right": counts["full"], "half": counts["some"], "wrong": counts["none"]}
        return Picture(figure, label("ch12_again_alt", **words, open=counts["unanswered"], chapters=named))


def guessing(questions, points):
    """Share of blind guessers against points: the law, and the `points` that graded guessers earned."""
    law, halves = guessing_law(questions), np.arange(2 * len(questions) + 1) / 2
    counted = np.bincount(np.rint(2 * np.asarray(points)).astype(int), minlength=len(law)) / len(points)
    mean, enough = float(law @ halves), float(law[halves >= len(questions) / 2].sum())
    with styled():
        figure, axes = new_figure(height=3.4)
        axes.plot(halves, law, color=THEORY, label=label("ch12_guess_law"))
        name = label("ch12_guess_counted", count=len(points))
        axes.plot(halves, counted, "o", color=rank_colour(0), label=name)
        axes.set(xlabel=label("ch12_guess_points", most=len(questions)), ylabel=label("ch12_guess_share"))
        axes.set_title(label("ch12_guess_title", mean=mean, most=len(questions)))
        axes.legend(loc="upper right")
        alt = label("ch12_guess_alt", most=len(questions), mean=mean, enough=enough)
        return Picture(figure, alt)


def _earned(grade):
    if grade is None:
        return "ch12_unanswered"
    return "ch12_full" if grade.correct else "ch12_some" if grade.points else "ch12_none"


def _grid(questions):
    figure, axes = new_figure(height=4.0)
    axes.set_xticks(range(len(questions)), [each.id for each in questions], rotation=60, fontsize=9)
    axes.set_yticks(range(1, 12))
    axes.set(xlim=(-0.7, len(questions) - 0.3), ylim=(11.6, 0.4))  # chapter 1 on top, as one reads
    axes.set(xlabel=label("ch12_map_question"), ylabel=label("ch12_map_chapter"))
    return figure, axes
