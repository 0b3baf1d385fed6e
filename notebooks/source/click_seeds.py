"""Run chapter 9's comparisons on clicks for all seeds, and keep them in data/click_seeds.json; five minutes.

python notebooks/source/click_seeds.py
"""

import json
from datetime import date

from machine import this_machine

from course_lib import data
from course_lib.training.click_seeds import SEEDS, codes, models, paces

DIGITS = 6


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [round(each, DIGITS) for each in value] if isinstance(value, tuple) else round(value, DIGITS)


def main():
    seeds = []
    for seed in range(SEEDS):
        seeds.append(rounded({"models": models(seed), "codes": codes(seed), "paces": paces(seed)}))
        print(seed, seeds[-1], flush=True)
    kept = {"date": date.today().isoformat(), "machine": this_machine(), "seeds": seeds}
    text = json.dumps(kept, separators=(",", ":")).replace('{"models', '\n{"models')
    (data.FOLDER / "click_seeds.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
