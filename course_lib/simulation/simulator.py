"""The entry point: `simulate` checks what it is given, lets all workers run, and returns a Run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from course_lib import arguments, output
from course_lib.comm import Comm
from course_lib.link import Link
from course_lib.run import Run
from course_lib.simulation.clockwork import Clockwork
from course_lib.simulation.comm import SimulatedComm
from course_lib.simulation.engine import Simulation
from course_lib.simulation.network import Network

MAX_RANKS = 65_536
DEFAULT_LINK = Link(5e-6, 10e9)  # 5 microseconds, 10 GB/s


def simulate(
    worker: Callable[[Comm], Any],
    ranks: int,
    *,
    link: Link = DEFAULT_LINK,
    links: Mapping[tuple[int, int], Link] | None = None,
    speeds: Sequence[float] | None = None,
    jitter: Callable[[np.random.Generator], float] | None = None,
    seed: int = 0,
) -> Run:
    """Run worker(comm) on `ranks` simulated workers and return a Run; deterministic.

    link: what joins any two workers; full duplex, a port sends one message at a time and receives one.
    links: {(source, target): Link}, the exceptions. speeds: one positive factor a rank, 1 is normal.
    jitter: function of a numpy Generator that returns a factor >= 0 for each compute(); each rank draws
    from its own stream of `seed`.
    Raises TypeError or ValueError for a bad argument, RankError if a worker raises, if all wait for each
    other, or if ranks disagree about a collective.
    """
    __tracebackhide__ = True
    arguments.worker_function(worker)
    ranks = arguments.whole_number("ranks", ranks, 1, MAX_RANKS)
    network, clockwork = Network(ranks, link, links), Clockwork(ranks, speeds, jitter, seed)
    simulation = Simulation(ranks, network, clockwork)
    comms = [SimulatedComm(simulation, rank, worker) for rank in range(ranks)]
    printed = []
    try:
        with output.by_rank(ranks, simulation.current_rank) as printed:
            values = simulation.run(comms)
    finally:
        output.replay(printed)
    trace = simulation.trace
    return Run("simulated", values, max(trace.finish), printed, trace)
