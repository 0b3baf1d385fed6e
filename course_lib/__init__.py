"""Synchronous data-parallel SGD, simulated and real: one worker function, two worlds.

run = simulate(worker, ranks=4)   # NumPy, virtual clock, deterministic
run = launch(worker, ranks=4)     # real processes, torch.distributed, wall clock
"""

from course_lib.errors import RankError
from course_lib.link import Link
from course_lib.processes import launch
from course_lib.run import Run
from course_lib.simulation import simulate
from course_lib.trace import Message, Span

__all__ = ["Link", "Message", "RankError", "Run", "Span", "launch", "simulate"]
