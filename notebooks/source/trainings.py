"""Run chapter 7's trainings for all seeds, and keep what came out in data/trainings.json; ten minutes.

python notebooks/source/trainings.py [PART ...]

PART: sweeps, noise_scales, or the name of an optimiser or code; all of them if none is named.
"""

import json
import sys
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from machine import this_machine

from course_lib import data, launch
from course_lib.training import digits_worker, train_each
from course_lib.training.experiments import SGD, sweep
from course_lib.training.noise_scale import exact_noise_scale
from course_lib.training.seeds import CODE_RATES, CODES, COMPRESSED, SEEDS, SWEEPS, WHOLE

RANKS = 4


def sweeps():
    found = {}
    for name, settings in SWEEPS.items():
        made = sweep(*settings, seeds=SEEDS)
        found[name] = {"losses": rounded(made.losses), "accuracies": rounded(made.accuracies)}
        print(name, flush=True)
    return found


def codes(names):
    """{name: rows}: a row for each learning rate, without feedback and with it."""
    worker = CodedRows(tuple(name for name in names if name in CODES))
    found = launch(worker, RANKS, threads=1, timeout=1200).values[0] if worker.names else {}
    for optimizer in WHOLE.keys() & names:
        found[optimizer] = [whole_row(optimizer, lr) for lr in WHOLE[optimizer]]
    return found


def whole_row(optimizer, lr):
    config = replace(COMPRESSED, batch=RANKS * COMPRESSED.batch, optimizer=optimizer, lr=lr)
    ends = train_each([digits_worker(replace(config, seed=seed)) for seed in SEEDS])
    return row(optimizer, None, lr, ends)


@dataclass(frozen=True)
class CodedRows:
    names: tuple

    def __call__(self, comm):
        return {name: list(self.rows(comm, name)) for name in self.names}

    def rows(self, comm, name):
        for feedback in (False,) if name == "int8" else (False, True):
            for lr in CODE_RATES:
                configs = [replace(COMPRESSED, lr=lr, seed=seed) for seed in SEEDS]
                ends = [trained(comm, CODES[name], feedback, config) for config in configs]
                yield row(name, feedback, lr, ends)


def trained(comm, code, feedback, config):
    from course_lib.compression.hooks import GatherState, gather_hook

    state = GatherState(code, feedback=feedback)
    return digits_worker(config, attach=lambda net: net.register_comm_hook(state, gather_hook))(comm)


def row(name, feedback, lr, ends):
    losses, accuracies = [end.training_loss for end in ends], [end.accuracy for end in ends]
    kept = {"losses": rounded(losses), "accuracies": rounded(accuracies)}
    return {"name": name, "feedback": feedback, "lr": lr, **kept}


def noise_scales():
    config = replace(SGD, epochs=4)
    ends = train_each([digits_worker(replace(config, seed=seed), watch=exact_noise_scale) for seed in SEEDS])
    return rounded([[look.samples for look in end.watched] for end in ends], 1)


def rounded(values, digits=4):
    return np.round(np.array(values, dtype=float), digits).tolist()


def main(parts):
    path = data.FOLDER / "trainings.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    parts = parts or ["sweeps", "noise_scales", *WHOLE, *CODES]
    for part in {"sweeps": sweeps, "noise_scales": noise_scales}.keys() & parts:
        kept[part] = {"sweeps": sweeps, "noise_scales": noise_scales}[part]()
    kept["codes"] = kept.get("codes", {}) | codes(parts)
    kept |= {"date": date.today().isoformat(), "machine": this_machine(), "seeds": len(SEEDS)}
    text = json.dumps(kept, separators=(",", ":"), sort_keys=True)
    path.write_text(text.replace('{"', '\n{"').strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
