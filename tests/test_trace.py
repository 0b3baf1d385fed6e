"""Messages and spans: what a Run says of what happened."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Link, Span, simulate
from course_lib.trace import KINDS, Trace

SLOW = Link(1.0, 100.0)  # one second, 100 bytes a second


def lane(run, rank):
    """The spans of a rank that last, as (kind, start, stop)."""
    return [(s.kind, s.start, s.stop) for s in run.spans if s.rank == rank and s.stop > s.start]


def test_a_receive_waits_until_its_message_has_left():
    def worker(comm):
        if comm.rank == 0:
            comm.compute(5.0)
            comm.send(np.zeros(200, np.uint8), 1)
        else:
            comm.recv(0)

    run = simulate(worker, 2, link=SLOW)
    assert run.spans == (
        Span(0, "compute", 0.0, 5.0, 0, ""),
        Span(1, "wait", 0.0, 5.0, 0, "from 0"),
        Span(0, "send", 5.0, 5.0, 200, "to 1"),
        Span(1, "recv", 5.0, 8.0, 200, "from 0"),
    )


def test_a_message_that_is_there_is_received_at_once():
    def worker(comm):
        if comm.rank == 0:
            comm.send(np.zeros(100, np.uint8), 1)
        else:
            comm.compute(10.0)
            comm.recv(0)

    run = simulate(worker, 2, link=SLOW)
    assert lane(run, 1) == [("compute", 0.0, 10.0)]
    assert run.messages[0].stop == 2.0  # when it had arrived, not when it was asked for


def test_a_collective_waits_for_its_last_rank():
    def worker(comm):
        comm.compute(1.0 + comm.rank)
        comm.all_reduce(np.zeros(200, np.uint8))

    run = simulate(worker, 2, link=SLOW)
    assert lane(run, 0) == [("compute", 0, 1), ("wait", 1, 2), ("collective", 2, 5)]
    assert lane(run, 1) == [("compute", 0, 2), ("collective", 2, 6)]
    collectives = [(span.nbytes, span.label) for span in run.spans if span.kind == "collective"]
    assert collectives == [(200, "all_reduce sum")] * 2


def test_a_collective_in_the_background():
    def worker(comm):
        handle = comm.all_reduce(np.zeros(200, np.uint8), wait=False)
        comm.compute(1.0)
        handle.wait()

    run = simulate(worker, 2, link=SLOW)
    assert lane(run, 0) == [("compute", 0, 1), ("collective", 0, 4), ("wait", 1, 4)]


def test_a_message_that_nobody_receives():
    def worker(comm):
        if comm.rank == 0:
            comm.send(np.zeros(1), 1)
            comm.send(np.zeros(2), 1)
        else:
            comm.recv(0)

    first, second = simulate(worker, 2, link=SLOW).messages
    assert (first.nbytes, second.nbytes) == (8, 16)
    assert first.stop == 1.08 and math.isnan(second.stop)


def test_messages_are_in_order_of_leaving():
    """Empty ones too; a message whose port is taken leaves later than it was sent."""

    def worker(comm):
        if comm.rank == 0:
            for nbytes in (100, 0, 50):
                comm.send(np.zeros(nbytes, np.uint8), 1)
        if comm.rank == 2:
            comm.compute(0.5)
            comm.send(np.zeros(0), 0)

    run = simulate(worker, 3, link=SLOW)
    left = [(m.source, m.nbytes, m.start) for m in run.messages]
    assert left == [(0, 100, 0.0), (2, 0, 0.5), (0, 0, 1.0), (0, 50, 1.0)]


@settings(max_examples=settings().max_examples // 5)
@given(st.integers(0, 10**6))
def test_lanes_have_no_holes_and_never_run_backwards(seed):
    def worker(comm):
        rng = np.random.default_rng([seed, comm.rank])
        for _ in range(6):
            comm.compute(float(rng.exponential()))
            comm.sendrecv(
                np.zeros(rng.integers(300), np.uint8),
                (comm.rank + 1) % comm.size,
                (comm.rank - 1) % comm.size,
            )
            comm.all_reduce(np.zeros(7))
        comm.barrier()

    run = simulate(worker, 4, link=SLOW)
    assert list(run.spans) == sorted(run.spans, key=lambda span: (span.start, span.rank))
    for rank, finish in enumerate(run.trace.finish):
        spans = [span for span in run.spans if span.rank == rank]
        assert {span.kind for span in spans} <= set(KINDS)
        assert spans[0].start == 0.0 and spans[-1].stop == finish
        assert all(span.stop >= span.start for span in spans)
        assert all(after.start == before.stop for before, after in pairwise(spans))


def test_what_lies_between_two_calls_is_computing():
    """As in the real world, where a worker computes outside of comm."""
    trace = Trace(2)
    trace.finish = [9.0, 4.0]
    number = trace.add_message(0, 1, 8, 2.0, 4.0)
    trace.add_call(0, "send", 1.0, 2.5, 8, "to 1")
    trace.add_call(1, "recv", 0.0, 4.0, 8, "from 0", number)
    assert trace.spans() == (
        Span(0, "compute", 0.0, 1.0, 0, ""),
        Span(1, "wait", 0.0, 2.0, 0, "from 0"),
        Span(0, "send", 1.0, 2.5, 8, "to 1"),
        Span(1, "recv", 2.0, 4.0, 8, "from 0"),
        Span(0, "compute", 2.5, 9.0, 0, ""),
    )


def test_labels_are_told_by_the_message_where_none_is_given():
    trace = Trace(2)
    number = trace.add_message(0, 1, 8, 0.0)
    trace.add_call(0, "send", 0.0, 0.0, 8, ref=number)
    trace.add_call(1, "recv", 0.0, 1.0, 8, ref=number)
    trace.add_call(1, "compute", 1.0, 2.0)
    assert [span.label for span in trace.spans()] == ["to 1", "from 0", ""]
    assert trace.nbytes == [8]


def test_repr_of_a_run():
    run = simulate(lambda comm: comm.all_reduce(np.zeros(200, np.uint8)), 2, link=SLOW)
    assert repr(run) == "Run(simulated: 2 ranks, 4 messages, 400 bytes, 4 s)"


def test_computing_is_what_the_spans_say():
    def worker(comm):
        for turn in range(3):
            comm.compute(1.0 + comm.rank * turn)
            comm.all_reduce(np.ones(3))

    run = simulate(worker, 3, link=SLOW)
    spans = [(s.rank, s.start, s.stop) for s in run.spans if s.kind == "compute"]
    assert len(spans) == 9 and sorted(run.trace.computing()) == sorted(spans)
