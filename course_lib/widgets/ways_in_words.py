"""What the widget of the ways says: a setting, a result, a row of its table."""

from course_lib import laws
from course_lib.labels import label
from course_lib.pictures.wording import exact_text, number_text, percent_text, seconds_text
from course_lib.sgd.ways import SINGLE, Setting

COLUMNS = ("round", "waiting", "staleness", "late", "end", "updates", "gradients", "seconds")
# Told always where they matter; and where they are not what they usually are.
TOLD, TOLD_IF_SET = ("spread", "slack", "extra", "period"), ("slow", "latency", "transfer", "noise")


def setting_text(setting, ways):
    """A Setting in words; what is at work in one of `ways` only."""
    details = [
        label(f"ways_detail_{name}", value=exact_text(getattr(setting, name)))
        for name in (*TOLD, *TOLD_IF_SET)
        if setting.matters(name, ways) and (name in TOLD or getattr(setting, name) != getattr(Setting, name))
    ]
    if setting.matters("divided", ways):
        details.append(label("ways_detail_divided" if setting.divided else "ways_detail_same"))
    details.append(label("ways_detail_seed", value=setting.seed))
    kind, rate = label(f"ways_kind_{setting.kind}"), exact_text(setting.rate)
    return label("ways_setting", workers=setting.workers, kind=kind, rate=rate, details=", ".join(details))


def result_text(setting, outcomes, target):
    """Who reaches the target loss and when, who never does; and the law that applies, if one does."""
    there = sorted((o for o in outcomes if o.reached(target) is not None), key=lambda o: o.seconds_to(target))
    grew = [outcome for outcome in outcomes if outcome.grew]
    missed = [outcome for outcome in outcomes if outcome not in [*there, *grew]]
    said = {
        "first": [
            label("ways_reached", way=_name(outcome), seconds=seconds_text(outcome.seconds_to(target)))
            for outcome in there
        ],
        "missed": [_name(outcome) for outcome in missed if there],
        "grew": [_name(outcome) for outcome in grew],
    }
    target = percent_text(target)
    sentences = [] if there else [label("ways_none", target=target)]
    for key, listed in said.items():
        sentences += [label(f"ways_{key}", target=target, listed=", ".join(listed))] if listed else []
    return " ".join([*sentences, *_law_texts(setting, outcomes)])


def _name(outcome):
    return label(f"way_short_{outcome.way}")


def row(outcome, target):
    """The cells of COLUMNS."""
    history, updates = outcome.history, outcome.reached(target)
    reached = [
        "–" if updates is None else number_text(float(outcome.along(axis)[updates]))
        for axis in ("updates", "gradients", "seconds")
    ]
    return [
        number_text(outcome.round_seconds),
        percent_text(outcome.waiting),
        number_text(float(history.staleness.mean())),
        number_text(history.dropped),
        number_text(float(outcome.losses[-1])),
        *reached,
    ]


def _law_texts(setting, outcomes):
    by_way = {outcome.way: outcome for outcome in outcomes}
    workers = setting.workers
    if not setting.ideal:
        return
    if setting.kind == "exponential" and "synchronous" in by_way:
        mean, law = by_way["synchronous"].round_seconds, laws.expected_slowest(workers)
        yield label("ways_barrier", workers=workers, mean=number_text(mean), law=number_text(law))
    if setting.kind == "constant" and set(SINGLE) & by_way.keys():
        delay, rate = workers - 1, exact_text(setting.one_rate)
        limit = number_text(laws.staleness_limit(delay))
        yield label("ways_limit", workers=workers, delay=delay, limit=limit, rate=rate)
