"""A weight whose updates are small, in two formats: what it is after so many steps."""

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled

MARKERS = "os^v"


def small_updates(steps, weights, update):
    """weights: {name: the weight after each of `steps`}; the line loses `update` a step, from 1."""
    ends = {name: values[-1] for name, values in weights.items()}
    still = [name for name, end in ends.items() if end == 1]
    with styled():
        figure, axes = new_figure()
        exact = [1 - update * each for each in steps]
        axes.plot(steps, exact, color=THEORY, label=label("ch8_exact", update=update))
        for number, (name, values) in enumerate(weights.items()):
            axes.plot(steps, values, MARKERS[number % 4], color=rank_colour(number), markersize=7, label=name)
        axes.set(xlabel=label("ch8_updates"), ylabel=label("ch8_weight"))
        axes.ticklabel_format(useOffset=False)
        key = "ch8_still_title" if still else "ch8_moved_title"
        title = label(key, names=" and ".join(still), update=update)
        axes.set_title(title)
        axes.legend()
        listed = "; ".join(f"{name} {end:.4g}" for name, end in ends.items())
        words = {"steps": steps[-1], "line": 1 - update * steps[-1], "listed": listed}
        return Picture(figure, label("ch8_precision_alt", title=title, **words))
