"""What one rank records of its own calls; the launcher puts the ranks' logs together to one Trace."""

import time
from collections import defaultdict, deque

from course_lib.trace import Trace


class Log:
    """Calls of `comm` in order: (kind, start, stop, nbytes, label, peer or number of the collective)."""

    def __init__(self):
        self.calls = []

    def call(self, kind, start, nbytes=0, label="", other=-1):
        """Record a call that ends now; times are of the host's monotonic clock."""
        self.calls.append((kind, start, time.monotonic(), nbytes, label, other))


def merge(logs, begins, finishes):
    """One Trace from the logs of all ranks; a rank's times become seconds since its begin.

    The n-th receive of a pair of ranks is matched with its n-th send: messages do not overtake.
    """
    trace = Trace(len(logs))
    trace.finish = [finish - begin for begin, finish in zip(begins, finishes, strict=True)]
    unreceived = defaultdict(deque)
    for rank, call in _calls(logs, begins):
        kind, start, stop, nbytes, label, other = call
        if kind == "send":
            unreceived[rank, other].append(trace.add_message(rank, other, nbytes, start))
            trace.add_call(rank, kind, start, stop, nbytes, label)
    for rank, call in _calls(logs, begins):
        kind, start, stop, nbytes, label, other = call
        if kind == "recv":
            number = unreceived[other, rank].popleft()
            trace.stop[number] = stop
            trace.add_call(rank, kind, start, stop, nbytes, label, number)
        elif kind != "send":
            trace.add_call(rank, kind, start, stop, nbytes, label, other)
    return trace


def _calls(logs, begins):
    for rank, (log, begin) in enumerate(zip(logs, begins, strict=True)):
        for kind, start, stop, *rest in log.calls:
            yield rank, (kind, start - begin, stop - begin, *rest)
