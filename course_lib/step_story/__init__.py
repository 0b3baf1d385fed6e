"""Synchronous steps of a puzzle class: told from a Run of either world, read at any time."""

from course_lib.step_story.state import State, state
from course_lib.step_story.story import PRESETS, Setting, Story, tell, worker_of

__all__ = ["PRESETS", "Setting", "State", "Story", "state", "tell", "worker_of"]
