"""`comm` between real processes: torch.distributed underneath."""

import time
import zlib
from collections import defaultdict, deque
from contextlib import contextmanager

import torch
import torch.distributed as dist

from course_lib import arguments
from course_lib.arrays import as_array, copy_of, describe, is_tensor, n_bytes
from course_lib.comm import Comm, check_out, reducible
from course_lib.errors import RankError
from course_lib.processes import wire
from course_lib.processes.background import Background, Handle
from course_lib.processes.log import Log
from course_lib.processes.outbox import Outbox
from course_lib.processes.reduce import sum_in_place
from course_lib.processes.status import COMPUTING, RECV, RECV_ANY


class ProcessComm(Comm):
    """`comm` in the real world; see course_lib.comm.Comm for the contract.

    Its messages go by a process group of its own: the default one is the worker's alone.
    """

    def __init__(self, rank, size, device, group, page):
        super().__init__(rank, size)
        self.device = device
        self.log = Log()
        self.begin: float  # the common start by this host's clock, set once the ranks have met
        self._group = group
        self._page = page
        self._outbox = Outbox()
        self._background = Background()
        self._collectives = 0
        self._sent, self._taken = [0] * size, [0] * size
        self._kept = defaultdict(deque)  # (source, tag) -> receives of payloads that have not come

    def send(self, array, to):
        start = time.monotonic()
        array, to = as_array(array), self._peer("to", to)
        self._post(to, *self._message(array))
        self.log.call("send", start, n_bytes(array), f"to {to}", to)

    def recv(self, source, out=None):
        start = time.monotonic()
        return self._arrived(start, self._expect(self._peer("source", source), out))

    def recv_any(self):
        start = time.monotonic()
        if self.size == 1:
            raise ValueError("recv_any with one rank: there is nobody to receive from")
        self._page.write(RECV_ANY, number=sum(self._taken))
        header = torch.empty(wire.HEADER_BYTES, dtype=torch.uint8)
        source = dist.recv(header, src=None, group=self._group, tag=wire.HEADER_TAG)
        return source, self._arrived(start, _Arrival(source, None, header))

    def sendrecv(self, array, to, source, out=None):
        start = time.monotonic()
        array, to, source = as_array(array), self._peer("to", to), self._peer("source", source)
        message = self._message(array)  # before anything can land in `out`, which may share its memory
        arrival = self._expect(source, out)  # before the send: else a slow link turns half-duplex
        self._post(to, *message)
        self.log.call("send", start, n_bytes(array), f"to {to}", to)
        return self._arrived(start, arrival)

    def all_reduce(self, array, op="sum", wait=True):
        array = reducible(array, op)
        name, start, result = f"all_reduce {op}", time.monotonic(), copy_of(array)
        number = self._count_collective()

        def reduce():
            self._agree(number, f"{name} of {describe(array)}")
            sum_in_place(result if is_tensor(result) else torch.from_numpy(result), self._group)
            if op == "mean":
                result[...] /= self.size
            if is_tensor(result) and result.is_cuda:
                torch.cuda.synchronize(result.device)  # or only the start would be timed
            self.log.call("collective", start, n_bytes(array), name, number)
            return result

        if not wait:
            future = self._background.submit(reduce)
            return Handle(self._background, future, lambda: self._waiting(name, number=number))
        with self._waiting(name, number=number):
            self._background.drain()
            return reduce()

    def broadcast(self, array, source):
        array = as_array(array)
        arguments.whole_number("source", source, 0, self.size - 1)
        result = wire.host_copy(array)
        with self._collective(f"broadcast from {source}", array):
            dist.broadcast(wire.as_bytes(result), source, group=self._group)
        return result.to(array.device) if is_tensor(array) else result

    def barrier(self):
        with self._collective("barrier"):
            pass  # to agree is to meet

    def compute(self, seconds):
        start = time.monotonic()
        time.sleep(arguments.real_number("seconds", seconds))
        self.log.call("compute", start)

    def time(self):
        return time.monotonic() - self.begin

    def meet(self):
        """Wait for all ranks; returns when the last one came, if all go by one clock. Not recorded."""
        came = torch.tensor([time.monotonic()], dtype=torch.float64)
        dist.all_reduce(came, dist.ReduceOp.MAX, group=self._group)
        self._page.write(COMPUTING)
        return came.item()

    def settle(self):
        """Wait for the collectives in flight; the error of one that nobody has waited for is raised."""
        with self._waiting("all_reduce", number=self._collectives - 1):
            self._background.drain()

    def counts(self):
        """Sends to each rank and collectives entered: from these the launcher sees who waits in vain."""
        return {"sent": self._sent, "collectives": self._collectives}

    def _message(self, array):
        """What is sent for an array: its envelope, and a copy as bytes."""
        return wire.envelope_of(array), wire.as_bytes(wire.host_copy(array))

    def _post(self, to, envelope, payload):
        self._isend(envelope.header(), to, wire.HEADER_TAG)
        if len(payload):
            self._isend(payload, to, envelope.tag)
        self._sent[to] += 1

    def _isend(self, tensor, to, tag):
        self._outbox.add(dist.isend(tensor, to, group=self._group, tag=tag), tensor)

    def _irecv(self, tensor, source, tag):
        return dist.irecv(tensor, source, group=self._group, tag=tag)

    def _expect(self, source, out):
        """Post the receive of a header and, where `out` tells what it will be, of the payload."""
        if out is not None:
            wire.check_writable(out)
        self._page.write(RECV, source, self._taken[source])
        header = torch.empty(wire.HEADER_BYTES, dtype=torch.uint8)
        arrival = _Arrival(source, out, header, self._irecv(header, source, wire.HEADER_TAG))
        if out is not None:
            self._expect_payload(arrival, wire.envelope_of(out))
        return arrival

    def _expect_payload(self, arrival, envelope):
        out = arrival.out
        directly = out is not None and wire.lands_directly(out)
        arrival.envelope, arrival.landing = envelope, out if directly else envelope.empty()
        if not n_bytes(arrival.landing):
            return
        kept = self._kept[arrival.source, envelope.tag]
        if kept:  # it was posted earlier, so it takes the next payload of this description
            arrival.landing, arrival.payload_work = kept.popleft()
            arrival.kept = True
        else:
            landing = wire.as_bytes(arrival.landing)
            arrival.payload_work = self._irecv(landing, arrival.source, envelope.tag)

    def _lose(self, arrival, envelope):
        """The arrival of a payload that does not fit; the receive posted for another is kept for that one."""
        if arrival.payload_work is not None:
            posted = arrival.landing, arrival.payload_work
            self._kept[arrival.source, arrival.envelope.tag].appendleft(posted)
        lost = _Arrival(arrival.source, None, arrival.header)
        self._expect_payload(lost, envelope)
        return lost

    def _arrived(self, start, arrival):
        """Wait for a message, record it and return its array; one that does not fit `out` is lost."""
        if arrival.header_work is not None:
            arrival.header_work.wait()
        source, envelope = arrival.source, wire.open_header(arrival.header)
        fits = arrival.envelope is None or arrival.envelope.tag == envelope.tag
        out = arrival.out
        if not fits:
            arrival = self._lose(arrival, envelope)
        elif arrival.envelope is None:
            self._expect_payload(arrival, envelope)
        if arrival.payload_work is not None:
            arrival.payload_work.wait()
        self._taken[source] += 1
        self._page.write(COMPUTING)
        self.log.call("recv", start, n_bytes(arrival.landing), f"from {source}", source)
        if not fits:
            check_out(out, str(envelope))
        return self._unpack(arrival)

    def _unpack(self, arrival):
        landing, out = arrival.landing, arrival.out
        if out is not None:
            if landing is not out:
                out[...] = landing
            return out
        if arrival.kept:
            landing = wire.host_copy(landing)  # it may be the `out` of an earlier call
        return landing.to(self.device) if arrival.envelope.kind == "cuda" else landing

    @contextmanager
    def _collective(self, name, array=None):
        """Around a collective: all ranks mean the same before a number is used; recorded afterwards."""
        start, number = time.monotonic(), self._count_collective()
        with self._waiting(name, number=number):
            self._background.drain()
            self._agree(number, name if array is None else f"{name} of {describe(array)}")
            yield
        self.log.call("collective", start, 0 if array is None else n_bytes(array), name, number)

    def _count_collective(self):
        self._collectives += 1
        return self._collectives - 1

    @contextmanager
    def _waiting(self, name, number):
        """While this lasts, the launcher sees that the rank waits in collective `number`."""
        self._page.write(name, number=number)
        try:
            yield
        finally:
            self._page.write(COMPUTING)

    def _agree(self, number, what):
        """Maximum of a digest and of its negative: they match only if all digests are equal."""
        digest = zlib.crc32(what.encode())
        extremes = torch.tensor([digest, -digest])
        dist.all_reduce(extremes, dist.ReduceOp.MAX, group=self._group)
        if extremes[0] == -extremes[1]:
            return
        asked = [None] * self.size
        dist.all_gather_object(asked, what, group=self._group)
        lines = "\n".join(f"rank {rank} asked for {text}" for rank, text in enumerate(asked))
        odd = min(range(self.size), key=lambda rank: (asked.count(asked[rank]), rank))
        raise RankError(odd, "mismatch", f"collective {number} differs between ranks\n{lines}")


class _Arrival:
    """A message that is awaited: what is posted for it, and where it will land."""

    def __init__(self, source, out, header, header_work=None):
        self.source, self.out = source, out
        self.header, self.header_work = header, header_work
        self.envelope = self.landing = self.payload_work = None
        self.kept = False  # True if its payload's receive was posted for an earlier message
