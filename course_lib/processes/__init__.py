"""The real world: processes, torch.distributed, wall clock."""

from course_lib.processes.launcher import launch

__all__ = ["launch"]
