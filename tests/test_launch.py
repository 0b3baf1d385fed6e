"""The contract of `launch`: what a worker can do in real processes, and what comes back."""

import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from processes_helper import TORCHRUN, descendants, nothing_left, run_script, write_script
from waiting import limit

import course_lib
from course_lib import RankError, launch, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.output import Live

SIZES = [0, 1, 5, 1000]


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def samples():
    """Arrays of every sort that a message may carry."""
    matrix = np.arange(12.0).reshape(3, 4)
    return {
        "float64": matrix,
        "float32": matrix.astype(np.float32),
        "int16": matrix.astype(np.int16),
        "uint8": matrix.astype(np.uint8),
        "bool": matrix > 5,
        "complex": matrix * 1j,
        "0-d": np.array(2.5),
        "empty": np.empty((0, 3)),
        "transposed": matrix.T,
        "strided": matrix[:, ::2],
        "read-only": np.broadcast_to(1.5, (2, 2)),
        "tensor": torch.arange(6.0).reshape(2, 3),
        "bfloat16": torch.arange(6).reshape(2, 3).to(torch.bfloat16),
        "tensor int64": torch.arange(4),
        "tensor bool": torch.tensor([True, False]),
        "tensor 0-d": torch.tensor(2.5),
        "tensor empty": torch.empty(0, 2),
        "tensor transposed": torch.arange(6.0).reshape(2, 3).T,
        "tensor with gradient": torch.ones(3, requires_grad=True),
    }


