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


def merge(logs, begin, finish):
    """One Trace from the logs of all ranks; times become seconds since `begin`.

    The n-th receive of a pair of ranks is matched with its n-th send: messages do not overtake.
    """
    trace = Trace(len(logs))
    trace.finish = [time - begin for time in finish]
    unreceived = defaultdict(deque)
    for rank, log in enumerate(logs):
        for kind, start, stop, nbytes, label, other in log.calls:
            if kind == "send":
                unreceived[rank, other].append(trace.add_message(rank, other, nbytes, start - begin))
                trace.add_call(rank, kind, start - begin, stop - begin, nbytes, label)
    for rank, log in enumerate(logs):
        for kind, start, stop, nbytes, label, other in log.calls:
            if kind == "recv":
                number = unreceived[other, rank].popleft()
                trace.stop[number] = stop - begin
                trace.add_call(rank, kind, start - begin, stop - begin, nbytes, label, number)
            elif kind != "send":
                trace.add_call(rank, kind, start - begin, stop - begin, nbytes, label, other)
    return trace
