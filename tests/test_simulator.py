"""The simulated world: right, deterministic, and clear about what goes wrong."""

import contextlib
import contextvars
import copy
import gc
import io
import math
import random
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import torch
from brute_force import BruteForce
from hypothesis import settings
from waiting import limit

from course_lib import Link, RankError, simulate
from course_lib.simulation import comm as simulated_comm

SLOW = Link(1.0, 100.0)  # one second, 100 bytes a second: times that can be read

PROGRAMS = (
    10 * settings().max_examples
)  # 1 in 36 tells tasks that go before heads, 1 in 5 a port taken too early
BANDWIDTHS = (1, 2, 3, 4, 6, 12)
UNIT = 12  # bytes; a multiple of every bandwidth, so that all times are whole


# A second, independent simulation


def random_links(rng, ranks):
    """A link a pair of ranks; in some programs with no latency at all, so that much happens at once."""
    latencies = rng.choice([(0,), (0, 1), (1,), (0, 1, 2, 5)])
    pairs = [(source, target) for source in range(ranks) for target in range(ranks) if source != target]
    return {pair: (rng.choice(latencies), rng.choice(BANDWIDTHS)) for pair in pairs}


def random_program(rng):
    """Steps of each rank; most messages are received, some never, and some receives wait in vain."""
    ranks = rng.randint(2, 5)
    program = [[] for _ in range(ranks)]
    any_source = rng.choice((0.0, 0.3, 1.0))
    for _ in range(rng.randint(1, 24)):
        source, target = rng.sample(range(ranks), 2)
        if rng.random() < 0.4:
            program[rng.randrange(ranks)].append(("compute", rng.choice((0, 1, 1, 2, 3, 7))))
        if rng.random() < 0.985:
            program[source].append(("send", target, UNIT * rng.choice((0, 0, 1, 1, 2, 3))))
        if rng.random() < 0.985:
            receive = ("recv_any",) if rng.random() < any_source else ("recv", source)
            # Mostly at the end; else earlier, so that ranks wait for each other in more ways.
            place = len(program[target]) - (rng.randrange(3) if rng.random() < 0.1 else 0)
            program[target].insert(max(place, 0), receive)
    return program


def run_program(program, links, sources):
    """`simulate` of a program; what each rank receives is noted in `sources`."""

    def worker(comm):
        for kind, *details in program[comm.rank]:
            if kind == "compute":
                comm.compute(*details)
            elif kind == "send":
                to, nbytes = details
                comm.send(np.zeros(nbytes, np.uint8), to)
            elif kind == "recv":
                comm.recv(*details)
                sources[comm.rank].append(details[0])
            else:
                sources[comm.rank].append(comm.recv_any()[0])

    links = {pair: Link(float(latency), float(bandwidth)) for pair, (latency, bandwidth) in links.items()}
    return simulate(worker, len(program), links=links)


def facts(program, links):
    """What `simulate` makes of a program: who is stuck, who received from whom, messages, finish times."""
    sources = [[] for _ in program]
    try:
        run = run_program(program, links, sources)
    except RankError as error:
        assert error.reason == "deadlock"
        stuck = [int(line.split()[1]) for line in str(error).splitlines()[1:]]
        return stuck, sources, None, None
    messages = [tuple(None if math.isnan(x) else x for x in message) for message in run.messages]
    return [], sources, messages, run.trace.finish


def brute_facts(program, links):
    """The same of the brute force."""
    brute = BruteForce(program, links)
    sources = [rank.sources for rank in brute.ranks]
    if brute.stuck():
        return brute.stuck(), sources, None, None
    parcels = sorted(brute.parcels, key=lambda parcel: parcel.start)
    messages = [(p.source, p.target, p.nbytes, p.start, p.stop if p.received else None) for p in parcels]
    return [], sources, messages, [rank.finish for rank in brute.ranks]


def test_agrees_with_the_brute_force_on_random_programs():
    failing, deadlocks = [], 0
    for seed in range(PROGRAMS):
        rng = random.Random(seed)
        program = random_program(rng)
        links = random_links(rng, len(program))
        expected = brute_facts(program, links)
        deadlocks += bool(expected[0])
        if facts(program, links) != expected:
            failing.append((sum(map(len, program)), seed, program, links))
    assert not failing, f"{len(failing)} programs, the shortest: {min(failing)[1:]}"
    assert 0.1 * PROGRAMS < deadlocks < 0.5 * PROGRAMS  # both kinds of end are tried


