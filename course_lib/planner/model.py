"""What is trained: a transformer's size and shape."""

from dataclasses import dataclass

from course_lib.arguments import real_number, whole_number


@dataclass(frozen=True)
class Model:
    """parameters: how many numbers are trained. layers, width, head_width: what its activations depend on.

    width: numbers a token, between layers. head_width: numbers a token in one attention head; it need not
    divide the width, for it only enters an estimate.
    """

    parameters: float
    layers: int
    width: int
    head_width: int = 128

    def __post_init__(self):
        parameters = real_number("parameters", self.parameters, inclusive=False)
        object.__setattr__(self, "parameters", parameters)
        for name in ("layers", "width", "head_width"):
            number = whole_number(name, getattr(self, name), 1)
            object.__setattr__(self, name, number)  # a Python int: NumPy's overflow


def transformer(layers, width, vocabulary=50257, positions=2048, head_width=128):
    """The Model of that shape, its parameters counted: 12 L h^2 + 13 L h + (V + s) h.

    Narayanan et al. 2021, section 5.1: attention and a feed-forward part of four times the width, with biases
    and layer norms; a learnt embedding of `vocabulary` tokens, used again for the output, and of `positions`.
    """
    layers, width = whole_number("layers", layers, 1), whole_number("width", width, 1)
    tokens = whole_number("vocabulary", vocabulary, 1) + whole_number("positions", positions, 0)
    return Model(12 * layers * width**2 + 13 * layers * width + tokens * width, layers, width, head_width)


# Sizes as their authors round them. BERT: Devlin et al. 2019. GPT-2: Radford et al. 2019. 7B, 13B, 175B: the
# shapes of GPT-3, Brown et al. 2020, table 2.1. 7.5B: the example of Rajbhandari et al. 2020, figure 1, in
# the shape of Narayanan et al. 2021, table 1.
MODELS = {
    "BERT-base": Model(110e6, 12, 768, 64),
    "GPT-2 1.5B": Model(1.5e9, 48, 1600, 64),
    "7B": Model(7e9, 32, 4096, 128),
    "7.5B": Model(7.5e9, 36, 4096, 128),
    "13B": Model(13e9, 40, 5120, 128),
    "GPT-3 175B": Model(175e9, 96, 12288, 128),
}
