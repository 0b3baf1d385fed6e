"""Explorer of what a training job needs: memory of one GPU, time of a step."""

from dataclasses import asdict

import traitlets

from course_lib import planner as plans
from course_lib.labels import label
from course_lib.link import Link
from course_lib.pictures.planner import plan_bars
from course_lib.pictures.wording import bytes_text, number_text, seconds_text
from course_lib.widgets import traits
from course_lib.widgets.base import CourseWidget
from course_lib.widgets.page import script
from course_lib.widgets.presets import LINKS

SHAPE = ("layers", "width", "head_width")
CHOSEN = ("ranks", "strategy", "precision", "optimiser", "batch", "sequence", "recompute")
SHARES = ("overlap", "utilisation")
PINNED = ("model", *SHAPE, "vocabulary", "gpu", "link", *CHOSEN, *SHARES)
OWN, LATENCY = "own", 5e-6


class Planner(CourseWidget):
    """See `planner`. All arguments are traits; `plan`, a planner.Plan, follows."""

    _esm = script("planner")
    about = ("planner_", "plan_")
    stateful = (*PINNED, "pins")

    model = traits.choice("7B", (*plans.MODELS, OWN))
    layers = traits.count(32, 1, 10**4)
    width = traits.count(4096, 1, 10**6)
    head_width = traits.count(128, 1, 10**6)
    vocabulary = traits.count(50257, 1, 10**8)
    gpu = traits.choice("A100 80 GB", tuple(plans.GPUS))
    link = traits.choice("NVLink 3 (A100)", tuple(LINKS))
    ranks = traits.count(8, 1, 10**6)
    strategy = traits.choice("ddp", plans.STRATEGIES)
    precision = traits.choice("mixed", plans.PRECISIONS)
    optimiser = traits.choice("adam", plans.OPTIMISERS)
    batch = traits.count(1, 1, 10**5)
    sequence = traits.count(2048, 1, 10**7)
    recompute = traits.choice("none", plans.RECOMPUTE)
    overlap = traits.share(1.0)
    utilisation = traits.positive_share(0.4)
    pins = traits.Pins(PINNED)

    models = traitlets.Dict({name: asdict(model) for name, model in plans.MODELS.items()}).tag(sync=True)
    gpus = traitlets.Dict({name: asdict(gpu) for name, gpu in plans.GPUS.items()}).tag(sync=True)
    links = traitlets.Dict(LINKS).tag(sync=True)
    latency = traitlets.Float(LATENCY).tag(sync=True)
    strategies = traitlets.List(list(plans.STRATEGIES)).tag(sync=True)
    precisions = traitlets.List(list(plans.PRECISIONS)).tag(sync=True)
    optimisers = traitlets.List(list(plans.OPTIMISERS)).tag(sync=True)
    recomputes = traitlets.List(list(plans.RECOMPUTE)).tag(sync=True)
    pinned = traitlets.List(list(PINNED)).tag(sync=True)

    @traitlets.observe("model")
    def _model_sets_shape(self, _):
        if self.model != OWN:
            with self.hold_trait_notifications():  # half a shape would pass for the learner's own
                for name, value in self._preset_shape().items():
                    setattr(self, name, value)

    @traitlets.observe(*SHAPE)
    def _other_shape_is_own(self, _):
        if self.model != OWN and any(getattr(self, n) != v for n, v in self._preset_shape().items()):
            self.model = OWN

    def _preset_shape(self):
        return {name: getattr(plans.MODELS[self.model], name) for name in SHAPE}

    @property
    def plan(self):
        return _plan(self.state())

    def pin(self):
        """Keep these settings to compare with."""
        self.pins = [*self.pins, {name: getattr(self, name) for name in PINNED}]

    def picture(self):
        states = [self.state(), *self.pins]
        rows = [(_plan(state), _words(state)) for state in states]
        return plan_bars(rows, repr(self))

    def __repr__(self):
        words = _words(self.state())
        verdict = label("planner_fits" if self.plan.fits else "planner_does_not_fit", **words)
        return f"{label('planner_result', **words)} {verdict} {words['step']}"


def _plan(state):
    if state["model"] == OWN:
        names = ("layers", "width", "vocabulary", "sequence", "head_width")
        model = plans.transformer(*(state[name] for name in names))
    else:
        model = plans.MODELS[state["model"]]
    link = Link(LATENCY, LINKS[state["link"]])
    return plans.plan(model, state["gpu"], link=link, **{name: state[name] for name in (*CHOSEN, *SHARES)})


def _words(state):
    """What the labels of a state are filled in with."""
    plan = _plan(state)
    memory, step, capacity = plan.memory, plan.step, plan.job.gpu.memory
    size = {name: number_text(state[name]) for name in ("layers", "width")}
    own = label("planner_own_size", parameters=_parameters_text(plan.job.model.parameters), **size)
    times = {name: seconds_text(getattr(step, name)) for name in ("seconds", "communication", "exposed")}
    return {
        "model": own if state["model"] == OWN else state["model"],
        "precision": label(f"planner_precision_{state['precision']}"),
        "optimiser": label(f"planner_{state['optimiser']}"),
        "strategy": label(f"planner_{state['strategy']}"),
        "ranks": number_text(state["ranks"]),
        "gpu": state["gpu"],
        "total": bytes_text(memory.total),
        "capacity": bytes_text(capacity),
        "over": bytes_text(max(0.0, memory.total - capacity)),
        "part": label(f"plan_{plan.largest}"),
        "largest": bytes_text(getattr(memory, plan.largest)),
        "step": label(_step_key(step), **times),
    }


def _parameters_text(parameters):
    unit, name = (1e9, "planner_billion") if parameters >= 1e9 else (1e6, "planner_million")
    return label(name, number=number_text(parameters / unit))


def _step_key(step):
    if step.exposed:
        return "planner_step"
    return "planner_step_hidden" if step.communication else "planner_step_alone"


def planner(model=None, gpu="A100 80 GB", link="NVLink 3 (A100)", *, layers=None, width=None, **settings):
    """Explorer: does a model fit on each of K GPUs, and how long does a step take?

    model: one of planner.MODELS ("7B"), or `layers` and `width` of one's own, with `vocabulary` and
    `head_width`. gpu: one of planner.GPUS. link: one of presets.LINKS. Settings: ranks, strategy, precision,
    optimiser, batch, sequence, recompute, overlap, utilisation as in planner.Job; pins: states to compare
    with.
    """
    shape = {name: value for name, value in (("layers", layers), ("width", width)) if value is not None}
    if shape and model not in (None, OWN):
        raise ValueError("model and layers or width both set the size: give one")
    widget = Planner(gpu=gpu, link=link)
    widget.model = model or (OWN if shape else "7B")
    for name, value in {**shape, **settings}.items():
        if name not in widget.stateful:
            raise TypeError(f"planner has no setting {name!r}; it has {', '.join(widget.stateful)}")
        setattr(widget, name, value)
    widget.initial = widget.state()
    return widget