# Time


def test_one_message_takes_latency_and_bytes():
    def worker(comm):
        if comm.rank == 0:
            comm.send(np.zeros(200, np.uint8), to=1)
        else:
            comm.recv(0)

    run = simulate(worker, 2, link=SLOW)
    assert run.seconds == 3.0
    assert run.messages == ((0, 1, 200, 0.0, 3.0),)
    assert run.trace.finish == [0.0, 3.0]  # send does not wait


def test_a_servers_port_is_a_bottleneck():
    """All push at once and the server answers all: K-1 messages through its port, there and back."""

    def worker(comm):
        array = np.zeros(100, np.uint8)
        if comm.rank > 0:
            comm.send(array, 0)
            return comm.recv(0)
        sources = [comm.recv_any()[0] for _ in range(comm.size - 1)]
        for source in sources:
            comm.send(array, source)
        return sources

    run = simulate(worker, 9, link=SLOW)
    assert run.seconds == 2 * (1.0 + 8 * 1.0)
    assert run.values[0] == list(range(1, 9))


def test_speeds_and_infinite_bandwidth():
    def worker(comm):
        comm.compute(3.0)
        comm.barrier()

    run = simulate(worker, 3, speeds=[1, 0.5, 2], link=Link(0.0, math.inf))
    spans = [span for span in run.spans if span.kind == "compute"]
    assert [span.stop for span in spans] == [3.0, 6.0, 1.5]
    assert run.seconds == 6.0


def test_one_slow_link_and_two_levels():
    def worker(comm):
        comm.sendrecv(np.zeros(100, np.uint8), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)

    assert simulate(worker, 4, link=SLOW, links={(2, 3): Link(1.0, 10.0)}).trace.finish == [2, 2, 2, 11]
    between = {(s, t): Link(7.0, 50.0) for s in range(4) for t in range(4) if s // 2 != t // 2}
    assert simulate(worker, 4, link=SLOW, links=between).trace.finish == [9, 2, 9, 2]


def busy_worker(comm):
    """Everything at once: random computing, messages to all, any source, collectives."""
    comm.compute(1e-6)
    handle = comm.all_reduce(np.arange(7.0) + comm.rank, wait=False)
    for other in range(comm.size):
        if other != comm.rank:
            comm.send(np.arange(comm.rank + 1), other)
    comm.compute(2e-6)
    heard = [comm.recv_any()[0] for _ in range(comm.size - 1)]
    comm.barrier()
    return heard, handle.wait().tolist(), comm.broadcast(np.arange(3), 1).tolist()


def test_the_same_on_every_run():
    jitter = np.random.Generator.exponential
    first, second = (simulate(busy_worker, 5, jitter=jitter, seed=7) for _ in range(2))
    for name in ("values", "seconds", "messages", "spans"):
        assert getattr(first, name) == getattr(second, name)


def test_jitter_has_a_stream_for_each_rank_and_seed():
    def times(ranks, seed):
        def worker(comm):
            comm.compute(1.0)

        return simulate(worker, ranks, jitter=lambda rng: rng.exponential(), seed=seed).trace.finish

    assert len(set(times(4, 0))) == 4
    assert times(4, 0) == times(6, 0)[:4]
    assert times(4, 0) != times(4, 1)


def test_no_rank_is_ever_behind():
    """What ranks write to a shared list is in order of the clock, whatever they do."""
    log = []

    def worker(comm):
        for seconds in np.random.default_rng(comm.rank).integers(1, 9, 20):
            comm.compute(seconds)
            log.append(comm.time())

    simulate(worker, 6)
    assert log == sorted(log)


def test_time_is_the_clock_of_the_spans():
    def worker(comm):
        seen = [comm.time()]
        comm.compute(1.0 + comm.rank)
        seen.append(comm.time())
        if comm.rank == 0:
            comm.send(np.zeros(10), 1)
        else:
            comm.recv(0)
        seen.append(comm.time())
        comm.barrier()
        return [*seen, comm.time(), comm.time()]

    run = simulate(worker, 2, speeds=[1.0, 0.5])
    for rank, (begin, computed, passed, met, again) in enumerate(run.values):
        spans = [span for span in run.spans if span.rank == rank]
        (compute,) = [span for span in spans if span.kind == "compute"]
        (passing,) = [span for span in spans if span.kind in ("send", "recv")]
        assert (begin, computed) == (compute.start, compute.stop) == (0.0, (1.0, 4.0)[rank])
        assert (passed, met) == (passing.stop, spans[-1].stop) and again == met
    assert max(values[-1] for values in run.values) == run.seconds


def test_a_thousand_ranks():
    def worker(comm):
        comm.barrier()
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        return int(comm.sendrecv(np.array([comm.rank]), right, left)[0])

    assert simulate(worker, 1000).values == [999, *range(999)]


# Arrays


def exchange(array, out=None):
    """What rank 1 gets when rank 0 sends `array`."""

    def worker(comm):
        if comm.rank == 0:
            comm.send(array, 1)
        else:
            return comm.recv(0, out)

    return simulate(worker, 2).values[1]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.array([], np.int8),
        np.array(2.5),
        np.array([True, False]),
        np.array(["ab", "c"]),
        1.5,  # as an array
    ],
)
def test_an_array_arrives_as_it_is(array):
    got, sent = exchange(array), np.asarray(array)
    assert type(got) is np.ndarray
    assert got.dtype == sent.dtype and got.shape == sent.shape and np.array_equal(got, sent)
    assert not np.shares_memory(got, sent)


