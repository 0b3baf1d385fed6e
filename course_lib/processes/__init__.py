"""The real world: processes, torch.distributed, wall clock."""

from course_lib.processes.launcher import launch
from course_lib.processes.written import bytes_written

__all__ = ["bytes_written", "launch"]
