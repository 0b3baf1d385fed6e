"""What a rank is doing right now, in a few bytes of shared memory that the launcher can read.

It outlives the rank and costs about a microsecond to write, so every wait is announced.
"""

import mmap
import zlib
from dataclasses import dataclass

SIZE = 4096
COMPUTING, RECV, RECV_ANY = "computing", "recv", "recv_any"


@dataclass(frozen=True)
class Status:
    """doing: COMPUTING, RECV, RECV_ANY or a collective's name, "" before all that.

    peer: the rank waited for, or -1. number: how many messages (of that peer; of anybody for RECV_ANY)
    or collectives the rank has had before this one.
    """

    doing: str = ""
    peer: int = -1
    number: int = -1

    def __str__(self):
        if self.doing == "":
            return "is starting"
        if self.doing == COMPUTING:
            return "is in its own code, in no call of comm"
        return f"waits in {self.doing}" + (f" from rank {self.peer}" if self.peer >= 0 else "")

    def in_vain(self, rank, finished):
        """One of `finished` (rank -> counts of its calls) that can never send what `rank` waits for, or None.

        For recv_any `finished` must be all the others, since anybody might send.
        """
        if self.doing in ("", COMPUTING):
            return None
        if self.doing == RECV_ANY:
            sent = sum(counts["sent"][rank] for counts in finished.values())
            return min(finished) if sent <= self.number else None
        for gone, counts in finished.items():
            if self.doing == RECV:
                in_vain = gone == self.peer and counts["sent"][rank] <= self.number
            else:
                in_vain = counts["collectives"] <= self.number
            if in_vain:
                return gone
        return None


class Page:
    """The writer's end, in the rank."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SIZE)

    def write(self, doing, peer=-1, number=-1):
        """See Status."""
        text = f"{doing}|{peer}|{number}".encode()
        line = b"%d|%s\n" % (zlib.crc32(text), text)
        self._memory[: len(line)] = line


def create(path):
    """Make an empty page; its bytes are really written, for a full disk must show here, not in a rank."""
    path.write_bytes(bytes(SIZE))


def read(path):
    """A rank's Status; an empty one if there is none yet, or if it was being written right now."""
    try:
        checksum, _, text = path.read_bytes().partition(b"\n")[0].partition(b"|")
        if zlib.crc32(text) != int(checksum):
            return Status()
        doing, peer, number = text.decode().split("|")
        return Status(doing, int(peer), int(number))
    except (OSError, ValueError):
        return Status()