def test_a_tensor_arrives_detached():
    tensor = torch.arange(6.0).reshape(2, 3).requires_grad_()
    got = exchange(tensor)
    assert torch.equal(got, tensor) and not got.requires_grad
    assert got.data_ptr() != tensor.data_ptr()


def test_a_message_is_what_the_array_was_when_sent():
    def worker(comm):
        if comm.rank == 0:
            array = np.zeros(3)
            comm.send(array, 1)
            array[:] = 9
        else:
            comm.compute(1.0)
            return comm.recv(0)

    assert simulate(worker, 2).values[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("new", [np.zeros, torch.zeros])
def test_out_is_filled_and_returned(new):
    out = new((2, 3))
    assert exchange(new((2, 3)) + 1, out) is out
    assert out.sum() == 6


def test_out_may_be_a_parameter():
    out = torch.nn.Parameter(torch.zeros(2))
    exchange(torch.nn.Parameter(torch.ones(2)), out)
    assert out.tolist() == [1, 1]
    exchange(torch.ones(2) * 2, out)
    assert out.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros(3), ValueError),
        (np.zeros((2, 1)), ValueError),
        (np.zeros(2, np.float32), ValueError),
        (torch.zeros(2, dtype=torch.float64), ValueError),
        ([0.0, 0.0], TypeError),
    ],
)
def test_out_that_does_not_fit_is_refused(out, error):
    with pytest.raises(RankError) as caught:
        exchange(np.zeros(2), out)
    assert isinstance(caught.value.__cause__, error)
    assert "array float64 (2,)" in str(caught.value) or error is TypeError


# Failures


def failure(worker, ranks=3, **options):
    """The RankError that a run ends in."""
    with pytest.raises(RankError) as caught:
        simulate(worker, ranks, **options)
    return caught.value


def test_a_rank_raises():
    boom = KeyError("boom")

    def worker(comm):
        comm.barrier()
        if comm.rank == 1:
            raise boom
        comm.barrier()

    error = failure(worker)
    assert (error.rank, error.reason, error.__cause__) == (1, "raised", boom)
    assert "rank 1 raised KeyError: 'boom'" in str(error)
    assert "raise boom" in str(error)  # its line of the traceback
    assert "_serve" not in str(error)  # nothing of the simulator in it


def test_a_rank_exits():
    error = failure(lambda comm: sys.exit(3) if comm.rank == 2 else comm.barrier())
    assert (error.rank, error.reason) == (2, "left")
    assert "exit code 3" in str(error)


def test_an_interrupt_is_passed_on():
    def worker(comm):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(worker, 2)


def test_a_deadlock_says_who_waits_for_whom():
    def worker(comm):
        if comm.rank == 3:
            return
        if comm.rank == 2:
            comm.recv_any()
        comm.recv(3 if comm.rank == 0 else 0)

    error = failure(worker, 4)
    assert (error.rank, error.reason) == (0, "deadlock")
    assert str(error).splitlines()[1:] == [
        "rank 0 waits in recv from rank 3, which has returned",
        "rank 1 waits in recv from rank 0",
        "rank 2 waits in recv_any",
    ]


