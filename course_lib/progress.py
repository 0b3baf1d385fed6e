"""What the learner has guessed and solved, in one local file that may be deleted at any time.

The file is progress.jsonl beside the notebooks' folder: one event a line, only ever appended to. So two
notebooks at once lose nothing, there is nothing to lock, and a line that is damaged costs no other.

The environment variable COURSE_PROGRESS names another file, or is "off": then nothing is read or written.
"""

import errno
import json
import math
import os
import warnings
from dataclasses import dataclass
from datetime import datetime
from numbers import Real
from pathlib import Path

from course_lib import data
from course_lib.labels import label
from course_lib.predict import ratio

WITHIN = 2  # a number is right within this factor
LARGEST = 20_000_000  # bytes: a learner writes 100 a guess, and every check reads them all
_warned = set()


@dataclass(frozen=True)
class Guess:
    """A prediction: guess and measured are numbers or choices; measured is None until they are compared.

    compared: when that was, as ISO 8601 text.
    """

    key: str
    guess: object
    measured: object = None
    compared: str | None = None

    @property
    def factor(self):
        """The larger by the smaller of guess and measured; None unless both are positive numbers."""
        return ratio(self.guess, self.measured)

    @property
    def right(self):
        """The right choice, or a number within a factor of 2; None before the comparison."""
        if self.compared is None:
            return None
        return self.guess == self.measured or (self.factor is not None and self.factor <= WITHIN)


def path():
    """Where the file is, or will be; None if nothing is kept."""
    chosen = os.environ.get("COURSE_PROGRESS", "").strip()
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(os.path.expanduser(chosen))  # a user that is not there stays as written
    return data.FOLDER.parent / "progress.jsonl" if data.FOLDER.is_dir() else None


def guesses():
    """{key: Guess} of all predictions made. The guess that was compared first stands, whatever came later."""
    found = {}
    for event in events():
        key = event["key"]
        if key in found and found[key].compared:
            continue
        if event["kind"] == "guess":
            found[event["key"]] = Guess(event["key"], event.get("value"))
        if event["kind"] == "comparison":
            found[event["key"]] = Guess(
                event["key"], event.get("value"), event.get("measured"), event["when"]
            )
    return {key: guess for key, guess in found.items() if guess.guess is not None}


def solved():
    """{exercise: when its check first passed, as ISO 8601 text}, for the learner's own answers."""
    found = {}
    for event in events():
        if event["kind"] == "solved":
            found.setdefault(event["key"], event["when"])
    return found


def note(kind, key, **values):
    """Keep one event, such as note("guess", "5.1", value=3). It never raises, but warns once."""
    if (file := path()) is None:
        return
    event = {"kind": kind, "key": str(key), "when": datetime.now().astimezone().isoformat(timespec="seconds")}
    event |= {name: _plain(value) for name, value in values.items()}
    try:
        _expect_plain(file)
        # Unbuffered: one write, at the end. The line break comes first, in case the last line was cut off.
        with open(file, "ab", buffering=0) as stream:
            stream.write(f"\n{json.dumps(event)}".encode())
    except OSError as error:
        _warn("progress_not_kept", file=file, error=error.strerror)


def events():
    """All events, oldest first: dicts with the texts kind, key and when. Damaged lines are skipped."""
    if (file := path()) is None:
        return []
    try:
        _expect_plain(file)
        lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        _warn("progress_not_read", file=file, error=error.strerror)
        return []
    found = [_event(line) for line in lines if line.strip()]
    if damaged := found.count(None):
        _warn("progress_damaged", file=file, count=damaged)
    return [event for event in found if event]


def _expect_plain(file):
    """OSError for what is there and is no file that ends: a pipe, say, would keep the kernel for ever."""
    if file.exists() and not file.is_dir():  # of a folder the system tells itself
        if not file.is_file():
            raise OSError(errno.EINVAL, label("progress_no_file"))
        if file.stat().st_size > LARGEST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def _event(line):
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(event, dict) and all(
        isinstance(event.get(name), str) for name in ("kind", "key", "when")
    )
    return event if whole else None


def _plain(value):
    """A value that JSON can hold, and that reads back the same: None, text, a whole number or a float."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, list | tuple | set):
        return [_plain(each) for each in value]
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        number = math.nan
    if not math.isfinite(number):
        return str(value)[:200]
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _warn(key, **values):
    """Once a kernel: a file that stays broken must not be told of in every cell."""
    if key not in _warned:
        _warned.add(key)
        warnings.warn(label(key, **values), stacklevel=3)
