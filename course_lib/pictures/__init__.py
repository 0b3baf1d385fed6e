"""Pictures: each function takes numbers or a Run and returns a Picture."""

from course_lib.pictures.timeline import timeline
from course_lib.pictures.traffic import message_table, ring_diagram, traffic_matrix

__all__ = ["message_table", "ring_diagram", "timeline", "traffic_matrix"]
