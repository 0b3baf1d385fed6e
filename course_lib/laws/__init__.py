"""Closed forms: what theory predicts, apart from both worlds, so that it can be held against them.

Arguments are numbers or arrays that broadcast; results are floats or arrays. Seconds, bytes, bytes per
second. Every function raises ValueError for NaN or a value outside its domain, and names the argument.
"""

from course_lib.laws.all_reduce import (
    ALGORITHMS,
    all_reduce_time,
    crossover_bytes,
    hierarchical_time,
    latency_bytes,
    lower_bound_bytes,
    ring_time,
)
from course_lib.laws.compression import break_even_density, compressed_wire_bytes, wire_saving
from course_lib.laws.learning_rate import scaled_learning_rate, square_root_learning_rate, staleness_limit
from course_lib.laws.link import algorithm_bandwidth, bus_bandwidth, fit_link
from course_lib.laws.speedup import (
    amdahl_limit,
    amdahl_speedup,
    amdahl_workers,
    gustafson_speedup,
    karp_flatt,
)
from course_lib.laws.step import (
    best_buckets,
    best_ranks,
    hidden_share,
    overlapped_time,
    speedup_with_ring,
    step_time,
)
from course_lib.laws.waiting import expected_backup, expected_slowest

__all__ = [
    "ALGORITHMS",
    "algorithm_bandwidth",
    "all_reduce_time",
    "amdahl_limit",
    "amdahl_speedup",
    "amdahl_workers",
    "best_buckets",
    "best_ranks",
    "break_even_density",
    "bus_bandwidth",
    "compressed_wire_bytes",
    "crossover_bytes",
    "expected_backup",
    "expected_slowest",
    "fit_link",
    "gustafson_speedup",
    "hidden_share",
    "hierarchical_time",
    "karp_flatt",
    "latency_bytes",
    "lower_bound_bytes",
    "overlapped_time",
    "ring_time",
    "scaled_learning_rate",
    "speedup_with_ring",
    "square_root_learning_rate",
    "staleness_limit",
    "step_time",
    "wire_saving",
]