@pytest.mark.parametrize("wait", [True, False])
def test_a_deadlock_names_the_collective(wait):
    def worker(comm):
        if comm.rank != 1:
            result = comm.all_reduce(np.ones(3), wait=wait)
            return result if wait else result.wait()

    error = failure(worker)
    assert error.reason == "deadlock"
    assert "rank 0 waits in all_reduce sum of array float64 (3,) from rank 2" in str(error)
    last = "rank 2 waits in all_reduce sum of array float64 (3,) from rank 1, which has returned"
    assert last in str(error)


@pytest.mark.parametrize(
    ("worker", "words"),
    [
        (lambda comm: comm.all_reduce(np.ones(3 + comm.rank)), ("(3,)", "(4,)")),
        (lambda comm: comm.all_reduce(np.ones(3, "f4" if comm.rank else "f8")), ("float64", "float32")),
        (lambda comm: comm.all_reduce(np.ones(3), ("mean", "sum")[comm.rank]), ("sum", "mean")),
        (lambda comm: comm.all_reduce((np.ones, torch.ones)[comm.rank](3)), ("array", "tensor")),
        (
            lambda comm: comm.barrier() if comm.rank else comm.all_reduce(np.ones(3)),
            ("barrier", "all_reduce"),
        ),
        (lambda comm: comm.broadcast(np.ones(3), source=comm.rank), ("from 0", "from 1")),
        (lambda comm: comm.broadcast(np.ones(3 + comm.rank), source=0), ("(3,)", "(4,)")),
    ],
)
def test_ranks_that_disagree_about_a_collective(worker, words):
    error = failure(worker, 2)
    assert error.reason == "mismatch"
    for word in (*words, "rank 0", "rank 1"):
        assert word in str(error)


def test_a_failed_run_leaves_nothing_behind():
    ended, arrays = [], []

    def worker(comm):
        array = np.zeros(1000)
        arrays.append(weakref.ref(array))
        try:
            comm.send(array, (comm.rank + 1) % comm.size)
            comm.recv((comm.rank - 1) % comm.size)
            if comm.rank == 2:
                raise ValueError("boom")
            comm.recv((comm.rank + 1) % comm.size)
        finally:
            ended.append(comm.rank)
            comm.send(array, (comm.rank + 1) % comm.size)  # refused; the others must clean up all the same

    failure(worker, 4)
    assert sorted(ended) == [0, 1, 2, 3]
    gc.collect()
    assert [ref() for ref in arrays] == [None] * 4


ENDLESS = """
import sys
from course_lib import RankError, simulate

def worker(comm):
    print("rank", comm.rank)
    while True:
        try:
            comm.recv(1 - comm.rank)
        except:
            pass

out = sys.stdout
try:
    simulate(worker, 2)
except RankError as error:
    print(error.reason, sys.stdout is out)
"""


def test_a_worker_that_swallows_everything_cannot_keep_a_deadlock_from_being_told():
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=limit(300))
    assert done.stdout == "rank 0\nrank 1\ndeadlock True\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_that_cannot_be_shown_is_told_by_its_type():
    class Shy(Exception):
        def __str__(self):
            raise ValueError("no words")

    def worker(comm):
        raise Shy

    error = failure(worker)
    assert (error.rank, error.reason) == (0, "raised") and str(error).startswith("rank 0 raised Shy\n")


def test_a_collective_that_nobody_waits_for_still_takes_its_time():
    def worker(comm, wait):
        handle = comm.all_reduce(np.ones(100), wait=False)
        if wait:
            handle.wait()

    forgotten, waited = (simulate(lambda comm, wait=wait: worker(comm, wait), 2) for wait in (False, True))
    assert forgotten.seconds == waited.seconds == max(message.stop for message in forgotten.messages) > 0
    assert forgotten.trace.finish == waited.trace.finish


def test_a_run_equals_only_itself():
    run = simulate(lambda comm: np.ones(3), 2)
    assert run == run and run != copy.deepcopy(run)


