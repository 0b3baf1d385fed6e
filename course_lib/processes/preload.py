"""Imported by the fork server alone: all that a rank needs, loaded once, and one BLAS thread.

Loading this library too halves the time of a launch; a rank that finds it changed since then loads it anew
(freshness.py). OpenBLAS keeps its number of threads over a fork, but to set it in a rank would start a pool,
whose threads spin for a while.
"""

import atexit
import concurrent.futures.thread  # noqa: F401
import os

import numpy.random  # noqa: F401
import threadpoolctl

from course_lib.processes import comm, group, rank  # noqa: F401

threadpoolctl.threadpool_limits(1)

# The first optimizer or DDP object of a rank would load this, for a second. While it loads it makes a folder
# for what is compiled, in TMPDIR, which may be full: so show it one that is there. Nothing is put into it.
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.dirname(__file__)
import torch._dynamo  # noqa: E402, F401


def _leave_at_once(server):
    """Without Python's own end: with torch loaded it takes a second, more on a busy machine, and a rank that
    holds the interpreter lives as long. Not in what a rank may have forked: its end is its own affair.
    """
    if os.getpid() == server:
        os._exit(0)


atexit.register(_leave_at_once, os.getpid())
