"""Widgets: alive in JupyterLab, a picture and numbers where nothing can move."""

from course_lib.widgets.amdahl import amdahl
from course_lib.widgets.planner import planner
from course_lib.widgets.ring_player import ring_player
from course_lib.widgets.ring_time import ring_time
from course_lib.widgets.step_player import step_player
from course_lib.widgets.sync_async import sync_async
from course_lib.widgets.timeline_player import timeline_player

__all__ = ["amdahl", "planner", "ring_player", "ring_time", "step_player", "sync_async", "timeline_player"]
