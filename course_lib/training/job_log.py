"""What a job under torchrun did: every rank appends a line an event to one file."""

import json
import os
import time
from pathlib import Path
from typing import NamedTuple

NAME = "log.jsonl"


class Event(NamedTuple):
    """kind: start (of the rank, once it has loaded what there was), step, kill or done.

    attempt: how often torchrun had restarted the job. seconds: of the machine's clock, or since the job's
    start. step: the step that was done; of start and kill, the one to come. digest: of the parameters, for
    done.
    """

    kind: str
    rank: int
    attempt: int
    seconds: float
    step: int
    digest: str
    pid: int


class JobLog:
    """A rank's end of the log in `folder`."""

    def __init__(self, folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._path = Path(folder) / NAME
        self._rank = int(os.environ["RANK"])
        self._attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))

    def write(self, kind, step, digest=""):
        """Append an event by a single write, so that the lines of several ranks do not mix."""
        event = Event(kind, self._rank, self._attempt, time.time(), step, digest, os.getpid())
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(file, (json.dumps(event) + "\n").encode())
        finally:
            os.close(file)


def read_log(folder):
    """The events in the log of `folder`, in order of time; none if no rank has come so far."""
    path = Path(folder) / NAME
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return sorted((Event(*json.loads(line)) for line in lines), key=lambda event: event.seconds)