def same(one, other):
    """Equal in kind, dtype, shape and bits."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.fast
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_values_come_back_in_rank_order(ranks):
    run = launch(lambda comm: (comm.rank, comm.size), ranks)
    assert run.values == [(rank, ranks) for rank in range(ranks)]
    assert run.world == "real"
    assert 0 <= run.seconds < limit(50)
    assert nothing_left()


@pytest.mark.fast
def test_one_rank_may_call_all_that_needs_no_other():
    def worker(comm):
        with pytest.raises(ValueError, match="one rank"):
            comm.recv_any()
        comm.barrier()
        handle = comm.all_reduce(np.ones(2), op="mean", wait=False)
        return comm.all_reduce(np.ones(2)), comm.broadcast(np.ones(2), 0), handle.wait()

    assert np.array_equal(launch(worker, 1).values[0], np.ones((3, 2)))


def test_every_sort_of_array_arrives_as_it_was_sent(subtests):
    def worker(comm):
        arrays, other = samples(), 1 - comm.rank
        received = []
        for array in arrays.values():
            if comm.rank == 0:
                comm.send(array, to=1)
                received.append(comm.recv(source=1))
            else:
                source, received_any = comm.recv_any()
                received.append(received_any)
                comm.send(array, to=source)
        both = [comm.sendrecv(array, to=other, source=other) for array in arrays.values()]
        cast = [comm.broadcast(array, source=1) for array in arrays.values()]
        return received, both, cast

    received = [results for calls in launch(worker, 2).values for results in calls]
    for (name, sent), *got in zip(samples().items(), *received, strict=True):
        sent = sent.detach() if isinstance(sent, torch.Tensor) else sent
        with subtests.test(name):
            assert all(same(sent, each) for each in got)


def test_all_reduce_sums_every_dtype_and_leaves_its_input_alone(subtests):  # C19
    arrays = samples() | {"uint32": np.full(2, 2**31, np.uint32), "int16 wraps": np.full(2, 30000, np.int16)}

    def worker(comm):
        before = [
            array.copy() if isinstance(array, np.ndarray) else array.clone() for array in arrays.values()
        ]
        sums = [comm.all_reduce(array) for array in arrays.values()]
        for old, now in zip(before, arrays.values(), strict=True):
            assert (old == now).all()
        return sums

    for (name, array), *sums in zip(arrays.items(), *launch(worker, 2).values, strict=True):
        tensor = isinstance(array, torch.Tensor)
        expected = (array + array).detach() if tensor else np.array(array + array)
        with subtests.test(name):
            assert all(same(expected, got) for got in sums)


@pytest.mark.fast
def test_mean_of_floats_and_never_of_integers():  # C18
    def worker(comm):
        with pytest.raises(TypeError, match="mean of integers"):
            comm.all_reduce(np.array([1, 2]), op="mean")
        with pytest.raises(ValueError, match="'sum', 'mean'"):
            comm.all_reduce(np.ones(1), op="max")
        return comm.all_reduce(np.array(1.0 + comm.rank), op="mean"), comm.all_reduce(torch.ones(2), "mean")

    for mean, tensor in launch(worker, 2).values:
        assert same(mean, np.array(1.5))
        assert same(tensor, torch.ones(2))


@pytest.mark.fast
def test_an_all_reduce_that_is_not_waited_for_returns_at_once():
    def worker(comm):
        if comm.rank == 1:
            comm.recv(source=0)  # comes only once rank 0 has left all three calls
        handles = [comm.all_reduce(np.full(3, float(i)), wait=False) for i in range(3)]
        if comm.rank == 0:
            comm.send(np.ones(1), to=1)
        last = comm.all_reduce(np.ones(1))
        return [handle.wait()[0] for handle in handles], handles[0].wait()[0], last[0]

    run = launch(worker, 2)
    assert run.values == [([0.0, 2.0, 4.0], 0.0, 2.0)] * 2
    collectives = [span for span in run.spans if span.kind == "collective" and span.rank == 0]
    assert len(collectives) == 4


@pytest.mark.fast
def test_an_all_reduce_that_nobody_waits_for_still_counts():
    def worker(comm, differs=0):
        time.sleep(0.3 * comm.rank)  # most likely the other has returned by then
        comm.all_reduce(np.ones(3 + differs * comm.rank), wait=False)

    run = launch(worker, 2)
    spans = [span for span in run.spans if span.kind == "collective"]
    assert len(spans) == 2
    assert all(span.stop <= run.seconds for span in spans)
    with pytest.raises(RankError) as caught:
        launch(lambda comm: worker(comm, differs=1), 2)
    assert caught.value.reason == "mismatch"


@pytest.mark.fast
def test_an_error_that_a_handle_has_raised_is_not_raised_again():
    def worker(comm):
        handle = comm.all_reduce(np.ones(3 + comm.rank), wait=False)
        with pytest.raises(RankError, match="collective 0 differs"):
            handle.wait()
        return float(comm.all_reduce(np.ones(1))[0])

    assert launch(worker, 2).values == [2.0, 2.0]


@pytest.mark.fast
def test_out_is_filled_if_it_fits():
    def worker(comm):
        other = 1 - comm.rank
        results = []
        for array in (
            np.arange(3.0),
            np.arange(6.0).reshape(2, 3).T,
            torch.arange(4.0),
            np.empty(0),
            np.array(2.0),
        ):
            out = array.copy() if isinstance(array, np.ndarray) else array.clone()
            out[...] = 7
            assert comm.sendrecv(array, other, other, out=out) is out
            comm.send(array, other)
            assert comm.recv(other, out=out) is out
            results.append(bool((out == array).all()))
        slots = torch.zeros(4, 2)
        comm.sendrecv(torch.ones(4), other, other, out=slots[:, 1])  # not contiguous
        return results, slots.sum(0).tolist()

    assert launch(worker, 2).values == [([True] * 5, [0.0, 4.0])] * 2


@pytest.mark.fast
@pytest.mark.parametrize("size", [1, 5])
def test_out_that_does_not_fit_is_refused_before_a_byte_lands(size):
    def worker(comm):
        if comm.rank == 0:
            comm.send(np.ones(3), to=1)
            comm.barrier()
            return
        out = np.zeros(size)
        with pytest.raises(ValueError) as caught:
            comm.recv(source=0, out=out)
        comm.barrier()
        return str(caught.value), out.sum()

    message, touched = launch(worker, 2).values[1]
    assert message == f"out is array float64 ({size},), but the message is array float64 (3,)"
    assert touched == 0


@pytest.mark.fast
def test_out_may_share_the_memory_of_what_is_sent():
    def worker(comm):
        other = 1 - comm.rank
        for make in (np.full, torch.full):
            for size in (3, 1_000_000):
                array, longer = make((size,), float(comm.rank)), make((size + 1,), float(comm.rank))
                assert comm.sendrecv(array, other, other, out=array) is array
                assert (array == other).all()
                comm.sendrecv(longer[1:], other, other, out=longer[:-1])
                assert (longer[:-1] == other).all()

    launch(worker, 2)


@pytest.mark.fast
def test_messages_go_on_after_one_that_did_not_fit(subtests):
    def worker(comm):
        if comm.rank == 0:
            for number, size in enumerate([3, 2, 3, 3, 2, 2]):
                comm.send(np.full(size, float(number)), to=1)
            return None
        outs = [np.zeros(2), np.zeros(2), np.zeros(3)]
        got = []
        for out in (outs[0], None, outs[1], None, outs[2], np.zeros(2)):
            try:
                got.append(comm.recv(0, out=out).tolist())
            except ValueError:
                got.append("refused")
        return got

    for run in (launch, simulate):
        with subtests.test(run=run.__name__):
            got = run(worker, 2).values[1]
            assert got == ["refused", [1.0, 1.0], "refused", [3.0, 3.0, 3.0], "refused", [5.0, 5.0]]


@pytest.mark.fast
def test_calls_refuse_what_they_cannot_do(subtests):
    def worker(comm):
        refused = []
        constant = np.broadcast_to(0.0, (2,))
        for call in (
            lambda: comm.send([1.0], to=1),
            lambda: comm.send(np.array([object()]), to=1),
            lambda: comm.send(np.zeros(1, [("a", "f8"), ("b", "i4")]), to=1),
            lambda: comm.send(np.ones(1), to=2),
            lambda: comm.send(np.ones(1), to=comm.rank),
            lambda: comm.recv(source=-1),
            lambda: comm.recv(source=1 - comm.rank, out=3.0),
            lambda: comm.recv(source=1 - comm.rank, out=constant),
            lambda: comm.broadcast(np.ones(1), source=7),
            lambda: comm.compute(-1),
        ):
            with pytest.raises((TypeError, ValueError)) as caught:
                call()
            refused.append(str(caught.value))
        return refused

    words = ["list", "objects", "fields", "to", "itself", "source", "out", "read-only", "source", "seconds"]
    for word, text in zip(words, launch(worker, 2).values[0], strict=True):
        with subtests.test(text):
            assert word in text


def schedule(run):
    """For each rank, what it sent: to whom and how many bytes, in order."""
    sent = defaultdict(list)
    for message in run.messages:
        sent[message.source].append((message.target, message.nbytes))
    return sent


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_the_ring_is_the_same_in_both_worlds(ranks):
    def worker(comm):
        data = [np.random.default_rng([comm.rank, size]).normal(size=size) for size in SIZES]
        return [ring_all_reduce(comm, array) for array in data]

    real, simulated = launch(worker, ranks), simulate(worker, ranks)
    for ours, theirs in zip(real.values, simulated.values, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one.tobytes() == other.tobytes()
    assert schedule(real) == schedule(simulated)
    assert len(real.messages) == len(SIZES) * ranks * 2 * (ranks - 1)
    assert not any(math.isnan(message.stop) for message in real.messages)


@pytest.mark.fast
def test_a_send_never_waits_for_its_receiver():
    def worker(comm):
        if comm.rank == 1:
            comm.barrier()  # receives nothing before rank 0 has left both sends
            return float(comm.recv(source=0).sum() + comm.recv(source=0).sum())
        array = np.ones(8_000_000)  # 64 MB
        comm.send(array, to=1)
        array[:] = 2.0  # it may be used again
        comm.send(array, to=1)
        comm.barrier()

    assert launch(worker, 2).values[1] == 24_000_000


@pytest.mark.fast
def test_messages_that_nobody_receives_do_no_harm():
    def worker(comm):
        if comm.rank == 0:
            comm.send(np.ones(3), to=1)
            comm.send(np.ones(1_000_000), to=1)
        else:
            comm.recv(source=0)

    first, second = launch(worker, 2).messages
    assert first.stop >= first.start
    assert math.isnan(second.stop)
    assert (second.source, second.target, second.nbytes) == (0, 1, 8_000_000)


@pytest.mark.fast
def test_many_small_messages_neither_overtake_nor_pile_up():
    def worker(comm):
        other = 1 - comm.rank
        for i in range(2000):
            comm.send(np.array([i]), to=other)
        return all(comm.recv(source=other)[0] == i for i in range(2000))

    assert launch(worker, 2).values == [True, True]


@pytest.mark.fast
def test_a_parameter_server_takes_whatever_comes_first():
    def worker(comm):
        if comm.rank == 1:
            comm.recv(source=0)
        if comm.rank > 0:
            comm.send(np.array([comm.rank]), to=0)
            return None
        first = comm.recv_any()
        comm.send(np.empty(0), to=1)
        return [(source, int(array[0])) for source, array in (first, comm.recv_any())]

    assert launch(worker, 3).values[0] == [(2, 2), (1, 1)]


@pytest.mark.fast
def test_spans_and_messages_share_one_clock():
    def worker(comm):
        comm.compute(0.05)
        if comm.rank == 0:
            comm.compute(0.5)
            comm.send(np.ones(10), to=1)
        else:
            comm.recv(source=0)
        comm.barrier()

    run = launch(worker, 2)
    assert {span.kind for span in run.spans} == {"compute", "send", "recv", "wait", "collective"}
    for span in run.spans:
        assert 0 <= span.start <= span.stop <= run.seconds
    (message,) = run.messages
    (wait,) = [span for span in run.spans if span.kind == "wait" and span.label == "from 0"]
    assert 0.5 < message.start <= message.stop <= run.seconds
    assert wait.stop == pytest.approx(message.start)
    assert run.seconds >= 0.55


@pytest.mark.fast
def test_time_is_the_clock_of_the_spans():
    def worker(comm):
        seen = [comm.time()]
        comm.compute(0.01 * (1 + comm.rank))
        seen.append(comm.time())
        comm.barrier()
        return [*seen, comm.time()]

    run = launch(worker, 3)
    for rank, (begin, computed, met) in enumerate(run.values):
        _, compute, *others = [span for span in run.spans if span.rank == rank]  # the first: up to the call
        (barrier,) = [span for span in others if span.kind == "collective"]
        assert 0 <= begin <= compute.start < compute.stop <= computed <= barrier.stop <= met <= run.seconds


@pytest.mark.fast
def test_output_is_kept_apart_and_shown_in_rank_order(capfd):  # C04
    def worker(comm):
        time.sleep(0.1 * (comm.size - comm.rank))
        print("hello from", comm.rank)
        os.system("echo from a child")
        if comm.rank == 1:
            print("no newline: 中文", end="")

    for _ in range(2):
        run = launch(worker, 3)
        whole = "".join(f"hello from {rank}\nfrom a child\n" for rank in range(2))
        shown = whole + "no newline: 中文\nhello from 2\nfrom a child\n"
        assert run.output[1].endswith("child\nno newline: 中文")
        assert capfd.readouterr().out == shown


@pytest.mark.fast
def test_live_output_streams_while_the_ranks_run(monkeypatch, tmp_path):
    seen = tmp_path / "seen"

    class Screen(io.StringIO):
        def write(self, text):
            if "begin" in text:
                seen.touch()
            return super().write(text)

    def worker(comm):
        print("begin")
        while not seen.exists():
            time.sleep(0.01)
        print("end, no newline", end="")

    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    launch(worker, 1, live=True)
    assert screen.getvalue() == "[rank 0] begin\n[rank 0] end, no newline\n"


@pytest.mark.fast
def test_live_lines_stand_above_a_bar_of_the_time(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen, file = Terminal(), tmp_path / "output"
    monkeypatch.setattr(sys, "stdout", screen)
    file.write_bytes("ä\nhalf".encode())
    live = Live([file], limit=10)
    live.show()
    assert screen.getvalue() == "[rank 0] ä\n\r[....................] 0 s of at most 10 s"
    live.close()
    assert screen.getvalue().endswith("\r[rank 0] half\n")


@pytest.mark.fast
@pytest.mark.parametrize(("ranks", "threads"), [(1, None), (2, None), (1, 1), (2, 3)])
def test_threads_of_a_rank(ranks, threads):  # C21
    def worker(comm):
        import threadpoolctl

        return torch.get_num_threads(), {pool["num_threads"] for pool in threadpoolctl.threadpool_info()}

    expected = threads or max(1, cores() // ranks)
    for count, pools in launch(worker, ranks, threads=threads).values:
        assert count == expected
        assert max(pools) == expected


@pytest.mark.fast
def test_the_environment_is_that_of_the_launch(monkeypatch, tmp_path):
    launch(lambda comm: None, 1)
    monkeypatch.setenv("COURSE_LIB_TEST", "ä b")
    monkeypatch.delenv("PATH")
    monkeypatch.chdir(tmp_path)

    def worker(comm):
        keys = ("COURSE_LIB_TEST", "PATH", "RANK", "WORLD_SIZE", "LOCAL_RANK")
        return [os.environ.get(key) for key in keys], os.getcwd()

    assert launch(worker, 1).values == [(["ä b", None, "0", "1", "0"], str(tmp_path))]


@pytest.mark.fast
def test_ranks_draw_different_random_numbers():
    first, second = [launch(lambda comm: np.random.rand(), 2).values for _ in range(2)]
    assert len({*first, *second}) == 4


@pytest.mark.fast
def test_a_worker_may_use_torch_distributed_directly():
    def worker(comm):
        import torch.distributed as dist

        ours = comm.all_reduce(np.ones(1000), wait=False)  # in flight while the worker's own go by
        tensor = torch.full((3,), float(comm.rank))
        dist.all_reduce(tensor)
        gathered = [torch.zeros(1) for _ in range(comm.size)]
        dist.all_gather(gathered, torch.ones(1) * comm.rank)
        if comm.rank == 0:
            dist.send(torch.ones(2), 1)
        elif comm.rank == 1:
            dist.recv(torch.ones(2), 0)
        return tensor.tolist(), float(sum(gathered)), ours.wait()[0]

    assert launch(worker, 3).values == [([3.0] * 3, 3.0, 3.0)] * 3


def test_distributed_data_parallel_averages_gradients():
    def worker(comm):
        from torch.nn.parallel import DistributedDataParallel

        torch.manual_seed(comm.rank)  # rank 0's parameters are broadcast
        model = DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
        weight = model.module.weight.detach().clone()
        model(torch.full((1, 2), 1.0 + comm.rank)).sum().backward()
        return weight, model.module.weight.grad, model.module

    (one, gradient, module), (two, other, _) = launch(worker, 2).values
    assert torch.equal(one, two)
    assert gradient.tolist() == other.tolist() == [[1.5, 1.5]]
    assert isinstance(module, torch.nn.Linear)


def test_unequal_numbers_of_batches_with_join():  # C08
    def worker(comm):
        from torch.nn.parallel import DistributedDataParallel

        model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
        gradients = []
        with model.join():
            for _ in range(1 + comm.rank):  # rank 1 has one batch more
                model.zero_grad()
                model(torch.ones(1, 1)).sum().backward()
                gradients.append(model.module.weight.grad.item())
        return gradients

    # Alone in its last step, rank 1 has gradient 1, but DDP still divides by K = 2.
    assert launch(worker, 2).values == [[1.0], [1.0, 0.5]]


@pytest.mark.fast
def test_results_with_tensors_come_back_as_they_are():
    def worker(comm):
        leaf = torch.ones(2, requires_grad=True)
        return {
            "leaf": leaf,
            "part of a graph": leaf * 2,
            "numbers": (1, np.float32(2)),
            "half": leaf.bfloat16(),
        }

    value = launch(worker, 1).values[0]
    assert value["leaf"].requires_grad
    assert value["part of a graph"].tolist() == [2.0, 2.0]
    assert value["half"].dtype == torch.bfloat16
    assert value["numbers"] == (1, np.float32(2))


@pytest.mark.fast
def test_a_part_of_a_tensor_comes_back_without_the_rest():
    def worker(comm):
        whole = torch.arange(1_000_000.0)
        return whole[1:3], whole[::500_000].requires_grad_(), whole[:0]

    part, strided, empty = launch(worker, 1).values[0]
    assert part.tolist() == [1.0, 2.0]
    assert strided.tolist() == [0.0, 500_000.0]
    assert strided.requires_grad
    assert [each.untyped_storage().nbytes() for each in (part, strided, empty)] == [8, 8, 0]


class TwoWords(Exception):
    """Pickles, but cannot be made anew from what was pickled."""

    def __init__(self, one, other):
        super().__init__(one + other)


@pytest.mark.fast
def test_a_result_that_cannot_be_read_names_its_rank():
    with pytest.raises(RankError, match="rank 1 finished, but its result cannot be read here: ") as caught:
        launch(lambda comm: TwoWords("a", "b") if comm.rank else None, 2)
    assert (caught.value.rank, caught.value.reason) == (1, "raised")


@pytest.mark.fast
def test_a_worker_that_exits_has_left(subtests):
    def worker(comm):
        if comm.rank == 1:
            sys.exit(3)
        comm.barrier()

    for run in (launch, simulate):
        with subtests.test(run=run.__name__):
            with pytest.raises(RankError, match=r"rank 1 left without a result \(exit code 3\)") as caught:
                run(worker, 2)
            assert (caught.value.rank, caught.value.reason) == (1, "left")


@pytest.mark.fast
def test_an_error_that_cannot_say_what_it_is_is_reported_all_the_same():
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no words")

    def worker(comm):
        raise Mute

    with pytest.raises(RankError, match="rank 0 raised Mute") as caught:
        launch(worker, 1)
    assert caught.value.reason == "raised"


@pytest.mark.fast
@pytest.mark.parametrize("closed", [True, False])
def test_a_worker_may_do_without_its_output(closed):
    def worker(comm):
        if closed:
            sys.stdout.close()
            sys.stderr.close()
        else:
            sys.stdout = sys.stderr = None
        return comm.rank

    assert launch(worker, 2).values == [0, 1]


@pytest.mark.fast
def test_lambdas_closures_and_local_classes_are_shipped():  # C02
    factor = 3

    class Doubler:
        def __call__(self, comm):
            return 2 * comm.rank

    assert launch(lambda comm: factor * comm.rank, 2).values == [0, 3]
    assert launch(Doubler(), 2).values == [0, 2]


@pytest.mark.fast
@pytest.mark.parametrize(
    "make",
    [lambda: open(os.devnull, "w"), lambda: (i for i in range(3)), lambda: __import__("threading").Lock()],
)
def test_what_cannot_be_shipped_is_said_before_anything_starts(make):  # C02
    thing = make()

    def my_worker(comm):
        return thing

    with pytest.raises(TypeError, match="worker my_worker cannot be sent") as caught:
        launch(my_worker, 2)
    assert "inside the worker" in str(caught.value)
    assert not descendants()


@pytest.mark.fast
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"ranks": 0}, ValueError, ["ranks", "0", "from 1 to 64"]),
        ({"ranks": 1000}, ValueError, ["ranks", "1000", "from 1 to 64"]),
        ({"ranks": 2.5}, TypeError, ["ranks", "2.5", "whole number"]),
        ({"ranks": True}, TypeError, ["ranks", "True", "whole number"]),
        ({"ranks": "2"}, TypeError, ["ranks", "'2'", "whole number"]),
        ({"worker": None}, TypeError, ["worker", "None", "function"]),
        ({"worker": lambda: 1}, TypeError, ["worker", "one argument, comm"]),
        ({"worker": lambda comm, more: 1}, TypeError, ["worker", "one argument, comm", "more"]),
        ({"timeout": 0}, ValueError, ["timeout", "0", "above 0"]),
        ({"timeout": -1.5}, ValueError, ["timeout", "-1.5", "above 0"]),
        ({"timeout": math.nan}, ValueError, ["timeout", "nan", "above 0"]),
        ({"timeout": math.inf}, ValueError, ["timeout", "inf", "finite"]),
        ({"timeout": "30"}, TypeError, ["timeout", "'30'", "number"]),
        ({"timeout": 1e10}, ValueError, ["timeout", "10000000000.0", "at most 86400 seconds"]),
        ({"timeout": 1e15}, ValueError, ["timeout", "at most 86400 seconds"]),
        ({"backend": "mpi"}, ValueError, ["backend", "'mpi'", "'gloo', 'nccl'"]),
        ({"threads": 0}, ValueError, ["threads", "0", "at least 1"]),
    ],
)
def test_bad_arguments_are_named_and_start_nothing(arguments, error, words):
    with pytest.raises(error) as caught:
        launch(**{"worker": lambda comm: None, "ranks": 2, **arguments})
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not descendants()


def test_launches_work_after_backward_in_the_kernel_and_from_several_threads():  # C03, C05
    weight = torch.randn(300, 300, requires_grad=True)
    (weight @ weight).sum().backward()
    with ThreadPoolExecutor(3) as pool:
        runs = list(
            pool.map(lambda number: launch(lambda comm: comm.all_reduce(np.array(number)), 2), range(3))
        )
    assert [run.values for run in runs] == [[0, 0], [2, 2], [4, 4]]
    assert nothing_left()


@pytest.mark.fast
def test_lock_free_counters_lose_updates_at_most():  # C24
    def worker(comm):
        counter = torch.from_file(path, shared=True, size=1, dtype=torch.int64)
        comm.barrier()
        for _ in range(1000):
            counter += 1
        comm.barrier()
        return int(counter[0])

    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        path = file.name
        one, other = launch(worker, 2).values
    assert one == other
    assert 0 < one <= 2000


def test_an_unguarded_script_is_not_run_again_by_its_ranks_nor_loads_torch(tmp_path):
    script = write_script(
        tmp_path,
        """
        import sys
        from dataclasses import dataclass
        import numpy as np
        from course_lib import launch

        print("once")

        @dataclass
        class Pair:
            rank: int
            total: float

        offset = 1

        def helper(comm):
            return float(comm.all_reduce(np.array(comm.rank + offset)))

        def worker(comm):
            return Pair(comm.rank, helper(comm))

        for _ in range(2):
            print(launch(worker, 2).values)
        print("torch" in sys.modules)
        """,
    )
    values = "[Pair(rank=0, total=3.0), Pair(rank=1, total=3.0)]"
    assert run_script(script).splitlines() == ["once", values, values, "False"]


def test_ranks_run_the_library_as_it_is_now(tmp_path):
    library = Path(course_lib.__file__).parent
    shutil.copytree(library, tmp_path / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    script = write_script(
        tmp_path,
        """
        from pathlib import Path
        from course_lib import launch

        def worker(comm):
            import course_lib.errors
            return course_lib.errors.__file__, hasattr(course_lib.errors, "EDITED")

        for _ in range(2):
            print(launch(worker, 1).values[0])
            with open("course_lib/errors.py", "a") as file:
                file.write("EDITED = True")
        """,
    )
    copy = str(tmp_path / "course_lib" / "errors.py")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    printed = run_script(script, cwd=tmp_path, env=environment)
    assert printed.splitlines() == [str((copy, False)), str((copy, True))]


def test_where_ranks_cannot_be_forked_they_are_spawned(tmp_path):
    script = write_script(
        tmp_path,
        """
        import numpy as np
        from course_lib import launch
        from course_lib.processes import server

        print("once")
        server.FORKS = False  # as on macOS and Windows
        print(launch(lambda comm: float(comm.all_reduce(np.ones(1))[0]), 2).values)
        """,
    )
    assert run_script(script).splitlines() == ["once", "[2.0, 2.0]"]


@pytest.mark.fast
def test_ranks_that_disagree_get_an_error_of_their_own_kind():
    with pytest.raises(RankError) as caught:
        launch(lambda comm: comm.all_reduce(np.ones(3 + (comm.rank == 2))), 4)
    assert (caught.value.rank, caught.value.reason) == (2, "mismatch")
    assert "rank 2 asked for all_reduce sum of array float64 (4,)" in str(caught.value)


@pytest.mark.fast
@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() > 1, reason="has a GPU for each of two ranks")
def test_nccl_ranks_never_share_a_gpu():
    gpus = torch.cuda.device_count()
    with pytest.raises(ValueError, match=f"there are {gpus} for 2 ranks: use backend='gloo'"):
        launch(lambda comm: None, 2, backend="nccl")
    assert nothing_left()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("ranks", "backend"), [(1, "nccl"), (2, "gloo"), (1, None)])
def test_cuda_tensors_by_either_backend(ranks, backend):
    def worker(comm):
        from torch.nn.parallel import DistributedDataParallel

        tensor = torch.full((3,), 1.0 + comm.rank, device=comm.device)
        sums = comm.all_reduce(tensor)
        mean = comm.all_reduce(tensor, op="mean", wait=False).wait()
        cast = comm.broadcast(tensor, source=0)
        passed = tensor
        if comm.size > 1:
            passed = comm.sendrecv(tensor, 1 - comm.rank, 1 - comm.rank)
        model = DistributedDataParallel(torch.nn.Linear(3, 1, bias=False).to(comm.device))
        model(tensor[None]).sum().backward()
        assert all(each.is_cuda for each in (sums, mean, cast, passed))
        return sums, mean, cast, passed, model.module.weight.grad, model.module

    total, average = sum(range(1, ranks + 1)), (ranks + 1) / 2
    for rank, (sums, mean, cast, passed, gradient, module) in enumerate(
        launch(worker, ranks, backend=backend).values
    ):
        assert not any(each.is_cuda for each in (sums, mean, cast, passed, module.weight))
        assert (sums[0], mean[0], cast[0], passed[0]) == (total, average, 1.0, ranks - rank)
        assert gradient.flatten().tolist() == [average] * 3


def test_a_launch_joins_the_torchrun_job_that_it_is_in(tmp_path):
    script = write_script(
        tmp_path,
        """
        import os

        import numpy as np
        from course_lib import launch
        from course_lib.collectives import ring_all_reduce

        def worker(comm):
            before = comm.time()
            ours, theirs = ring_all_reduce(comm, np.ones(5)), comm.all_reduce(np.ones(5))
            times.append((before, comm.time()))
            return comm.rank, float(ours[0]), float(theirs[0])

        for _ in range(2):
            times = []
            run = launch(worker, ranks=2)
        ((before, after),) = times
        _, *calls = [span for span in run.spans if span.rank == int(os.environ["RANK"])]
        in_time = 0 <= before <= calls[0].start and calls[-2].stop <= after <= run.seconds
        try:
            launch(worker, ranks=3)
        except ValueError as error:
            said = f"{run.values} {len(run.messages)} {in_time} {error}".partition(":")[0]
            # One write: both ranks share this pipe, and print would hand over the pieces one by one.
            os.write(1, (said + "\\n").encode())
        """,
    )
    command = [*TORCHRUN, "--nproc-per-node=2", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit(400))
    line = "[(0, 2.0, 2.0), (1, 2.0, 2.0)] 4 True ranks=3, but this torchrun job has 2"
    assert done.stdout.splitlines() == [line] * 2, done.stderr
