"""Run chapter 6's races for all seeds, and keep what came out in data/races.json; two minutes.

python notebooks/source/races.py
"""

import json
import math
from datetime import date

from machine import this_machine

from course_lib import data
from course_lib.sgd.races import RATES, SEEDS, TARGET, WORKERS, alone, finish, race

KINDS = ("constant", "exponential")
PERIODS = (1, 4, 16, 64)


def rows(way, kind, rates):
    """What `finish` gives, for each seed and rate; null for infinity."""
    found = [[finish(race(way, kind, rate, seed)) for rate in rates] for seed in range(SEEDS)]
    return [[[None if math.isinf(x) else round(x, 4) for x in row] for row in each] for each in found]


def all_races():
    yield from ((kind, way, RATES) for kind in KINDS for way in ("sync", "async"))
    yield from (("exponential", way, (1,)) for way in ("backup", "local", "slack"))


def main():
    kept = {"date": date.today().isoformat(), "machine": this_machine(), "seeds": SEEDS, "rates": RATES}
    kept |= {"target": TARGET, "workers": WORKERS, "races": {kind: {} for kind in KINDS}, "alone": []}
    for kind, way, rates in all_races():
        kept["races"][kind][way] = rows(way, kind, rates)
        print(way, kind, flush=True)
    for period in PERIODS:
        for rate in (1, 4):
            losses = [round(alone(period, rate, seed), 6) for seed in range(SEEDS)]
            kept["alone"].append({"period": period, "rate": rate, "losses": losses})
    text = json.dumps(kept, separators=(",", ":")).replace("]],[[", "]],\n[[").replace('{"', '\n{"')
    (data.FOLDER / "races.json").write_text(text.strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
