"""Player of a synchronous step: the puzzle class at work, seen as source, pipe, node and terminal."""

import threading

import traitlets

from course_lib.labels import label
from course_lib.pictures.class_at_work import one_view
from course_lib.pictures.wording import bytes_text, number_text, seconds_text
from course_lib.step_story import PRESETS, Setting, state, tell
from course_lib.step_story.model import layer_bytes
from course_lib.step_story.story import MOST_RANKS, WIDTHS
from course_lib.step_story.tables import moments, pace, tables
from course_lib.widgets import traits
from course_lib.widgets.page import script
from course_lib.widgets.player import Player

MODES = ("source", "pipe", "node", "terminal")
SETTINGS = ("ranks", "width", "bandwidth", "slow")


class StepPlayer(Player):
    """See `step_player`. All its arguments but `preset` and `story` are traits; `story` and `now` follow."""

    _esm = script("step_player")
    about = ("player_", "step_player_")
    stateful = (*SETTINGS, "frame", "speed", "playing", "mode", "worker")

    mode = traits.choice("source", MODES)
    worker = traits.count(0, 0, MOST_RANKS - 1)
    ranks = traits.count(Setting.ranks, 2, MOST_RANKS)
    width = traits.choice(Setting.width, WIDTHS)
    bandwidth = traits.between(Setting.bandwidth, 0.2e6, 50e6)
    slow = traits.count(-1, -1, MOST_RANKS - 1)

    given = traitlets.Bool().tag(sync=True)  # is the story of another run, which no setting changes?
    tables = traitlets.Dict().tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    widths = traitlets.List(list(WIDTHS)).tag(sync=True)
    sizes = traitlets.List([sum(layer_bytes(width)) for width in WIDTHS]).tag(sync=True)

    def __init__(self, story=None, **chosen):
        self._lock = threading.RLock()
        self._told = None
        self.story = story
        if story is not None:
            chosen |= {name: getattr(story.setting, name) for name in SETTINGS}
        presets = {name: _settings(setting) for name, setting in PRESETS.items()}
        frame = chosen.pop("frame", 0)
        super().__init__(given=story is not None, presets=presets, **chosen)
        self._tell()
        self.frame = frame
        self.initial = self.state()

    @property
    def now(self):
        """The State shown."""
        return state(self.story, self.time)

    def preset(self, name):
        """Set what one of PRESETS sets, and go to its start."""
        if name not in PRESETS:
            raise traits.refusal("preset", f"one of {', '.join(PRESETS)}", name)
        self._set(self.presets[name])

    def reset(self):
        self._set({name: self.initial[name] for name in SETTINGS})
        for name, value in self.initial.items():
            setattr(self, name, value)

    def picture(self):
        return one_view(self.story, self.mode, min(self.worker, self.story.setting.ranks - 1))

    def __repr__(self):
        return in_words(self.story, self.now)

    def _set(self, values):
        with self.hold_trait_notifications():
            for name, value in values.items():
                setattr(self, name, value)

    @traitlets.observe(*SETTINGS)
    def _tell(self, _=None):
        with self._lock:  # JupyterLab runs what comes from the browser in another thread than the cells
            wanted = {name: getattr(self, name) for name in SETTINGS}
            if wanted == self._told:  # where several change at once, each tells
                return
            self._told = wanted
            if not self.given:
                slow = self.slow if self.slow < self.ranks else -1
                self.story = tell(**{**wanted, "slow": slow})
            times = moments(self.story)
            with self.hold_sync():
                self.tables = tables(self.story)
                self.times, self.pace = list(times), list(pace(self.story, times))
                self.frame = 0


def _settings(setting):
    return {name: getattr(setting, name) for name in SETTINGS}


def in_words(story, now):
    """A State in words: who does what, bytes that have arrived, and the loss so far."""
    groups = {}
    for rank, (doing, late) in enumerate(zip(now.doing, now.late, strict=True)):
        key = "wait_for" if late else doing.kind
        words = label(f"step_player_{key}", layer=doing.part + 1, ranks=_listed(late))
        groups.setdefault(words, []).append(rank)
    return label(
        "step_player_said",
        step=min(doing.step for doing in now.doing) + 1,
        steps=story.setting.steps,
        time=seconds_text(now.time),
        doing="; ".join(f"{_listed(ranks, 8)}: {words}" for words, ranks in groups.items()),
        sent=bytes_text(sum(link.arrived for link in now.links)),
        loss=number_text(now.losses[-1]),
    )


def _listed(ranks, most=3):
    return ", ".join(map(str, ranks[:most])) + (", …" if len(ranks) > most else "")


def step_player(preset="balanced", story=None, **chosen):
    """Player of synchronous steps of SGD by a puzzle class, each student a worker at a desk in a ring.

    preset: one of PRESETS, what to start from. story: a Story to play instead, such as
    tell(run=launch(worker_of(), 4)); then nothing can be set but how to look at it.
    chosen, each with a default: mode: "source" (data to the desks), "pipe" (gradient chunks on the links),
    "node" (inside student `worker`) or "terminal" (replicas and loss). ranks: K, 2 to 8. width: of the
    network, so of the gradient; one of WIDTHS. bandwidth: bytes/s of a link, 2e5 to 5e7. slow: the rank whose
    work takes twice as long, or -1. frame; speed.
    """
    if preset not in PRESETS:
        raise traits.refusal("preset", f"one of {', '.join(PRESETS)}", preset)
    if story is not None:
        return StepPlayer(story, **chosen)
    return StepPlayer(**{**_settings(PRESETS[preset]), **chosen})
