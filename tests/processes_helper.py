"""What the tests of real processes share: is anything left, and scripts run in a process of their own."""

import os
import subprocess
import sys
import textwrap

import psutil
from waiting import limit, until

# torchrun takes the machine's name for its address, and waits for ever where nobody knows it, as may be
# without a network: https://github.com/pytorch/pytorch/issues/150532
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=localhost"]

# What a process says whose store of PyTorch cannot listen.
IN_USE = (
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
    "address. port: {port}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
)


def environment_of_another_pytest():
    """Ours, without what pytest and pytest-xdist have set for this run."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}


def descendants(process=None):
    """Processes below `process` (this one) but the fork server and multiprocessing's resource tracker.

    Ranks are children of the fork server. Zombies are dead.
    """
    found = []
    for child in (process or psutil.Process()).children(recursive=True):
        try:
            command = " ".join(child.cmdline())
            helper = "multiprocessing.forkserver" in command or "multiprocessing.resource_tracker" in command
            # A rank looks like its server, but its parent is one.
            is_rank = helper and "multiprocessing.forkserver" in " ".join(child.parent().cmdline())
            if child.status() != psutil.STATUS_ZOMBIE and (is_rank or not helper):
                found.append(child)
        except (psutil.NoSuchProcess, AttributeError):
            pass
    return found


def nothing_left(process=None, starts=10):
    """True once all ranks are gone, within `starts` (an exit takes a moment to show)."""
    return until(lambda: not descendants(process), starts)


def write_script(folder, text, name="script.py"):
    """A script file with this text, which may be indented."""
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def start_script(path, **options):
    """Start a script and return its Popen; output as text."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options}
    return subprocess.Popen([sys.executable, str(path)], **options)


def run_script(path, **options):
    """Run a script to its end and return its output."""
    process = start_script(path, **options)
    printed, _ = process.communicate(timeout=limit(400))
    assert process.returncode == 0, printed
    return printed