def test_finished_collectives_are_forgotten():
    """A long run with overlap must not keep every array that was ever reduced."""
    arrays = []

    def worker(comm):
        for _ in range(20):
            total = comm.all_reduce(np.zeros(1000), wait=False).wait()
            arrays.append(weakref.ref(total))
            del total
        comm.barrier()
        gc.collect(1)
        return sum(ref() is not None for ref in arrays)

    assert max(simulate(worker, 3).values) <= 3


# Where comm may be called


def test_comm_is_refused_in_another_thread():
    caught = []

    def call(comm):
        try:
            comm.send(np.zeros(1), 1)
        except RuntimeError as error:
            caught.append(str(error))

    def worker(comm):
        if comm.rank == 0:
            thread = threading.Thread(target=call, args=(comm,))
            thread.start()
            thread.join()

    simulate(worker, 2)
    assert "another thread" in caught[0]


def test_comm_of_another_rank_is_refused():
    comms = {}

    def worker(comm):
        comms[comm.rank] = comm
        comm.barrier()
        comms[0].compute(1.0)

    error = failure(worker)
    assert error.rank == 1 and "than its worker's" in str(error)


@pytest.mark.parametrize(
    ("call", "arguments"), [("compute", [1]), ("recv", [1]), ("barrier", []), ("time", [])]
)
def test_comm_is_refused_when_the_run_is_over(call, arguments):
    run = simulate(lambda comm: comm, 2)
    with pytest.raises(RuntimeError, match="over"):
        getattr(run.values[0], call)(*arguments)


def test_comm_is_refused_in_a_backward_hook():
    def worker(comm):
        weight = torch.ones(3, requires_grad=True)
        weight.register_hook(lambda grad: comm.all_reduce(grad))
        weight.sum().backward()

    error = failure(worker)
    assert "backward hook" in str(error) and "use launch" in str(error)


def test_a_simulation_inside_a_worker():
    def worker(comm):
        inner = simulate(lambda inner: inner.all_reduce(np.array([1.0 + comm.rank]))[0], 2)
        return comm.all_reduce(np.array(inner.values)).tolist()

    assert simulate(worker, 3).values == [[12.0, 12.0]] * 3


# What ranks must not see of each other


@pytest.mark.parametrize("outer", [True, False])
def test_torchs_grad_mode_is_each_ranks_own(outer):
    def worker(comm):
        seen = [torch.is_grad_enabled()]
        with torch.set_grad_enabled(comm.rank == 0):
            comm.barrier()
            seen.append(torch.is_grad_enabled())
            comm.compute(1.0)
            seen.append(torch.is_grad_enabled())
        comm.barrier()
        seen.append(torch.is_grad_enabled())
        torch.set_grad_enabled(comm.rank == 1)
        comm.compute(comm.rank)
        return seen

    with torch.set_grad_enabled(outer):
        run = simulate(worker, 3)
        assert torch.is_grad_enabled() is outer
    assert run.values == [[outer, rank == 0, rank == 0, outer] for rank in range(3)]


def test_torchs_inference_mode_is_each_ranks_own():
    def worker(comm):
        if comm.rank == 0:
            comm.barrier()
            return torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        with torch.inference_mode():
            comm.barrier()
            return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    assert simulate(worker, 3).values == [(False, True), (True, False), (True, False)]
    assert not torch.is_inference_mode_enabled()


def test_grad_mode_survives_a_failure():
    def worker(comm):
        torch.set_grad_enabled(False)
        comm.barrier()
        raise ValueError

    failure(worker)
    assert torch.is_grad_enabled()


def test_context_variables_and_errstate_are_each_ranks_own():
    variable = contextvars.ContextVar("variable", default=None)
    variable.set("outer")

    def worker(comm):
        first = variable.get()
        variable.set(comm.rank)
        with np.errstate(divide="raise" if comm.rank == 1 else "ignore"):
            comm.barrier()
            return first, variable.get(), np.geterr()["divide"]

    run = simulate(worker, 3)
    assert run.values == [("outer", 0, "ignore"), ("outer", 1, "raise"), ("outer", 2, "ignore")]
    assert variable.get() == "outer"


def test_prints_are_kept_apart_and_shown_in_rank_order(capsys):
    def worker(comm):
        comm.compute(3 - comm.rank)
        print("one", comm.rank)
        comm.barrier()
        print("two", comm.rank, end="")

    run = simulate(worker, 3)
    assert run.output == [f"one {rank}\ntwo {rank}" for rank in range(3)]
    assert capsys.readouterr().out == "".join(f"one {rank}\ntwo {rank}\n" for rank in range(3))


