"""What ranks print: kept apart while they run, shown in rank order afterwards."""

import io
import sys
from contextlib import contextmanager


@contextmanager
def by_rank(ranks, current_rank):
    """Collect what each rank prints (a list of str, filled on leaving); other printing passes through.

    current_rank: function that returns the rank that is running, or None.
    """
    printed, buffers = [], [io.StringIO() for _ in range(ranks)]
    outer = sys.stdout
    sys.stdout = _Router(outer, buffers, current_rank)
    try:
        yield printed
    finally:
        sys.stdout = outer
        printed.extend(buffer.getvalue() for buffer in buffers)


def replay(printed):
    """Show what the ranks printed, in rank order."""
    text = "".join(part if part.endswith("\n") else part + "\n" for part in printed if part)
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()


class _Router(io.TextIOBase):
    """A stdout that writes to the running rank's buffer, or to the outer stdout if none runs."""

    def __init__(self, outer, buffers, current_rank):
        self._outer, self._buffers, self._current_rank = outer, buffers, current_rank

    def _target(self):
        rank = self._current_rank()
        return self._outer if rank is None else self._buffers[rank]

    def writable(self):
        return True

    def write(self, text):
        return self._target().write(text)

    def flush(self):
        self._target().flush()


class Live:
    """Shows lines of the ranks' output files as they come, each with its rank."""

    def __init__(self, paths):
        self._files = [(rank, path, [0]) for rank, path in enumerate(paths)]

    def show(self):
        """Write the complete lines that are new since the last call."""
        for rank, path, place in self._files:
            try:
                with open(path, "rb") as file:
                    file.seek(place[0])
                    lines, _, _ = file.read().rpartition(b"\n")
            except OSError:
                continue  # the rank has not started yet
            if lines:
                place[0] += len(lines) + 1
                for line in lines.decode("utf-8", errors="replace").splitlines():
                    sys.stdout.write(f"[rank {rank}] {line}\n")
                sys.stdout.flush()
