"""Collectives written once against `comm`; they run in both worlds.

Every all-reduce takes (comm, array, op="sum") and returns the sum or mean of all ranks' arrays: a new
array of the same kind, shape and dtype, equal on all ranks to the last bit; `array` is left unchanged.
They differ in who sends what to whom, and so in time; course_lib.laws has the closed forms.
"""

from course_lib.collectives.halving_doubling import halving_doubling_all_reduce
from course_lib.collectives.hierarchical import hierarchical_all_reduce
from course_lib.collectives.naive import naive_all_reduce
from course_lib.collectives.ring import all_gather, chunk_bounds, reduce_scatter, ring_all_reduce
from course_lib.collectives.server import parameter_server_all_reduce
from course_lib.collectives.tree import tree_all_reduce
from course_lib.collectives.weighted import weighted_mean

__all__ = [
    "all_gather",
    "chunk_bounds",
    "halving_doubling_all_reduce",
    "hierarchical_all_reduce",
    "naive_all_reduce",
    "parameter_server_all_reduce",
    "reduce_scatter",
    "ring_all_reduce",
    "tree_all_reduce",
    "weighted_mean",
]
