"""What the browser draws of the ways: plain numbers and words, so that it has nothing to compute."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.ways import loss_limits, window
from course_lib.pictures.wording import percent_text
from course_lib.sgd.outcome import AXES
from course_lib.sgd.ways import SINGLE
from course_lib.widgets.ways_in_words import result_text, row, setting_text

ALL = -1  # the lane of an update that goes through all lanes


def view(runs, target):
    """runs: [(letter, Setting, its Outcomes)], what is set now first, then what was pinned."""
    _, setting, outcomes = runs[0]
    everything = [outcome for _, _, each in runs for outcome in each]
    seconds, limits = window(outcomes), loss_limits(everything, target)
    return {
        "said": result_text(setting, outcomes, target),
        "window": seconds,
        "groups": [_group(outcome, seconds) for outcome in outcomes],
        "limits": limits,
        "target": target,
        "target_text": label("ways_target", target=percent_text(target)),
        "ends": {axis: max(float(each.along(axis)[-1]) for each in everything) for axis in AXES},
        "curves": [_curve(letter, each, target, limits) for letter, _, its in runs for each in its],
        "runs": [
            {
                "letter": letter,
                "text": setting_text(each, [outcome.way for outcome in its]),
                "rows": [[outcome.way, *row(outcome, target)] for outcome in its],
            }
            for letter, each, its in runs
        ],
    }


def _group(outcome, seconds):
    """The lanes of one way until `seconds`: bars [lane, start, stop, late], updates [lane, time]."""
    history = outcome.history
    lanes = history.sources - 1 if outcome.way in SINGLE else np.full(len(history), ALL)
    return {
        "way": outcome.way,
        "lanes": len(outcome.lanes),
        "stop": min(seconds, outcome.seconds),
        "bars": [
            [lane, *_short([start, min(stop, seconds)]), int(late)]
            for lane, bars in enumerate(outcome.lanes)
            for start, stop, late in bars
            if start < seconds
        ],
        "updates": [
            [int(lane), *_short([time])]
            for lane, time in zip(lanes, history.seconds, strict=True)
            if time <= seconds
        ],
    }


def _curve(letter, outcome, target, limits):
    return {
        "letter": letter,
        "way": outcome.way,
        "losses": _short(np.clip(outcome.losses, *limits)),
        **{axis: _short(outcome.along(axis)) for axis in AXES},
        "reached": outcome.reached(target),
        "leaves": bool(np.max(outcome.losses) > limits[1]),
    }


def _short(numbers):
    """Five digits, enough for a screen."""
    return [float(f"{number:.5g}") for number in numbers]
