"""What happened in a run: messages and spans, kept as columns and built when first asked for."""

import math
from array import array
from dataclasses import dataclass
from typing import NamedTuple

KINDS = ("compute", "send", "recv", "wait", "collective")


class Message(NamedTuple):
    """One message: ranks, bytes of payload, seconds since the common start.

    start: when it left the source. stop: when it had arrived; NaN if it was never received.
    """

    source: int
    target: int
    nbytes: int
    start: float
    stop: float


class Span(NamedTuple):
    """What one rank did from start to stop (seconds since the common start); kind is one of KINDS."""

    rank: int
    kind: str
    start: float
    stop: float
    nbytes: int
    label: str


@dataclass(slots=True)
class Call:
    """One call of `comm`, as recorded. `ref`: the message received, or the number of the collective."""

    rank: int
    kind: str
    start: float
    stop: float
    nbytes: int
    label: str
    ref: int


class Trace:
    """The record of one run, in columns, for a run may have millions of messages."""

    def __init__(self, ranks):
        self.finish = [0.0] * ranks  # when each rank's worker returned
        self.source, self.target, self.nbytes = array("l"), array("l"), array("q")
        self.start, self.stop = array("d"), array("d")
        self._rank, self._kind, self._label, self._ref = array("l"), [], [], array("q")
        self._begin, self._end, self._size = array("d"), array("d"), array("q")

    def add_message(self, source, target, nbytes, start, stop=math.nan):
        """Record a message and return its number."""
        self.source.append(source)
        self.target.append(target)
        self.nbytes.append(nbytes)
        self.start.append(start)
        self.stop.append(stop)
        return len(self.start) - 1

    def add_call(self, rank, kind, start, stop, nbytes=0, label="", ref=-1):
        """Record a finished call of `comm`."""
        self._rank.append(rank)
        self._kind.append(kind)
        self._begin.append(start)
        self._end.append(stop)
        self._size.append(nbytes)
        self._label.append(label)
        self._ref.append(ref)

    def messages(self):
        """All messages in order of start (ties: in order of sending)."""
        columns = zip(self.source, self.target, self.nbytes, self.start, self.stop, strict=True)
        return tuple(sorted((Message(*row) for row in columns), key=lambda message: message.start))

    def spans(self):
        """All spans in order of start, then rank, with waits and computing told apart by one rule.

        A receive waits until its message has left the source; a collective waits until its last rank has
        entered; what lies between two calls is computing.
        """
        calls = self._calls()
        last_entry = _last_entries(calls)
        clock = [0.0] * len(self.finish)
        spans = []
        for call in calls:
            spans += _gap(call.rank, clock[call.rank], call.start)
            spans += self._split(call, last_entry)
            clock[call.rank] = max(clock[call.rank], call.stop)
        for rank, finish in enumerate(self.finish):
            spans += _gap(rank, clock[rank], finish)
        return tuple(sorted(spans, key=lambda span: (span.start, span.rank)))

    def _calls(self):
        columns = zip(
            self._rank, self._kind, self._begin, self._end, self._size, self._label, self._ref, strict=True
        )
        return sorted((Call(*row) for row in columns), key=lambda call: call.start)

    def _split(self, call, last_entry):
        """A call as spans: first its wait, if it had one, then what it did."""
        ready = call.start
        if call.kind == "recv":
            ready = self.start[call.ref]
        elif call.kind == "collective":
            ready = last_entry[call.ref]
        ready = min(max(ready, call.start), call.stop)
        if ready > call.start:
            yield Span(call.rank, "wait", call.start, ready, 0, call.label)
        yield Span(call.rank, call.kind, ready, call.stop, call.nbytes, call.label)


def _last_entries(calls):
    """When the last rank entered each collective."""
    last = {}
    for call in calls:
        if call.kind == "collective":
            last[call.ref] = max(call.start, last.get(call.ref, 0.0))
    return last


def _gap(rank, start, stop):
    return [Span(rank, "compute", start, stop, 0, "")] if stop > start else []