def test_prints_of_a_failed_run_are_shown(capsys):
    def worker(comm):
        print("here", comm.rank)
        comm.recv(1 - comm.rank)

    failure(worker, 2)
    assert capsys.readouterr().out == "here 0\nhere 1\n"


def test_simulations_in_several_threads_keep_their_prints_apart(capsys):
    out, all_here, outputs = sys.stdout, threading.Barrier(3), {}

    def run(name):
        def worker(comm):
            print(name, comm.rank)
            all_here.wait(limit(150))
            comm.barrier()
            print(name, "again")

        outputs[name] = simulate(worker, 2).output

    threads = [threading.Thread(target=run, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {name: [f"{name} {rank}\n{name} again\n" for rank in range(2)] for name in "abc"}
    assert sys.stdout is out


def test_prints_of_a_thread_are_not_a_ranks(capsys):
    def worker(comm):
        thread = threading.Thread(target=print, args=("from a thread",))
        thread.start()
        thread.join()

    assert simulate(worker, 2).output == ["", ""]
    assert capsys.readouterr().out == "from a thread\n" * 2


def test_prints_of_a_simulation_inside_a_worker_are_its_own(capsys):
    def worker(comm):
        print("outer")
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            redirected = simulate(lambda inner: print("inner"), 1).output
        return redirected, text.getvalue(), simulate(lambda inner: print("inner"), 1).output

    run = simulate(worker, 2)
    assert run.values == [(["inner\n"], "inner\n", ["inner\n"])] * 2
    assert run.output == ["outer\ninner\n"] * 2


# Arguments


async def asynchronous(comm):
    pass


async def asynchronous_generator(comm):
    yield


def generator(comm):
    yield


class Generator:
    def __call__(self, comm):
        yield


NEVER_RUN = [asynchronous, asynchronous_generator, generator, Generator()]


@pytest.mark.parametrize(
    ("worker", "words"),
    [
        *((worker, "worker must be a plain function") for worker in NEVER_RUN),
        (None, "worker must be a function"),
        (lambda: None, "worker must take one argument"),
        (lambda a, b: None, "worker must take one argument"),
    ],
)
def test_bad_workers(worker, words):
    with pytest.raises(TypeError, match=words):
        simulate(worker, 2)


@pytest.mark.parametrize("ranks", [0, 2.5, True, "4", 65_537])
def test_bad_ranks(ranks):
    with pytest.raises((TypeError, ValueError), match="ranks must be a whole number from 1"):
        simulate(nothing, ranks)


def nothing(comm):
    pass


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"link": 1e-6}, "link must be a Link"),
        ({"links": [(0, 1)]}, "links must be a dict"),
        ({"links": {(0, 1): 3}}, "must be a Link"),
        ({"links": {(0, 2): SLOW}}, "whole number from 0 to 1"),
        ({"links": {(0, 0): SLOW}}, "join two ranks"),
        ({"links": {0: SLOW}}, "keys"),
        ({"speeds": [1.0]}, "one number a rank, 2; got 1"),
        ({"speeds": [1.0, 0.0]}, "above 0"),
        ({"speeds": [1.0, -1.0]}, "above 0"),
        ({"speeds": [1.0, math.nan]}, "above 0"),
        ({"speeds": 2.0}, "speeds must be a list"),
        ({"jitter": 0.1}, "jitter must be a function"),
        ({"seed": -1}, "seed must be"),
        ({"seed": None}, "seed must be"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        simulate(nothing, 2, **options)


@pytest.mark.parametrize(
    ("latency", "bandwidth"),
    [(-1, 1), (math.nan, 1), (math.inf, 1), ("1", 1), (0, 0), (0, -1), (0, math.nan), (True, 1)],
)
def test_bad_links(latency, bandwidth):
    with pytest.raises((TypeError, ValueError), match="latency|bandwidth"):
        Link(latency, bandwidth)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda comm: comm.send(np.ones(1), 0), "this rank itself"),
        (lambda comm: comm.send(np.ones(1), 2), "whole number from 0 to 1"),
        (lambda comm: comm.send(np.ones(1), -1), "whole number from 0 to 1"),
        (lambda comm: comm.send(np.ones(1), 1.0), "whole number"),
        (lambda comm: comm.send(np.ones(1), True), "whole number"),
        (lambda comm: comm.send([1.0], 1), "wrap it in np.array"),
        (lambda comm: comm.send(np.array([None]), 1), "Python objects"),
        (lambda comm: comm.send(np.ma.array([1.0, 2.0], mask=[0, 1]), 1), "masked array"),
        (lambda comm: comm.send(torch.eye(2).to_sparse(), 1), "a sparse one"),
        (lambda comm: comm.send(torch.nested.nested_tensor([torch.ones(1)]), 1), "a nested one"),
        (lambda comm: comm.send(torch.ones(1, device="meta"), 1), "meta device"),
        (lambda comm: comm.recv(0), "this rank itself"),
        (lambda comm: comm.recv(None), "whole number"),
        (lambda comm: comm.sendrecv(np.ones(1), 1, 2), "source must be"),
        (lambda comm: comm.compute(-1), "seconds must be"),
        (lambda comm: comm.compute(math.nan), "seconds must be"),
        (lambda comm: comm.compute("1"), "seconds must be"),
        (lambda comm: comm.compute(10**400), "got a number too large for a float"),
        (lambda comm: comm.compute(np.ones(2)), "seconds must be"),
        (lambda comm: comm.compute(np.ones(1)), "seconds must be"),
        (lambda comm: comm.compute(np.complex128(1)), "seconds must be"),
        (lambda comm: comm.compute(torch.tensor(1 + 0j)), "seconds must be"),
        (lambda comm: comm.all_reduce([1.0]), "wrap it in np.array"),
        (lambda comm: comm.all_reduce(np.ones(1), "max"), "'sum', 'mean'"),
        (lambda comm: comm.broadcast(np.ones(1), 2), "whole number from 0 to 1"),
    ],
)
def test_bad_calls(call, words):
    error = failure(lambda comm: call(comm) if comm.rank == 0 else None, 2)
    assert (error.rank, error.reason) == (0, "raised")
    assert words in str(error.__cause__)  # the error itself quotes the line with the words


