"""Messages a second of `simulate` and of SimPy on the same ring, and the ring at K = 1024.

SimPy (pip install simpy) is needed for the comparison only.

The SimPy programs do the same work: ports that send and receive one message at a time, latency, copied NumPy
payloads, sums, and a trace of every message and call. One of them is written as SimPy's own documentation
would, with a Resource a port; the other with the least number of events, a port being the time at which it is
free. Each must end at the same virtual time, with the same sums and number of messages as `simulate`.

Times are of the processor, so that other programs on the machine disturb them less.
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np

from course_lib import Link, simulate
from course_lib.collectives import chunk_bounds, ring_all_reduce
from course_lib.trace import Trace

LINK = Link(5e-6, 10e9)
RINGS = {8: 300, 64: 4, 512: 1, 1024: 1}  # ranks: all-reduces a run, for 30,000 messages at least
ROUNDS = {8: 5, 64: 5, 512: 1}  # ranks: how often each is timed
PER_CHUNK = 4


def gradient(rank, ranks):
    return np.full(PER_CHUNK * ranks, float(rank))


def run_ours(ranks):
    """(virtual seconds, sums on the last rank, messages) of `simulate`."""

    def worker(comm):
        for _ in range(RINGS[ranks]):
            total = ring_all_reduce(comm, gradient(comm.rank, ranks))
        return total

    run = simulate(worker, ranks, link=LINK)
    return run.seconds, run.values[-1], len(run.trace.stop)


class SimpyRing:
    """The ring as a SimPy program; `transmit` is how a message gets from port to port."""

    def __init__(self, simpy, ranks):
        self.env = simpy.Environment()
        self.ranks = ranks
        self.trace = Trace(ranks)
        self.inboxes = [simpy.Store(self.env) for _ in range(ranks)]
        self.values = [None] * ranks
        for rank in range(ranks):
            self.env.process(self.worker(rank))

    def run(self):
        """(virtual seconds, sums on the last rank, messages)."""
        self.env.run()
        return max(self.trace.finish), self.values[-1], len(self.trace.stop)

    def worker(self, rank):
        for _ in range(RINGS[self.ranks]):
            self.values[rank] = yield from self.all_reduce(rank, gradient(rank, self.ranks))
        self.trace.finish[rank] = self.env.now

    def all_reduce(self, rank, total):
        ranks = self.ranks
        chunks = [total[start:stop] for start, stop in chunk_bounds(len(total), ranks)]
        for step in range(ranks - 1):
            received = yield from self.sendrecv(rank, chunks[(rank - step) % ranks])
            chunks[(rank - step - 1) % ranks] += received
        for step in range(ranks - 1):
            received = yield from self.sendrecv(rank, chunks[(rank + 1 - step) % ranks])
            chunks[(rank - step) % ranks][...] = received
        return total

    def sendrecv(self, rank, array):
        env, trace, right = self.env, self.trace, (rank + 1) % self.ranks
        env.process(self.transmit(rank, right, array.copy()))
        trace.add_call(rank, "send", env.now, env.now, array.nbytes, "")
        start = env.now
        number, received = yield self.inboxes[rank].get()
        trace.stop[number] = env.now
        trace.add_call(rank, "recv", start, env.now, received.nbytes, None, number)
        return received


class ResourceRing(SimpyRing):
    """Ports are SimPy's Resources."""

    def __init__(self, simpy, ranks):
        super().__init__(simpy, ranks)
        self.send_ports = [simpy.Resource(self.env) for _ in range(ranks)]
        self.recv_ports = [simpy.Resource(self.env) for _ in range(ranks)]

    def transmit(self, source, target, array):
        with self.send_ports[source].request() as port:
            yield port
            number = self.trace.add_message(source, target, array.nbytes, self.env.now)
            self.env.process(self.receive(target, number, array))
            yield self.env.timeout(array.nbytes / LINK.bandwidth)

    def receive(self, target, number, array):
        yield self.env.timeout(LINK.latency)
        with self.recv_ports[target].request() as port:
            yield port
            yield self.env.timeout(array.nbytes / LINK.bandwidth)
        self.inboxes[target].put((number, array))


class LeanRing(SimpyRing):
    """Ports are numbers, the times at which they are free: the fewest events."""

    def __init__(self, simpy, ranks):
        super().__init__(simpy, ranks)
        self.send_free, self.recv_free = [0.0] * ranks, [0.0] * ranks

    def transmit(self, source, target, array):
        env, duration = self.env, array.nbytes / LINK.bandwidth
        start = max(env.now, self.send_free[source])
        self.send_free[source] = start + duration
        number = self.trace.add_message(source, target, array.nbytes, start)
        yield env.timeout(start + LINK.latency - env.now)
        arrival = self.recv_free[target] = max(env.now, self.recv_free[target]) + duration
        yield env.timeout(arrival - env.now)
        self.inboxes[target].put((number, array))


def seconds_of(run, ranks):
    """Processor seconds that one run takes; its results are checked."""
    start = time.process_time()
    seconds, values, messages = run(ranks)
    elapsed = time.process_time() - start
    law = RINGS[ranks] * 2 * (ranks - 1) * (LINK.latency + 8 * PER_CHUNK / LINK.bandwidth)
    assert messages == message_count(ranks)
    assert np.isclose(seconds, law, rtol=1e-9)
    assert np.array_equal(values, np.full(PER_CHUNK * ranks, ranks * (ranks - 1) / 2))
    return elapsed


def message_count(ranks):
    return RINGS[ranks] * 2 * ranks * (ranks - 1)


def compare(simpy):
    """Print the table: medians of rounds in which the three take turns."""
    programs = {
        "simulate": run_ours,
        "SimPy, Resources": lambda ranks: ResourceRing(simpy, ranks).run(),
        "SimPy, fewest events": lambda ranks: LeanRing(simpy, ranks).run(),
    }
    print("messages a second " + "".join(f"{name:>22}" for name in programs) + f"{'ratios':>14}")
    for ranks, rounds in ROUNDS.items():
        times = [[seconds_of(run, ranks) for run in programs.values()] for _ in range(rounds)]
        medians = np.median(times, axis=0)
        rates = "".join(f"{message_count(ranks) / seconds:22,.0f}" for seconds in medians)
        ratios = "".join(f"{seconds / medians[0]:7.1f}" for seconds in medians[1:])
        print(f"K = {ranks:<14}{rates}{ratios}", flush=True)


def largest():
    """Seconds and peak memory in MB of one ring of 1024, in a process of its own."""
    start = time.perf_counter()
    processor = seconds_of(run_ours, 1024)
    elapsed = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kB on Linux
    print(json.dumps({"processor": processor, "elapsed": elapsed, "peak": peak}))


def main():
    try:
        import simpy
    except ImportError:
        print("no comparison: SimPy is not installed (pip install simpy)")
    else:
        compare(simpy)
    command = [sys.executable, __file__, "largest"]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        f"K = 1024: {message_count(1024):,} messages in {result['elapsed']:.1f} s "
        f"({result['processor']:.1f} s of the processor), peak memory {result['peak']:.0f} MB"
    )


if __name__ == "__main__":
    largest() if sys.argv[1:] == ["largest"] else main()
