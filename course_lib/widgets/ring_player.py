"""Player of the ring all-reduce: which chunk travels on which link, and what each rank has by then."""

from typing import NamedTuple

import numpy as np
import traitlets

from course_lib import Link, simulate
from course_lib.collectives import chunk_bounds, ring_all_reduce
from course_lib.labels import label
from course_lib.pictures.ring_steps import ring_steps
from course_lib.pictures.wording import exact_text, seconds_text
from course_lib.widgets import traits
from course_lib.widgets.page import script
from course_lib.widgets.player import SAME, Player, distinct, happening

LINK = Link(50e-6, 1.25e9)
MOST_RANKS, MOST_NUMBERS = 8, 2  # a cell shows so many numbers of its chunk


class Cell(NamedTuple):
    """A rank's copy of one chunk. values: array. ranks: whose numbers it sums so far."""

    values: np.ndarray
    ranks: tuple


class Flight(NamedTuple):
    """A chunk under way. gather: whether the target keeps it as it is, rather than adding it to its own."""

    source: int
    target: int
    chunk: int
    cell: Cell
    gather: bool
    start: float
    stop: float


class RingState(NamedTuple):
    """cells[rank][chunk], and the chunks under way."""

    time: float
    cells: tuple
    flying: tuple


class Ring:
    """A simulated ring all-reduce, with what every rank had before each of its steps.

    arrays: one a rank, equally long, at least one number a rank. delays: seconds that each computes first.
    """

    def __init__(self, arrays, link=LINK, delays=None):
        arrays = _checked_arrays(arrays)
        self.ranks, length = len(arrays), len(arrays[0])
        delays = _checked_delays([0.0] * self.ranks if delays is None else delays, self.ranks)
        self.bounds = chunk_bounds(length, self.ranks)
        masks = [np.full(length, 2.0**rank) for rank in range(self.ranks)]  # a sum tells who is in it
        self.run, self._values, self._chunks = self._noted(arrays, link, delays)
        _, self._masks, _ = self._noted(masks, link, delays)
        received = [span for span in self.run.spans if span.kind == "recv"]
        self._added = [sorted(s.stop for s in received if s.rank == rank) for rank in range(self.ranks)]
        self._flights = self._all_flights()

    def frames(self):
        """The moments at which a chunk sets out, or has been taken in."""
        times = [0.0, *(time for flight in self._flights for time in (flight.start, flight.stop))]
        return distinct(times, self.run.seconds)

    def state_at(self, time):
        """The RingState just after `time`, in seconds."""
        now = time + SAME * self.run.seconds
        steps = [happening(added, now) + 1 for added in self._added]
        chunks = range(self.ranks)
        cells = tuple(tuple(self._cell(rank, step, c) for c in chunks) for rank, step in enumerate(steps))
        return RingState(time, cells, tuple(f for f in self._flights if f.start <= now < f.stop))

    def _noted(self, arrays, link, delays):
        """Run the ring; also, for each rank, its whole array before each step and after the last, and the
        chunk that it sends at each step."""
        watched = {}

        def worker(comm):
            comm.compute(delays[comm.rank])
            watched[comm.rank] = _Watched(comm)
            return ring_all_reduce(watched[comm.rank], arrays[comm.rank])

        run = simulate(worker, len(arrays), link=link)
        starts = [start for start, _ in self.bounds]
        whole = [[*watched[rank].arrays, run.values[rank]] for rank in range(self.ranks)]
        return run, whole, [[starts.index(at) for at in watched[rank].places] for rank in range(self.ranks)]

    def _all_flights(self):
        flights, sent = [], [0] * self.ranks
        for message in self.run.messages:
            step = sent[message.source]
            sent[message.source] += 1
            chunk = self._chunks[message.source][step]
            cell = self._cell(message.source, step, chunk)
            taken = max(message.stop, self._added[message.target][step])
            gather = step >= self.ranks - 1
            flights.append(Flight(message.source, message.target, chunk, cell, gather, message.start, taken))
        return tuple(flights)

    def _cell(self, rank, step, chunk):
        start, stop = self.bounds[chunk]
        mask = int(self._masks[rank][step][start])
        contributors = tuple(other for other in range(self.ranks) if mask >> other & 1)
        return Cell(self._values[rank][step][start:stop], contributors)


