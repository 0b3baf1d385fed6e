"""The course's data folder: small inputs and recorded measurements, beside the library in its repository."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "data"


def path(name):
    """The path of a file in data/, such as "alice.txt"; FileNotFoundError says what there is."""
    if not FOLDER.is_dir():
        raise FileNotFoundError(
            f"the library needs the course's folder data/, expected at {FOLDER}: "
            "use it from a checkout of the course (make install, or pip install -e .)"
        )
    found = FOLDER / name
    if not found.is_file():
        there = sorted(str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*") if file.is_file())
        raise FileNotFoundError(f"there is no data/{name}; there is: {', '.join(there)}")
    return found


def horovod():
    """What `make horovod RECORD=1` measured: the same training on digits by Horovod and by DDP; a dict.

    Numbers: "ranks", "steps", "largest_parameter_difference", "final_loss_ddp", "final_loss_horovod" (over
    all training data), "seconds_ddp", "seconds_horovod" (of all steps, the quickest of three runs). Versions:
    "horovod", "torch". Where and when: "machine", "date".
    """
    return json.loads(path("horovod.json").read_text(encoding="utf-8"))


def recorded(name):
    """The recording data/recorded/`name`.json: a dict with "machine", "date" and what was measured."""
    return json.loads(path(f"recorded/{name}.json").read_text(encoding="utf-8"))
