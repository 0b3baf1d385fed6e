"""Picture of what each GPU must hold before any activation, against the number of GPUs."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled

LINES = {"ddp": "-", "zero1": "--", "zero2": "-.", "zero3": ":"}


def states_on_each(gpus, states, capacity):
    """gpus: their numbers. states: {strategy: bytes on each GPU, one for each number}. capacity: of a GPU."""
    sizes = {name: np.divide(nbytes, 1e9) for name, nbytes in states.items()}
    with styled():
        figure, axes = new_figure(height=4.2)
        for number, (name, gigabytes) in enumerate(sizes.items()):
            style = {"color": rank_colour(number), "linestyle": LINES[name]}
            axes.plot(gpus, gigabytes, label=label(f"ch9_{name}"), **style)
        capacity = capacity / 1e9
        axes.axhline(capacity, color=THEORY, linewidth=1, label=label("ch9_capacity", capacity=capacity))
        axes.set_xscale("log", base=2)
        axes.set_xticks(gpus, map(str, gpus))
        axes.set(xlabel=label("ch9_gpus"), ylabel=label("ch9_states_axis"), ylim=(0, None))
        axes.set_title(label("ch9_states_title", states=sizes["ddp"][-1], gpus=gpus[-1]))
        axes.legend()
        listed = "; ".join(
            label("ch9_states_one", name=label(f"ch9_{name}"), first=each[0], last=each[-1])
            for name, each in sizes.items()
        )
        words = {"first": gpus[0], "last": gpus[-1], "capacity": capacity, "listed": listed}
        return Picture(figure, label("ch9_states_alt", **words))
