"""Chapter 11's capstone: five ailing runs without their names, and the checker of the learner's diagnoses."""

from dataclasses import dataclass

import numpy as np

from course_lib import simulate
from course_lib.arguments import one_of
from course_lib.collectives import ring_all_reduce
from course_lib.errors import RankError
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import Report, checked, expect
from course_lib.labels import label
from course_lib.link import Link
from course_lib.run import Run
from course_lib.simulation.clockwork import Clockwork
from course_lib.simulation.comm import SimulatedComm
from course_lib.simulation.engine import Simulation
from course_lib.simulation.network import Network

WORKERS = 4
LOADER = WORKERS  # the last rank reads the data
STEPS = 2
LINK, SLOW = Link(100e-6, 1.25e9), Link(100e-6, 0.25e9)
GRADIENT, BATCH = 500_000, 25_000  # float64 numbers: 4 MB, 0.2 MB
COMPUTE = 10e-3  # seconds of a step's forward and backward pass
LIMIT = 60e-3  # seconds until a launcher gives up

CAUSES = {"a": "straggler", "b": "slow_link", "c": "tiny_buckets", "d": "starved", "e": "left"}
_CASES = {"A": "c", "B": "e", "C": "a", "D": "d", "E": "b"}  # not for a learner's eyes
TIMELINES = tuple(_CASES)


def anonymous_run(name):
    """One of five runs, `name` "A" to "E": ranks 0 to 3 train, rank 4 reads their data and hands it out."""
    cause = CAUSES[_CASES[one_of("name", name, TIMELINES)]]
    worker = _job(**_AILMENTS[cause])
    if cause == "left":
        return _cut_off(worker, LIMIT)
    links = {(1, 2): SLOW} if cause == "slow_link" else None
    return simulate(worker, WORKERS + 1, link=LINK, links=links)


def healthy_run():
    """The same job with nothing wrong."""
    return simulate(_job(), WORKERS + 1, link=LINK)


@exercise("11.8")
def check_diagnosis(diagnosis):
    """Exercise 11.8: diagnosis, {"A": letter of a cause, …} for the five timelines."""
    if diagnosis is None or diagnosis is Ellipsis or _is_empty(diagnosis):
        return Report(None, label("ch11_not_attempted"))
    return checked(lambda: _diagnosis(diagnosis), label("ch11_diagnosed"))


def _is_empty(diagnosis):
    return isinstance(diagnosis, dict) and all(_missing(diagnosis.get(name)) for name in TIMELINES)


def _missing(letter):
    return letter is None or letter is Ellipsis


def _diagnosis(diagnosis):
    case = label("ch11_diagnosis")
    expect(isinstance(diagnosis, dict), case, label("ch11_diagnosis_kind", kind=type(diagnosis).__name__))
    given = {name: diagnosis.get(name) for name in TIMELINES}
    for name, letter in given.items():
        case = label("ch11_timeline", name=name)
        expect(not _missing(letter), case, label("ch11_no_letter"))
        known = isinstance(letter, str) and letter.strip().lower() in CAUSES
        expect(known, case, label("ch11_letter", letter=f"{letter!r:.20}"))
    for name, letter in given.items():
        right = letter.strip().lower() == _CASES[name]
        case = label("ch11_timeline", name=name)
        expect(right, case, label(f"ch11_look_{CAUSES[_CASES[name]]}"))


# --- the five runs

_AILMENTS: dict[str, dict[str, float]] = {
    "straggler": {"slow": 2},
    "slow_link": {},
    "tiny_buckets": {"buckets": 20},
    "starved": {"reading": 20e-3},
    "left": {"leaves": 3},
}


def _job(buckets=1, slow=None, reading=1e-3, leaves=None):
    """A worker: the loader's rank reads, the others train; `leaves`: who has no second batch."""

    def worker(comm):
        return load(comm) if comm.rank == LOADER else train(comm)

    def load(comm):
        for step in range(STEPS):
            comm.compute(reading)
            for rank in range(WORKERS):
                if step == 0 or rank != leaves:
                    comm.send(np.zeros(BATCH), rank)

    def train(comm):
        ring, part = _Ring(comm), np.zeros(GRADIENT // buckets)
        seconds = COMPUTE * (2.5 if comm.rank == slow else 1) / buckets
        for _ in range(1 if comm.rank == leaves else STEPS):
            comm.recv(LOADER)
            for _ in range(buckets):
                comm.compute(seconds)
                ring_all_reduce(ring, part, "mean")

    return worker


class _Ring:
    """The workers' part of a comm: what a ring needs."""

    def __init__(self, comm):
        self.rank, self.size, self.sendrecv = comm.rank, WORKERS, comm.sendrecv


def _cut_off(worker, limit):
    """The Run of a job that cannot end, stopped by its launcher at `limit`: who waits, waits until then."""
    simulation = Simulation(
        WORKERS + 1, Network(WORKERS + 1, LINK, None), Clockwork(WORKERS + 1, None, None, 0)
    )
    comms = [SimulatedComm(simulation, rank, worker) for rank in range(WORKERS + 1)]
    try:
        simulation.run(comms)
    except RankError as error:
        if error.reason != "deadlock":
            raise
    trace = simulation.trace
    ends = {span.rank: span.stop for span in sorted(trace.spans(), key=lambda span: span.stop)}
    for rank, finish in enumerate(trace.finish):
        if not finish:
            trace.add_call(rank, "wait", ends[rank], limit)
            trace.finish[rank] = limit
    return Run("simulated", [None] * len(comms), limit, [""] * len(comms), trace)


# --- what gives them away


@dataclass(frozen=True, repr=False)
class Signs:
    """Five numbers of an anonymous run, each the sign of one cause; milliseconds but for two.

    pace: computing of the busiest worker by that of the middle one. message: longest one between workers.
    receives: how many a worker has. hungry: a worker's waiting for the loader. apart: from the end of the
    first worker to that of the last.
    """

    pace: float
    message: float
    receives: int
    hungry: float
    apart: float

    def __repr__(self):
        numbers = {name: f"{getattr(self, name):.3g}" for name in ("pace", "message", "hungry", "apart")}
        return label("ch11_signs", receives=self.receives, **numbers)


def signs(run):
    """The Signs of a Run of `anonymous_run`."""
    spans = [[span for span in run.spans if span.rank == rank] for rank in range(WORKERS)]
    computing = [sum(span.stop - span.start for span in mine if span.kind == "compute") for mine in spans]
    between = [each.stop - each.start for each in run.messages if each.source < WORKERS and each.stop > 0]
    hungry = [
        span.stop - span.start for span in spans[0] if span.kind == "wait" and span.label == f"from {LOADER}"
    ]
    ends = [max(span.stop for span in mine) for mine in spans]
    return Signs(
        max(computing) / float(np.median(computing)),
        1e3 * max(between),
        sum(span.kind == "recv" for span in spans[0]),
        1e3 * sum(hungry),
        1e3 * (max(ends) - min(ends)),
    )