def test_a_bad_source_is_refused_before_the_message_sets_out():
    def worker(comm):
        try:
            comm.sendrecv(np.ones(1), 1 - comm.rank, source=9)
        except ValueError:
            return "refused"

    run = simulate(worker, 2)
    assert run.values == ["refused"] * 2 and run.messages == ()


@pytest.mark.parametrize("factor", [-1.0, math.nan, math.inf, "1"])
def test_bad_results_of_jitter(factor):
    error = failure(lambda comm: comm.compute(1.0), 2, jitter=lambda rng: factor)
    assert "jitter's result" in str(error)


def test_one_rank():
    def worker(comm):
        comm.compute(2.0)
        comm.barrier()
        handle = comm.all_reduce(np.ones(2), wait=False)
        total = comm.all_reduce(np.ones(2), "mean") + comm.broadcast(np.ones(2), 0) + handle.wait()
        with pytest.raises(ValueError, match="nobody to receive from"):
            comm.recv_any()
        return total.tolist()

    run = simulate(worker, 1)
    assert (run.values, run.seconds, run.messages) == ([[3.0, 3.0]], 2.0, ())


def test_importing_and_simulating_needs_neither_torch_nor_matplotlib():
    code = """
import sys, numpy as np
import course_lib.compression, course_lib.training.overlap, course_lib.training.recovery
import course_lib.exercises.chapter7_buckets, course_lib.pictures.overlap, course_lib.pictures.recovery
from course_lib import simulate
simulate(lambda comm: comm.all_reduce(np.ones(3)), 3)
assert not {"torch", "matplotlib"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_loop_that_waits_for_the_virtual_clock_ends(monkeypatch):
    monkeypatch.setattr(simulated_comm, "MAX_ASKED", most := 100)

    def worker(comm):
        for now in (0.0, 1.0):
            assert [comm.time() for _ in range(most)] == [now] * most
            comm.compute(1.0)
        while comm.time() < 3:
            asked.append(comm.rank)

    asked = []
    with pytest.raises(RankError, match=f"rank 0 has asked for the time {most} times at 2 s"):
        simulate(worker, 2)
    assert asked.count(0) == most + 1  # the first one after the clock went on is none in vain
