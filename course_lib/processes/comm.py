"""`comm` between real processes: torch.distributed underneath.

A message is two sends: a header of fixed size (kind, dtype, shape) and the payload as raw bytes. The
payload's tag is derived from the header, so a receiver that knows what to expect posts both receives at
once, and one that expects something else finds out from the header before a byte lands in its buffer
(gloo aborts the process when a message is larger than its receive buffer).
"""

import time
import zlib

import numpy as np
import torch
import torch.distributed as dist

from course_lib import arguments
from course_lib.arrays import as_array, copy_of, describe, is_tensor, n_bytes
from course_lib.comm import Comm, check_out
from course_lib.errors import RankError
from course_lib.processes.log import Log
from course_lib.processes.outbox import Outbox

HEADER_BYTES = 128
HEADER_TAG = 1
FIRST_PAYLOAD_TAG = 2


class ProcessComm(Comm):
    """`comm` in the real world; see course_lib.comm.Comm for the contract."""

    def __init__(self, rank, size, device, status):
        super().__init__(rank, size)
        self.device = device
        self.log = Log()
        self._status = status
        self._outbox = Outbox()
        self._collectives = 0
        self._sent, self._taken = [0] * size, [0] * size

    def send(self, array, to):
        start = time.monotonic()
        array = as_array(array)
        self._post(array, self._peer("to", to))
        self.log.call("send", start, n_bytes(array), f"to {to}", to)

    def recv(self, source, out=None):
        start = time.monotonic()
        source = self._peer("source", source)
        self._status.write("recv", peer=source, number=self._taken[source])
        array = self._take(source, out)
        self._note_recv(start, array, source)
        return array

    def recv_any(self):
        start = time.monotonic()
        if self.size == 1:
            raise ValueError("recv_any with one rank: there is nobody to receive from")
        self._status.write("recv_any")  # from anyone: the launcher cannot tell that it is in vain
        header = torch.empty(HEADER_BYTES, dtype=torch.uint8)
        source = dist.recv(header, src=None, tag=HEADER_TAG)
        array = self._take_payload(source, header)
        self._note_recv(start, array, source)
        return source, array

    def sendrecv(self, array, to, source, out=None):
        start = time.monotonic()
        array = as_array(array)
        to, source = self._peer("to", to), self._peer("source", source)
        self._status.write("recv", peer=source, number=self._taken[source])
        posted = self._post_receives(source, out)  # before the send: else a slow link turns half-duplex
        self._post(array, to)
        self.log.call("send", start, n_bytes(array), f"to {to}", to)
        received = self._finish(source, out, *posted)
        self._note_recv(start, received, source)
        return received

    def all_reduce(self, array, op="sum", wait=True):
        array = self._reducible(array, op)
        start, number = self._enter_collective(f"all_reduce {op}", array)
        result = copy_of(array)
        tensor = result if is_tensor(result) else torch.from_numpy(result)
        work = dist.all_reduce(tensor, async_op=True)

        def finish():
            work.wait()
            self._note_collective(f"all_reduce {op}", start, array, number)
            return result / self.size if op == "mean" else result

        return finish() if wait else _Handle(finish)

    def broadcast(self, array, source):
        array = as_array(array)
        arguments.whole_number("source", source, 0, self.size - 1)
        name = f"broadcast from {source}"
        start, number = self._enter_collective(name, array)
        result = copy_of(array)
        dist.broadcast(_as_bytes(result), source)
        self._note_collective(name, start, array, number)
        return result

    def barrier(self):
        start, number = self._enter_collective("barrier", None)
        dist.barrier()
        self._note_collective("barrier", start, None, number)

    def compute(self, seconds):
        start = time.monotonic()
        time.sleep(arguments.real_number("seconds", seconds))
        self.log.call("compute", start)

    def counts(self):
        """Sends to each rank and collectives entered: from these the launcher sees who waits in vain."""
        return {"sent": self._sent, "collectives": self._collectives}

    def _post(self, array, to):
        header = _header(array)
        payload = _as_bytes(copy_of(array))
        self._outbox.add(dist.isend(header, to, tag=HEADER_TAG), header)
        if len(payload):
            self._outbox.add(dist.isend(payload, to, tag=_tag(header)), payload)
        self._sent[to] += 1

    def _take(self, source, out):
        return self._finish(source, out, *self._post_receives(source, out))

    def _post_receives(self, source, out):
        """Post the receive of the header and, where `out` tells its size, of the payload."""
        header = torch.empty(HEADER_BYTES, dtype=torch.uint8)
        header_work = dist.irecv(header, source, tag=HEADER_TAG)
        if out is None or n_bytes(as_array(out)) == 0:
            return header, header_work, None
        return header, header_work, dist.irecv(_as_bytes(out), source, tag=_tag(_header(out)))

    def _finish(self, source, out, header, header_work, payload_work):
        header_work.wait()
        if out is None:
            return self._take_payload(source, header)
        check_out(out, _parse(header)[0])
        if payload_work is not None:
            payload_work.wait()
        return out

    def _take_payload(self, source, header):
        _, kind, dtype, shape = _parse(header)
        tensor = kind == "tensor"
        array = torch.empty(shape, dtype=getattr(torch, dtype)) if tensor else np.empty(shape, dtype)
        if n_bytes(array):
            dist.irecv(_as_bytes(array), source, tag=_tag(header)).wait()
        return array

    def _note_recv(self, start, array, source):
        self._taken[source] += 1
        self._status.write("computing")
        self.log.call("recv", start, n_bytes(array), f"from {source}", source)

    def _enter_collective(self, name, array):
        """Count it, announce it, and make sure that all ranks mean the same before a number is used."""
        start, number = time.monotonic(), self._collectives
        self._collectives += 1
        what = name if array is None else f"{name} of {describe(array)}"
        self._status.write(name, number=number)
        self._agree(number, what)
        return start, number

    def _note_collective(self, name, start, array, number):
        self._status.write("computing")
        self.log.call("collective", start, 0 if array is None else n_bytes(array), name, number)

    def _agree(self, number, what):
        """Maximum of a digest and of its negative: they match only if all digests are equal."""
        digest = zlib.crc32(what.encode())
        extremes = torch.tensor([digest, -digest], dtype=torch.int64)
        dist.all_reduce(extremes, dist.ReduceOp.MAX)
        if extremes[0] == -extremes[1]:
            return
        asked = [None] * self.size
        dist.all_gather_object(asked, what)
        lines = "\n".join(f"rank {rank} asked for {text}" for rank, text in enumerate(asked))
        odd = min(range(self.size), key=lambda rank: (asked.count(asked[rank]), rank))
        raise RankError(odd, "mismatch", f"collective {number} differs between ranks\n{lines}")


