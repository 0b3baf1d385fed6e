"""Ports at which the processes of a job meet: chosen before they are used, and somebody may be quicker."""

import re
import socket

ATTEMPTS = 4  # starts of a job whose port was taken: the first, and three more
# What a store of PyTorch says that cannot listen, in a process's last line.
TAKEN = re.compile(r"DistNetworkError: .*\bport: (\d+),.*\bname: EADDRINUSE\b")


def free_port():
    """One that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def port_taken(text):
    """The port that a process which printed `text` found taken, the last one; None if it names none."""
    ports = TAKEN.findall(text)
    return int(ports[-1]) if ports else None
