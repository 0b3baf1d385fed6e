"""What ranks print: kept apart while they run, shown in rank order afterwards."""

import io
import os
import sys
import threading
import time
from contextlib import contextmanager

_lock = threading.Lock()  # of sys.stdout, and of a router's users


@contextmanager
def by_rank(ranks, current_rank):
    """Collect what each rank prints (a list of str, filled on leaving); other printing passes through.

    current_rank: function that returns the rank that is running, or None. Several threads may be in here at
    once, each with ranks of its own; they share one router, and the last to leave takes it away.
    """
    printed, buffers = [], [io.StringIO() for _ in range(ranks)]
    with _lock:
        if not isinstance(sys.stdout, _Router):
            sys.stdout = _Router(sys.stdout)
        router = sys.stdout
        router.users += 1
    runs = router.runs()
    runs.append((buffers, current_rank))
    try:
        yield printed
    finally:
        runs.pop()
        with _lock:
            router.users -= 1
            if not router.users:
                sys.stdout = router.outer
        printed.extend(buffer.getvalue() for buffer in buffers)


def replay(printed):
    """Show what the ranks printed, in rank order."""
    text = "".join(part if part.endswith("\n") else part + "\n" for part in printed if part)
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()


class _Router(io.TextIOBase):
    """A stdout that writes to the buffer of the rank that runs in this thread, or to the outer stdout."""

    def __init__(self, outer):
        self.outer, self.users, self._local = outer, 0, threading.local()

    def runs(self):
        """This thread's runs, the innermost last: a list of (buffers, current_rank)."""
        return self._local.__dict__.setdefault("runs", [])

    def _target(self):
        for buffers, current_rank in reversed(self.runs()):
            rank = current_rank()
            if rank is not None:
                return buffers[rank]
        return self.outer

    def writable(self):
        return True

    def write(self, text):
        return self._target().write(text)

    def flush(self):
        self._target().flush()


class Live:
    """Shows what ranks print as it comes, each line with its rank, above a bar of the time gone by.

    The bar's full length is the limit; it is drawn where a line can be drawn over again.
    """

    def __init__(self, paths, limit):
        self._tails = [_Tail(path) for path in paths]
        self._limit = limit
        self._begin = time.monotonic()
        self._bar = ""

    def show(self):
        """Show the complete lines that are new since the last call, and the bar."""
        self._write_lines(_Tail.new_lines)
        if _can_draw_over():
            self._draw(_bar(time.monotonic() - self._begin, self._limit))

    def close(self):
        """Show what is left, incomplete lines too, and wipe out the bar."""
        self._write_lines(_Tail.rest)
        self._draw("")

    def _write_lines(self, take):
        lines = [f"[rank {rank}] {line}\n" for rank, tail in enumerate(self._tails) for line in take(tail)]
        if lines:
            self._draw("")
            sys.stdout.write("".join(lines))
            sys.stdout.flush()

    def _draw(self, bar):
        if bar != self._bar:
            sys.stdout.write(f"\r{bar.ljust(len(self._bar))}" + "\r" * (not bar))
            sys.stdout.flush()
            self._bar = bar


class _Tail:
    """A file that grows, read on from where it was left."""

    def __init__(self, path):
        self._path, self._place, self._kept = path, 0, b""

    def new_lines(self):
        """The complete lines that are new."""
        *lines, self._kept = (self._kept + self._read()).split(b"\n")
        return [line.decode("utf-8", errors="replace") for line in lines]

    def rest(self):
        """All that is left."""
        lines = self.new_lines()
        return lines + [self._kept.decode("utf-8", errors="replace")] * bool(self._kept)

    def _read(self):
        try:
            with open(self._path, "rb") as file:
                # A flood has been cut short meanwhile: go on from where it ends now.
                self._place = min(self._place, file.seek(0, os.SEEK_END))
                file.seek(self._place)
                new = file.read()
        except OSError:
            return b""
        self._place += len(new)
        return new


def _bar(seconds, limit, width=20):
    full = min(width, round(width * seconds / limit))
    return f"[{'#' * full}{'.' * (width - full)}] {seconds:.0f} s of at most {limit:g} s"


def _can_draw_over():
    """True in a terminal and in a notebook, where a carriage return starts the line anew."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return sys.stdout.isatty() or getattr(shell, "kernel", None) is not None
