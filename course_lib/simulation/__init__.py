"""The simulated world: workers in one thread, a virtual clock."""

from course_lib.simulation.simulator import simulate

__all__ = ["simulate"]
