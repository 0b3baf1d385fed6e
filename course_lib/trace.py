"""What happened in a run: messages and spans, kept as packed rows and built when first asked for."""

import math
from array import array
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

KINDS = ("compute", "send", "recv", "wait", "collective")
_CODES = {kind: code for code, kind in enumerate(KINDS)}

# A run may have millions of messages. A packed row is 3 times quicker to write than one array a column,
# and takes a third of the memory of a tuple.
_MESSAGE_ROW = Struct("iiqd")
_CALL_ROW = Struct("iiddqqi")
_OF_MESSAGE = -1  # in the place of a label: the call's label is told by its message


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


class Call(NamedTuple):
    """One call of `comm`, as recorded. `ref`: the message, or the number of the collective."""

    rank: int
    kind: str
    start: float
    stop: float
    nbytes: int
    label: str
    ref: int


class Trace:
    """The record of one run."""

    def __init__(self, ranks: int) -> None:
        self.finish = [0.0] * ranks  # when each rank and its background collectives had ended
        self.stop = array("d")  # when each message had arrived, apart from its row since it is known later
        self._messages = bytearray()
        self._calls = bytearray()
        self._labels: dict[str, int] = {}  # label -> its number in a row

    @property
    def nbytes(self) -> list[int]:
        """Size of each message, in order of sending."""
        return [nbytes for _, _, nbytes, _ in _MESSAGE_ROW.iter_unpack(self._messages)]

    def add_message(self, source: int, target: int, nbytes: int, start: float, stop: float = math.nan) -> int:
        """Record a message and return its number."""
        self._messages += _MESSAGE_ROW.pack(source, target, nbytes, start)
        self.stop.append(stop)
        return len(self.stop) - 1

    def add_call(
        self,
        rank: int,
        kind: str,
        start: float,
        stop: float,
        nbytes: int = 0,
        label: str | None = None,
        ref: int = -1,
    ) -> None:
        """Record a finished call of `comm`; without a label, it is told by the message `ref`, if any."""
        number = _OF_MESSAGE if label is None else self._labels.setdefault(label, len(self._labels))
        self._calls += _CALL_ROW.pack(rank, _CODES[kind], start, stop, nbytes, ref, number)

    def messages(self) -> tuple[Message, ...]:
        """All messages in order of start (ties: in order of sending)."""
        rows = zip(_MESSAGE_ROW.iter_unpack(self._messages), self.stop, strict=True)
        messages = (Message._make((*row, stop)) for row, stop in rows)
        return tuple(sorted(messages, key=lambda message: message.start))

    def computing(self) -> list[tuple[int, float, float]]:
        """(rank, start, stop) of each call of compute, by its end; a tenth of the work of `spans`."""
        code = _CODES["compute"]
        return [row[:1] + row[2:4] for row in _CALL_ROW.iter_unpack(self._calls) if row[1] == code]

    def spans(self) -> tuple[Span, ...]:
        """All spans in order of start, then rank, with waits and computing told apart by one rule.

        A receive waits until its message has left the source; a collective waits until its last rank has
        entered; what lies between two calls is computing.
        """
        calls = self._sorted_calls()
        last_entry = _last_entries(calls)
        clock = [0.0] * len(self.finish)
        spans: list[Span] = []
        for call in calls:
            spans += _gap(call.rank, clock[call.rank], call.start)
            spans += self._split(call, last_entry)
            clock[call.rank] = max(clock[call.rank], call.stop)
        for rank, finish in enumerate(self.finish):
            spans += _gap(rank, clock[rank], finish)
        return tuple(sorted(spans, key=lambda span: (span.start, span.rank)))

    def _sorted_calls(self) -> list[Call]:
        labels = list(self._labels)
        calls = []
        for rank, code, start, stop, nbytes, ref, number in _CALL_ROW.iter_unpack(self._calls):
            kind = KINDS[code]
            label = self._partner(kind, ref) if number == _OF_MESSAGE else labels[number]
            calls.append(Call(rank, kind, start, stop, nbytes, label, ref))
        return sorted(calls, key=lambda call: call.start)

    def _partner(self, kind: str, ref: int) -> str:
        """Whom a call sent to or received from, in words."""
        if ref < 0 or kind not in ("send", "recv"):
            return ""
        source, target, _, _ = self._message(ref)
        return f"to {target}" if kind == "send" else f"from {source}"

    def _message(self, number: int) -> tuple[int, int, int, float]:
        return _MESSAGE_ROW.unpack_from(self._messages, number * _MESSAGE_ROW.size)

    def _split(self, call: Call, last_entry: dict[int, float]) -> Iterator[Span]:
        """A call as spans: first its wait, if it had one, then what it did."""
        ready = call.start
        if call.kind == "recv":
            _, _, _, ready = self._message(call.ref)
        elif call.kind == "collective":
            ready = last_entry[call.ref]
        ready = min(max(ready, call.start), call.stop)
        if ready > call.start:
            yield Span(call.rank, "wait", call.start, ready, 0, call.label)
        yield Span(call.rank, call.kind, ready, call.stop, call.nbytes, call.label)


def _last_entries(calls: list[Call]) -> dict[int, float]:
    """When the last rank entered each collective."""
    last: dict[int, float] = {}
    for call in calls:
        if call.kind == "collective":
            last[call.ref] = max(call.start, last.get(call.ref, 0.0))
    return last


def _gap(rank: int, start: float, stop: float) -> list[Span]:
    return [Span(rank, "compute", start, stop, 0, "")] if stop > start else []