class _Watched:
    """A comm that notes, at each step of the ring, the whole array and where in it the chunk starts."""

    def __init__(self, comm):
        self._comm, self.arrays, self.places = comm, [], []

    def sendrecv(self, chunk, to, source, out=None):
        whole = chunk.base
        self.arrays.append(whole.copy())
        self.places.append((chunk.ctypes.data - whole.ctypes.data) // whole.itemsize)
        return self._comm.sendrecv(chunk, to=to, source=source, out=out)

    def __getattr__(self, name):
        return getattr(self._comm, name)


def frames(ring):
    """See Ring.frames."""
    return ring.frames()


def state_at(ring, time):
    """See Ring.state_at."""
    return ring.state_at(time)


class RingPlayer(Player):
    """See `ring_player`."""

    _esm = script("ring_player")
    about = ("player_", "ring_player_", "rank")

    ranks = traitlets.Int().tag(sync=True)
    cells = traitlets.List().tag(sync=True)  # for each frame, rank and chunk: [text, ranks in it]
    flying = traitlets.List().tag(sync=True)  # for each frame: the Flights, their cell as text

    def __init__(self, ring, **state):
        self.ring, times = ring, ring.frames()
        self.states = tuple(ring.state_at(time) for time in times)
        super().__init__(
            times=list(times),
            pace=[1.5 * number for number in range(len(times))],
            texts=[_in_words(state, number, len(times) - 1) for number, state in enumerate(self.states)],
            ranks=ring.ranks,
            cells=[[[_flat(cell) for cell in row] for row in state.cells] for state in self.states],
            flying=[[list(f._replace(cell=_text(f.cell))) for f in state.flying] for state in self.states],
            **state,
        )

    @property
    def now(self):
        """The RingState shown."""
        return self.states[self.frame]

    def picture(self):
        tables = [[[_text(cell) for cell in row] for row in state.cells] for state in self.states]
        counts = [[[len(cell.ranks) for cell in row] for row in state.cells] for state in self.states]
        sent = [[(flight.source, flight.chunk) for flight in state.flying] for state in self.states]
        return ring_steps(tables, counts, sent, self.texts)


def _text(cell):
    shown = " ".join(exact_text(value) for value in cell.values[:MOST_NUMBERS])
    return f"{shown} …" if len(cell.values) > MOST_NUMBERS else shown


def _flat(cell):
    return [_text(cell), list(cell.ranks)]


def _in_words(state, number, last):
    ranks = len(state.cells)
    whole = sum(len(cell.ranks) == ranks for row in state.cells for cell in row)
    done = label("ring_player_whole", whole=whole, cells=ranks**2, time=seconds_text(state.time))
    lockstep = last == 2 * (ranks - 1)
    place = label("ring_player_step" if lockstep else "ring_player_moment", number=number, last=last)
    flights = [label("ring_player_flight", **flight._asdict()) for flight in state.flying]
    said = label(f"ring_player_{_how(state.flying)}", place=place, listed=", ".join(flights))
    return f"{said} {done}"


def _how(flying):
    """What targets do with what travels, as the end of a label's key."""
    if not flying:
        return "still"
    gathers = {flight.gather for flight in flying}
    return "mixed" if len(gathers) > 1 else "gathers" if gathers == {True} else "adds"


def _checked_arrays(arrays):
    allowed = f"a list of 2 to {MOST_RANKS} equally long lists with a number or more for each of them"
    try:
        arrays = [np.array(array, dtype=float).reshape(-1) for array in arrays]
    except (TypeError, ValueError):
        raise traits.refusal("arrays", allowed, arrays) from None
    lengths = {len(array) for array in arrays}
    if not 2 <= len(arrays) <= MOST_RANKS or len(lengths) > 1 or min(lengths) < len(arrays):
        raise traits.refusal("arrays", allowed, [array.tolist() for array in arrays])
    return arrays


def _checked_delays(delays, ranks):
    numbers = [traits.as_number(delay) for delay in delays] if isinstance(delays, list | tuple) else []
    good = all(number is not None and 0 <= number < float("inf") for number in numbers)
    if len(numbers) != ranks or not good:
        raise traits.refusal("delays", f"{ranks} numbers of seconds, at least 0", delays)
    return numbers


def ring_player(ranks=4, arrays=None, link=LINK, delays=None, frame=0, speed=1):
    """Player of a ring all-reduce of one array a rank, by default (r + 1)(c + 1) in chunk c of rank r.

    delays: seconds that each rank computes before it joins.
    """
    if arrays is None:
        number = traits.as_number(ranks)
        if number is None or not 2 <= number <= MOST_RANKS or number % 1:
            raise traits.refusal("ranks", f"a whole number from 2 to {MOST_RANKS}", ranks)
        arrays = np.outer(np.arange(1, number + 1), np.arange(1, number + 1))
    return RingPlayer(Ring(arrays, link, delays), frame=frame, speed=speed)
