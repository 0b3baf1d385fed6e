"""Imported by the fork server alone: all that a rank needs, loaded once, and one BLAS thread.

Loading this library too halves the time of a launch; a rank that finds it changed since then loads it anew
(freshness.py). OpenBLAS keeps its number of threads over a fork, but to set it in a rank would start a pool,
whose threads spin for a while.
"""

import concurrent.futures.thread  # noqa: F401

import numpy.random  # noqa: F401
import threadpoolctl
import torch._dynamo  # noqa: F401  the first optimizer or DDP object of a rank would load it, for a second

from course_lib.processes import comm, group, rank  # noqa: F401

threadpoolctl.threadpool_limits(1)
