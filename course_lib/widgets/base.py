"""What all widgets have in common: words, a state to go back to, and one bundle to display."""

import anywidget
import traitlets

from course_lib.labels import LABELS
from course_lib.widgets.page import style_sheet


class CourseWidget(anywidget.AnyWidget):
    """A widget that is alive in JupyterLab, and a picture and numbers everywhere else.

    A subclass has `_esm`; `about`, the prefixes of its labels; `stateful`, the traits that make its state,
    which code may set and read; `picture()`, a Picture of the state; `__repr__`, the result in words.
    """

    _css = style_sheet()
    about: tuple[str, ...] = ()
    stateful: tuple[str, ...] = ()
    labels = traitlets.Dict().tag(sync=True)
    initial = traitlets.Dict().tag(sync=True)

    def __init__(self, **state):
        if unknown := sorted(state.keys() - self.trait_names()):
            raise TypeError(f"{unknown[0]} is no setting here; there are {', '.join(self.stateful)}")
        words = {key: text for key, text in LABELS.items() if key.startswith(("widget_", *self.about))}
        super().__init__(labels=words, **state)
        self.initial = self.state()

    def state(self):
        """{trait: value}: what is set now."""
        return {name: getattr(self, name) for name in self.stateful}

    def reset(self):
        """Back to the state it was made with."""
        with self.hold_trait_notifications():
            for name, value in self.initial.items():
                setattr(self, name, value)

    def picture(self):
        """The state as a Picture, for where nothing can move; None if words are enough."""

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})  # none without a view
        still = self.picture()
        data["text/plain"] = repr(self) if still is None else repr(still)
        if still is None:
            return data, metadata
        picture, about = still._repr_mimebundle_()
        return {**picture, **data}, {**metadata, **about}