class _Handle:
    """An all_reduce in flight."""

    def __init__(self, finish):
        self._finish, self._result, self._done = finish, None, False

    def wait(self):
        """Wait until it is done and return its result."""
        if not self._done:
            self._result, self._done = self._finish(), True
        return self._result


def _header(array):
    """Kind, dtype and shape in HEADER_BYTES bytes."""
    if is_tensor(array):
        kind, dtype = "tensor", str(array.dtype).removeprefix("torch.")
    else:
        kind, dtype = "array", array.dtype.str
    text = f"{kind} {dtype} {','.join(map(str, array.shape))}".encode()
    if len(text) > HEADER_BYTES:
        raise ValueError(f"{describe(array)} cannot be sent: its description is too long")
    return torch.frombuffer(bytearray(text.ljust(HEADER_BYTES)), dtype=torch.uint8)


def _parse(header):
    """The description of check_out, kind, dtype and shape."""
    kind, dtype, *sizes = header.numpy().tobytes().decode().split()
    shape = tuple(map(int, sizes[0].split(","))) if sizes else ()
    name = f"torch.{dtype}" if kind == "tensor" else np.dtype(dtype)
    return f"{kind} {name} {shape}", kind, dtype, shape


def _tag(header):
    """A tag that only a payload of this kind, dtype and shape has."""
    return FIRST_PAYLOAD_TAG + zlib.crc32(header.numpy().tobytes()) % (2**31 - 1 - FIRST_PAYLOAD_TAG)


def _as_bytes(array):
    """The array's own memory as a flat uint8 tensor."""
    if is_tensor(array):
        return array.detach().reshape(-1).view(torch.uint8)
    return torch.from_numpy(array.reshape(-1).view(np.uint8))
