"""The element that takes a learner's guess, and in a lecture counts hands."""

import contextlib
import math

import traitlets
from IPython.display import display

from course_lib import progress
from course_lib.labels import label
from course_lib.predict import Comparison
from course_lib.widgets import traits
from course_lib.widgets.base import CourseWidget
from course_lib.widgets.page import script


class Guess(traits.Checked):
    """None, one of the widget's choices, or, if it has none, a number."""

    def __init__(self):
        super().__init__(None, "", None)

    def validate(self, widget, value):
        if value is None or (isinstance(value, str) and value in widget.choices):
            return value
        number = traits.as_number(value)
        if not widget.choices and number is not None and math.isfinite(number):
            return int(number) if isinstance(value, int) else number
        allowed = f"one of {', '.join(widget.choices)}" if widget.choices else "a finite number"
        raise traits.refusal(self.name, f"{allowed}, or None", value)


class Prediction(CourseWidget):
    """See predict.predict. `guess` can be set and read; `hands` is {choice: hands raised}.

    A guess is kept in the learner's progress. Once compared it is `locked`: the page takes no other.
    """

    _esm = script("prediction")
    about = ("prediction",)
    stateful = ("guess", "locked", "hands")

    key = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    choices = traitlets.List().tag(sync=True)
    unit = traitlets.Unicode().tag(sync=True)
    guess = Guess()
    locked = traitlets.Bool().tag(sync=True)
    hands = traitlets.Dict().tag(sync=True)

    def __init__(self, key, choices=None, unit=""):
        choices = _checked_choices(choices)
        super().__init__(
            key=str(key),
            title=label("prediction", key=key),
            choices=choices,
            unit=unit,
            hands=dict.fromkeys(choices, 0),
        )
        self._take_up(progress.guesses().get(self.key))
        self.observe(lambda change: progress.note("guess", self.key, value=change.new), "guess")

    def _take_up(self, earlier):
        """Go on with the guess of an earlier session, if it still answers the question."""
        if earlier:
            with contextlib.suppress(ValueError):
                self.guess = earlier.guess
                self.locked = earlier.compared is not None

    @traitlets.validate("hands")
    def _whole_hands(self, proposal):
        hands = proposal.value
        counted = all(type(count) is int and count >= 0 for count in hands.values())
        if set(hands) != set(self.choices) or not counted:
            raise traits.refusal("hands", f"a count for each of {', '.join(self.choices)}", hands)
        return hands

    def compare(self, measured, computed=False):
        """Show the guess beside `measured`, before whatever else the cell shows; a guess is locked now."""
        if self.guess is not None and not self.locked:
            progress.note("comparison", self.key, value=self.guess, measured=measured)
            self.locked = True
        display(Comparison(self.key, self.guess, measured, computed))

    def __repr__(self):
        """What is read where the element is not: in the stored notebook, or when it is opened anew."""
        return label("prediction_still", key=self.key)


def _checked_choices(choices):
    choices = [] if choices is None else list(choices)
    if len(set(choices)) < len(choices) or not all(isinstance(choice, str) and choice for choice in choices):
        raise traits.refusal("choices", "different letters or words", choices)
    return choices
