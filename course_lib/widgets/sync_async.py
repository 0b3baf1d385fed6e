"""Synchronous, asynchronous and what lies between, simulated side by side."""

import threading

import traitlets

from course_lib.pictures.ways import STYLES, side_by_side
from course_lib.sgd.times import KINDS
from course_lib.sgd.ways import SPREADING, WAYS, Setting, outcome
from course_lib.widgets import traits
from course_lib.widgets.base import CourseWidget
from course_lib.widgets.page import script
from course_lib.widgets.ways_in_words import setting_text
from course_lib.widgets.ways_view import view

SETTINGS = (
    "workers",
    "kind",
    "spread",
    "slow",
    "latency",
    "transfer",
    "rate",
    "rule",
    "noise",
    "slack",
    "extra",
    "period",
    "seed",
    "gradients",
)
PINNED = (*SETTINGS, "ways")

# What each preset sets; the rest is as by default.
PRESETS: dict[str, dict] = {
    "async_wins": {"kind": "lognormal", "slow": 4.0},
    "async_diverges": {
        "kind": "constant",
        "rate": 1.92,  # below the 2 that synchronous SGD bears
        "gradients": 600,
        "target": 0.02,
        "ways": ["synchronous", "asynchronous"],
    },
    "barrier": {"ways": ["synchronous", "asynchronous"]},
    "backup": {"ways": ["synchronous", "backup"]},
}


class SyncAsync(CourseWidget):
    """See `sync_async`. All its arguments but `preset` are traits; `outcomes` follow."""

    _esm = script("sync_async")
    about = ("sync_async_", "way_", "ways_")
    stateful = (*PINNED, "target", "axis", "pins")

    workers = traits.count(Setting.workers, 2, 16)
    kind = traits.choice(Setting.kind, KINDS)
    spread = traits.share(Setting.spread)
    slow = traits.between(Setting.slow, 1, 10)
    latency = traits.between(Setting.latency, 0, 10)
    transfer = traits.between(Setting.transfer, 0, 10)
    rate = traits.between(Setting.rate, 1e-6, 1e6)
    rule = traits.choice("divided", ("divided", "same"))
    noise = traits.between(Setting.noise, 0, 10)
    slack = traits.count(Setting.slack, 0, 100)
    extra = traits.count(Setting.extra, 0, 8)
    period = traits.count(Setting.period, 1, 16)
    seed = traits.count(Setting.seed, 0, 10**6)
    gradients = traits.count(Setting.gradients, 32, 1000)
    ways = traits.some(WAYS, WAYS)
    target = traits.between(0.01, 1e-6, 0.9)
    axis = traits.choice("gradients", ("updates", "gradients"))
    pins = traits.Pins(PINNED, most=3)

    shown = traitlets.Dict().tag(sync=True)  # all that the browser draws, computed here
    styles = traitlets.Dict().tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    kinds = traitlets.Dict({kind: kind in SPREADING for kind in KINDS}).tag(sync=True)  # has it a spread?
    all_ways = traitlets.List(list(WAYS)).tag(sync=True)

    def __init__(self, **state):
        self._lock, self._drawn = threading.RLock(), None
        defaults = {name: self.trait_defaults(name) for name in (*PINNED, "target")}
        super().__init__(
            presets={name: {**defaults, **changes} for name, changes in PRESETS.items()},
            styles={
                way: {"dash": " ".join(map(str, dashes)), "marker": marker, "colour": colour}
                for way, (colour, dashes, marker) in STYLES.items()
            },
            **state,
        )
        self._show()

    @property
    def setting(self):
        return _setting({name: getattr(self, name) for name in SETTINGS})

    @property
    def outcomes(self):
        """{way: sgd.ways.Outcome} of the ways shown."""
        return {way: outcome(way, self.setting) for way in self.ways}

    def pin(self):
        """Keep what is set now to compare with."""
        self.pins = [*self.pins, {name: getattr(self, name) for name in PINNED}]

    def preset(self, name):
        """Set all but the pins as one of PRESETS has it."""
        if name not in PRESETS:
            raise traits.refusal("preset", f"one of {', '.join(PRESETS)}", name)
        with self.hold_trait_notifications():
            for trait, value in self.presets[name].items():
                setattr(self, trait, value)

    def picture(self):
        (_, setting, outcomes), *pinned = self._runs()
        pinned = [(letter, each) for letter, _, its in pinned for each in its]
        words = setting_text(setting, self.ways), repr(self)
        return side_by_side(outcomes, pinned, self.target, self.axis, *words)

    def __repr__(self):
        return self.shown["said"]

    def _runs(self):
        states = [{name: getattr(self, name) for name in PINNED}, *self.pins]
        for letter, state in zip("ABCD", states, strict=False):
            setting = _setting(state)
            yield letter, setting, [outcome(way, setting) for way in state["ways"]]

    @traitlets.observe(*PINNED, "target", "pins")
    def _show(self, _=None):
        with self._lock:  # JupyterLab runs what comes from the browser in another thread than the cells
            drawn = {name: getattr(self, name) for name in (*PINNED, "target", "pins")}
            if drawn != self._drawn:  # where several change at once, each tells
                self.shown = view(list(self._runs()), self.target)
                self._drawn = drawn


def _setting(state):
    fields = {name: value for name, value in state.items() if name not in ("rule", "ways")}
    return Setting(divided=state["rule"] == "divided", **fields)


def sync_async(preset=None, **state):
    """Explorer: ways to run SGD on K workers, simulated on one quadratic with the same budget of gradients.

    preset: one of PRESETS, what to start from. state, each with a default:
    workers: K, 2 to 16. kind: of compute times, one of sgd.KINDS, with `spread` (0 to 1) where it has one.
    slow: how many times longer the first worker takes, 1 to 10. latency (of a message), transfer (of a whole
    gradient over one link): in seconds, which are means of a gradient's time. rate: of an averaged gradient;
    rule: a single one counts "divided" by K or the "same". noise: of a gradient. slack: of stale-synchronous.
    extra: backup workers on top of K. period: of local SGD. seed. gradients: each way's budget. ways: those
    shown, of sgd.ways.WAYS. target: loss to reach, as a share of that at the start. axis: of the left chart,
    "updates" or "gradients". pins: settings to compare with.
    """
    if preset is not None and preset not in PRESETS:
        raise traits.refusal("preset", f"one of {', '.join(PRESETS)}", preset)
    return SyncAsync(**{**PRESETS.get(preset, {}), **state})
