"""Try this machine before a lecture: what is fine, what is not, and the way out. Takes about a minute.

    make lecture-check, or: python notebooks/lecture/check.py

Exits with 1 if something would embarrass. What it starts it also ends; what it loads stays warm.
"""

import signal
import sys

from room import Remark, Trouble
from room.computer import browser, cores, disk, fonts, loopback, memory, python, versions
from room.course import guesses, jupyter, notebooks, slides, worlds

CHECKS = (
    *(python, versions, cores, memory, disk, loopback, fonts, browser),
    *(worlds, jupyter, notebooks, guesses, slides),
)


def finding(check):
    """fine, note or MEND, and what to say."""
    try:
        return "fine", check()
    except Trouble as trouble:
        what, way_out = trouble.args
        return "note" if isinstance(trouble, Remark) else "MEND", f"{what}\n     -> {way_out}"
    except Exception as error:  # whatever it is, the lecturer wants to know it now
        return "MEND", f"{check.__name__} could not be tried: {type(error).__name__}: {error}"


def main(checks=CHECKS):
    bad = 0
    for check in checks:
        kind, text = finding(check)
        bad += kind == "MEND"
        print(f"{kind} {text}", flush=True)
    print(f"\nTo mend before the lecture: {bad}" if bad else "\nReady for the room.")
    return bool(bad)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Ctrl-C does: ends what was started
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped")
