"""Chapter 8: its checkers, its pictures' numbers, and what it says of DDP."""

import io
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from attempts import left_empty, rejected, untouched
from waiting import limit

from course_lib import RankError, launch
from course_lib.exercises.chapter8_accumulation import check_accumulate
from course_lib.exercises.chapter8_ddp import check_own_ddp
from course_lib.exercises.chapter8_torchrun import MACHINES, check_commands
from course_lib.overlap import Overlap
from course_lib.pictures.holdings import WAYS, filled, holding, share_of_model, who_holds_what
from course_lib.pictures.precision import small_updates
from course_lib.pictures.profiles import step_profiles, sub_rows
from course_lib.processes import written
from course_lib.training import DigitsConfig, digits_worker
from course_lib.training.loading import (
    PHASES,
    REDUCE,
    Phase,
    Profile,
    loading_worker,
    profile_of_events,
)


def is_whole(picture):
    """No ink on the outermost pixels, and words for who cannot see it."""
    from matplotlib.image import imread

    image = imread(io.BytesIO(picture.png))[..., :3]
    edges = [image[0], image[-1], image[:, 0], image[:, -1]]
    return len(picture.alt) > 40 and all((edge > 0.99).all() for edge in edges)


# --- exercise 8.1: own DDP


def own_ddp(**changes):
    """The chapter's solution, with parts left out or done wrong."""
    right = {"broadcast": "right", "reduce": "right", "divide": 1, "wait": True, "result": "finish"}
    change = right | changes

    def attempt(module):
        import torch
        import torch.distributed as dist

        for parameter in module.parameters():
            if change["broadcast"] == "right":
                dist.broadcast(parameter.detach(), 0)
            elif change["broadcast"] == "copy":
                dist.broadcast(parameter.detach().clone(), 0)
        in_flight, size = [], dist.get_world_size()

        def hook(parameter):
            gradient = parameter.grad
            if change["reduce"] == "copy":
                gradient = gradient * 1
            if change["reduce"] == "own share":
                parameter.grad /= size
                gradient = parameter.grad * 1
            if change["reduce"] == "half":
                parameter.grad *= 0.7
            for _ in range(change["divide"]):
                gradient /= size
            handle = dist.all_reduce(gradient, async_op=change["reduce"] != "blocking")
            if handle:
                in_flight.append(handle)

        def finish():
            if change["reduce"] == "after":
                for parameter in module.parameters():
                    hook(parameter)
            while in_flight:
                handle = in_flight.pop()
                if change["wait"]:
                    handle.wait()

        if change["reduce"] == "one bucket":
            parameters = list(module.parameters())

            def count(_):
                if all(each.grad is not None for each in parameters):
                    flat = torch.cat([each.grad.flatten() for each in parameters]) / size
                    in_flight.append(dist.all_reduce(flat, async_op=True))

            for parameter in parameters:
                parameter.register_post_accumulate_grad_hook(count)
        elif change["reduce"] not in ("after", "never"):
            for parameter in module.parameters():
                parameter.register_post_accumulate_grad_hook(hook)
        return {"finish": finish, "None": None, "handles": in_flight, "called": finish}[change["result"]]

    return attempt


def in_buckets(module):
    """PyTorch's way, as the library has it."""
    from course_lib.training.own_ddp import OwnDDP

    net = OwnDDP(module, 1000)

    def begin(*_):
        net.missing = [len(bucket) for bucket in net.buckets]

    module.register_forward_pre_hook(begin)
    return net.wait


def by_average(module):
    import torch.distributed as dist

    [dist.broadcast(parameter.detach(), 0) for parameter in module.parameters()]
    handles = []

    def hook(parameter):
        handles.append(dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG, async_op=True))

    [parameter.register_post_accumulate_grad_hook(hook) for parameter in module.parameters()]
    return lambda: [handles.pop(0).wait() for _ in range(len(handles))]


@pytest.mark.parametrize("attempt", [own_ddp(), in_buckets, by_average])
def test_own_ddp_passes(attempt):
    report = check_own_ddp(attempt)
    assert report.passed, report
    assert "20 steps" in repr(report)


@pytest.mark.parametrize("check", [check_own_ddp, check_accumulate])
def test_what_is_no_function_never_reaches_the_ranks(check):
    assert check(None).passed is None
    rejected(check([1]), "a function is asked for; this is list")


@pytest.mark.parametrize("stub", [untouched, left_empty, lambda module: ...])
def test_an_untouched_own_ddp_is_not_a_failure(stub):
    report = check_own_ddp(stub)
    assert report.passed is None and "Not attempted yet" in repr(report)


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"broadcast": "none"}, "away from rank 0's parameters"),
        ({"broadcast": "copy"}, "not a copy"),
        ({"divide": 0}, "divide by dist.get_world_size()"),
        ({"divide": 2}, "divide only once"),
        ({"reduce": "copy"}, "still has its own gradients"),
        ({"reduce": "own share", "divide": 0}, "without the others'"),
        ({"reduce": "after"}, "start after backward"),
        ({"reduce": "never"}, "was not called in a step"),
        ({"reduce": "blocking"}, "async_op=True"),
        ({"reduce": "one bucket"}, "use smaller buckets"),
        ({"reduce": "half"}, "Is the list of handles emptied"),
        ({"wait": False}, "10 of 10 all-reduces not waited for"),
        ({"result": "None"}, "is the return of finish missing"),
        ({"result": "handles"}, "must return finish, a function; got list"),
    ],
)
def test_a_wrong_own_ddp_is_explained(changes, hint):
    rejected(check_own_ddp(own_ddp(**changes)), hint)


def hooked(chosen=list, size=None, waited=None, early=None):
    """own_ddp for `chosen` parameters. waited: which handles; early: how many start within backward."""

    def attempt(module):
        import torch.distributed as dist

        handles, late = [], []

        def start(parameter):
            if early and len(handles) >= early:
                late.append(parameter)
                return
            parameter.grad /= size or dist.get_world_size()
            handles.append(dist.all_reduce(parameter.grad, async_op=True))

        for parameter in chosen(module.parameters()):
            dist.broadcast(parameter.detach(), 0)
            parameter.register_post_accumulate_grad_hook(start)

        def finish():
            for parameter in late:
                parameter.grad /= size or dist.get_world_size()
                handles.append(dist.all_reduce(parameter.grad, async_op=True))
            for handle in handles[waited:] if waited else handles:
                handle.wait()
            handles.clear(), late.clear()

        return finish

    return attempt


def of_its_layers(module):
    """Right for a plain sequence of layers only."""
    import torch.distributed as dist

    handles = []

    def start(parameter):
        parameter.grad /= dist.get_world_size()
        handles.append(dist.all_reduce(parameter.grad, async_op=True))

    for layer in module:
        for parameter in layer.parameters(recurse=False):
            dist.broadcast(parameter.detach(), 0)
            parameter.register_post_accumulate_grad_hook(start)
    return lambda: [handles.pop().wait() for _ in range(len(handles))]


def by_pytorch(module):
    from torch.nn.parallel import DistributedDataParallel

    DistributedDataParallel(module)
    return lambda: None


SHORTCUTS_8_1 = {
    "PyTorch's own, not called": (by_pytorch, "was not called in a step"),
    "weights only": (hooked(lambda all: [each for each in all if each.ndim > 1]), "away from rank 0's"),
    "first half": (hooked(lambda all: list(all)[:5]), "away from rank 0's"),
    "always two ranks": (hooked(size=2), "1 worker: rank 0"),
    "waits for the last handle": (hooked(waited=-1), "not waited for"),
    "one early, the rest in finish": (hooked(early=1), "leave within backward"),
    "a sequence of layers": (of_its_layers, "3 workers"),
}


@pytest.mark.parametrize(("attempt", "hint"), SHORTCUTS_8_1.values(), ids=SHORTCUTS_8_1)
def test_a_shortcut_to_an_own_ddp_is_refused(attempt, hint):
    report = check_own_ddp(attempt)
    assert report.passed is False and hint in repr(report), report


@pytest.mark.parametrize("attempt", [hooked(), hooked(lambda all: reversed(list(all)))])
def test_an_own_ddp_of_another_form_passes(attempt):
    report = check_own_ddp(attempt)
    assert report.passed, report


def test_an_own_ddp_that_raises_shows_the_learners_line():
    def attempt(module):
        raise KeyError("gradient")

    rejected(check_own_ddp(attempt), "KeyError: 'gradient'")


# --- exercise 8.2: one all-reduce for many micro-batches


def but_the_last(number, count):
    return number < count


def accumulate(within="both", divide=True, quiet=but_the_last, inner=False, zero=False):
    def attempt(net, batches, loss_of):
        for number, batch in enumerate(batches, 1):
            scope = net.no_sync if quiet(number, len(batches)) else nullcontext
            with scope() if within == "both" else nullcontext():
                loss = loss_of(net.module if inner else net, batch)
            with scope():
                (loss / (len(batches) if divide else 1)).backward()
        if zero:
            net.zero_grad()

    return attempt


def one_scope(net, batches, loss_of):
    with net.no_sync():
        for batch in batches[:-1]:
            (loss_of(net, batch) / len(batches)).backward()
    (loss_of(net, batches[-1]) / len(batches)).backward()


def one_backward(net, batches, loss_of):
    (sum(loss_of(net, batch) for batch in batches) / len(batches)).backward()


def forward_first(net, batches, loss_of):
    with net.no_sync():
        losses = [loss_of(net, batch) for batch in batches[:-1]]
        for loss in losses:
            (loss / len(batches)).backward()
    (loss_of(net, batches[-1]) / len(batches)).backward()


@pytest.mark.parametrize("attempt", [accumulate(), one_scope])
def test_accumulation_passes(attempt):
    report = check_accumulate(attempt)
    assert report.passed, report


@pytest.mark.parametrize("stub", [untouched, left_empty])
def test_an_untouched_accumulation_is_not_a_failure(stub):
    report = check_accumulate(stub)
    assert report.passed is None and "Not attempted yet" in repr(report)


@pytest.mark.parametrize(
    ("attempt", "hint"),
    [
        (accumulate(quiet=lambda *_: False), "4 all-reduces instead of one. Run all"),
        (accumulate(within="backward"), "it must surround the forward pass"),
        (accumulate(quiet=lambda *_: True), "no all-reduce at all"),
        (accumulate(inner=True), "net, not net.module"),
        (accumulate(divide=False), "the sum over micro-batches"),
        (accumulate(zero=True), "leave zero_grad to the caller"),
        (one_backward, "up to 4 micro-batches are in memory at once"),
        (forward_first, "Run the backward pass of each before the next forward pass"),
        (lambda net, batches, loss_of: loss_of(net, batches[0]).backward(), "1 forward passes for 4"),
    ],
)
def test_a_wrong_accumulation_is_explained(attempt, hint):
    rejected(check_accumulate(attempt), hint)


def by_hand(net, batches, loss_of):
    """No all-reduce of DDP's, one of its own: as right."""
    import torch.distributed as dist

    with net.no_sync():
        for batch in batches:
            loss_of(net, batch).backward()
    for parameter in net.parameters():
        parameter.grad /= len(batches) * dist.get_world_size()
        dist.all_reduce(parameter.grad)


def in_place(net, batches, loss_of):
    """The gradient scaled before the last pass, which scales its own loss."""
    count = len(batches)
    for number in range(count):
        last = number == count - 1
        scope = nullcontext() if last else net.no_sync()
        with scope:
            loss_of(net, batches[number]).div(count).backward()


def at_most(most):
    def attempt(net, batches, loss_of):
        one_scope(net, batches[:most], loss_of)

    return attempt


def of_four(net, batches, loss_of):
    with net.no_sync():
        for batch in batches[:-1]:
            (loss_of(net, batch) / 4).backward()
    (loss_of(net, batches[-1]) / 4).backward()


def last_only(net, batches, loss_of):
    loss_of(net, batches[-1]).backward()


def by_hand_for_each(net, batches, loss_of):
    import torch.distributed as dist

    for batch in batches:
        with net.no_sync():
            (loss_of(net, batch) / len(batches)).backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)


SHORTCUTS_8_2 = {
    "always four": (of_four, "micro-batches: 1"),
    "at most four": (at_most(4), "4 forward passes for 23"),
    "the last one": (last_only, "1 forward passes for 4"),
    "one for each, by hand": (by_hand_for_each, "4 all-reduces instead of one"),
    "one large batch": (one_backward, "in memory at once"),
}


@pytest.mark.parametrize(("attempt", "hint"), SHORTCUTS_8_2.values(), ids=SHORTCUTS_8_2)
def test_a_shortcut_to_accumulation_is_refused(attempt, hint):
    rejected(check_accumulate(attempt), hint)


@pytest.mark.parametrize("attempt", [by_hand, in_place])
def test_accumulation_of_another_form_passes(attempt):
    report = check_accumulate(attempt)
    assert report.passed, report


# --- exercise 8.3: what to type


def typed(nodes=3, each=4, rank="{number}", address="node-a", more="", script="train.py", start="torchrun"):
    text = f"{start} --nnodes {nodes} --nproc-per-node {each} --node-rank {rank}"
    text += f" --master-addr {address} {more} {script}"
    return lambda number: text.format(number=number, own=MACHINES[number])


def by_rendezvous(end="node-a:29500", more="--rdzv-id job7 --rdzv-backend=c10d"):
    text = f"torchrun --nnodes=3 --nproc_per_node=4 {more} --rdzv-endpoint={end} train.py --epochs 3"
    return lambda number: text.format(number=number, own=MACHINES[number])


@pytest.mark.parametrize(
    "command",
    [
        typed(),
        typed(each="gpu"),
        typed(each="auto"),
        typed(nodes="3:3"),
        typed(script="./train.py"),
        typed(script="/home/me/train.py --epochs 3"),
        typed(more="-m", script="train"),
        by_rendezvous(more="--rdzv-id $SLURM_JOB_ID --rdzv-backend c10d"),
        typed(more="--master-port=29501"),
        typed(start="python -m torch.distributed.run"),
        typed(start="OMP_NUM_THREADS=1 NCCL_DEBUG=INFO torchrun"),
        lambda number: typed()(number).replace(" --", " \\\n    --"),
        by_rendezvous(),
        by_rendezvous("node-c:1234"),
        by_rendezvous("node-b"),
        by_rendezvous(more="--rdzv-backend c10d"),
        by_rendezvous(more="--node-rank {number}"),
        by_rendezvous(more="--node-rank {number} --rdzv-backend static --rdzv-id 7"),
        lambda number: (
            f"torchrun --nnodes 3 --nproc-per-node 4 --node-rank {2 - number} "
            "--rdzv-endpoint node-c:29500 train.py"
        ),
    ],
)
def test_commands_pass(command):
    report = check_commands(command)
    assert report.passed, report
    assert "12 ranks" in repr(report)


def endless():
    while True:
        pass


SHORTCUTS_8_3 = {
    "one line for all": (typed(rank="0"), "each needs a number"),
    "the first machine's only": (
        lambda number: None if number else typed()(0),
        "node-b: the command must be",
    ),
    "the variable of a shell": (by_rendezvous(more="--rdzv-id $RANDOM --rdzv-backend c10d"), "own shell"),
    "another variable": (by_rendezvous(more="--rdzv-id $$ --rdzv-backend c10d"), "own shell"),
    "a command of the shell": (by_rendezvous(more="--rdzv-id $(date) --rdzv-backend c10d"), "own shell"),
    "a port of each": (typed(more="--master-port $RANDOM"), "own shell"),
    "another script": (typed(script="otrain.py"), "stands otrain.py; the script is train.py"),
    "the script as an argument": (typed(script="run.py train.py"), "stands run.py"),
    "a file as a module": (typed(more="-m"), "stands train.py"),
    "elastic": (typed(nodes="2:3"), "number of machines, 3; got 2:3"),
    "one rank a machine": (typed(each=1), "one for each GPU"),
}


@pytest.mark.parametrize(("command", "hint"), SHORTCUTS_8_3.values(), ids=SHORTCUTS_8_3)
def test_a_shortcut_to_commands_is_refused(command, hint):
    rejected(check_commands(command), hint)


@pytest.mark.parametrize("stub", [None, ..., untouched, left_empty])
def test_untouched_commands_are_not_a_failure(stub):
    report = check_commands(stub)
    assert report.passed is None and "Not attempted yet" in repr(report)


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (typed(rank="0"), "node-a, node-b, node-c: the machines have --node-rank 0, 0, 0: each needs"),
        (typed(rank="1{number}"), "numbered 0, 1, 2"),
        (typed(each=12), "would start all ranks on this machine"),
        (typed(each=1), "one for each GPU, 4; got 1"),
        (typed(nodes=12), "number of machines, 3; got 12"),
        (typed(nodes=1), "number of machines, 3; got 1"),
        (typed(address="localhost"), "that machine itself"),
        (typed(address="{own}"), "node-b: all must meet at the machine with --node-rank 0, node-a"),
        (typed(address="node-c"), "here --master-addr is node-c"),
        (typed(more="--master-port 2950{number}"), "different ports"),
        (typed(more="--standalone"), "--standalone is for one machine"),
        (typed(script=""), "there must be the script, train.py"),
        (typed(start="python"), "it begins with 'python'"),
        (typed(start="mpirun"), "must begin with torchrun"),
        (
            lambda number: f"torchrun --nnodes 3 --nproc-per-node 4 --node-rank {number} train.py",
            "--master-addr is missing",
        ),
        (by_rendezvous("{own}:29500"), "one for all"),
        (by_rendezvous("localhost:29500"), "that machine itself"),
        (by_rendezvous(more="--rdzv-id 7"), "0, 0, 0: each needs a number of its own"),
        (by_rendezvous(more="--rdzv-backend c10d --rdzv-id {number}"), "--rdzv-id 0, 1, 2: the same for all"),
        (by_rendezvous(more="--rdzv-backend etcd"), "needs a server that is not there"),
        (by_rendezvous("node-b:29500", "--node-rank {number}"), "here --rdzv-endpoint is node-b"),
        (by_rendezvous("node-a", "--node-rank {number}"), "has no port"),
        (by_rendezvous("my-machine:29500"), "must be one of the machines and a port; got my-machine"),
        (typed(more="--rdzv-backend c10d"), "--rdzv-endpoint is missing"),
        (
            lambda number: typed(more="--rdzv-backend c10d" if number else "")(number),
            "node-a, node-b, node-c: the machines have --rdzv-backend static, c10d, c10d",
        ),
        (lambda number: 7, "must be a string; got int"),
        (lambda number: "torchrun 'train.py", "No closing quotation"),
        (lambda number: endless(), "the search does not end"),
        (lambda number: sys.exit(number), "node-a: it raised SystemExit"),
        (["torchrun"] * 3, "a function is asked for; this is list"),
    ],
)
def test_wrong_commands_are_explained(command, hint):
    rejected(check_commands(command), hint)


# --- profiles


def event(name, start, stop):
    return SimpleNamespace(name=name, time_range=SimpleNamespace(start=start, end=stop))


def test_a_profile_is_read_by_names():
    events = [
        event("load", 1_000, 1_500),  # of a step before those shown
        event("gloo:all_reduce", 2_000, 3_000),
        event("load", 10_000, 40_000),
        event("aten::mm", 40_000, 41_000),
        event("backward", 50_000, 90_000),
        event("forward", 40_000, 50_000),
        event("gloo:all_reduce", 60_000, 95_000),
        event("update", 95_000, 110_000),
    ]
    profile = profile_of_events(events, readers=0, steps=1)
    assert [phase.kind for phase in profile.phases] == ["load", "forward", "backward", REDUCE, "update"]
    assert profile.seconds == pytest.approx(0.1) and profile.share("load") == pytest.approx(0.3)
    assert profile.share(REDUCE) == pytest.approx(0.35)
    assert profile.milliseconds("load") == pytest.approx(30)
    assert profile.beside_reduce("backward") == pytest.approx(0.75)
    assert profile.beside_reduce("forward") == 0


def test_what_overlap_saves():
    """5 ms of computing and 4 of all-reduces: none of it hidden, all that can be, and worse than none."""
    for together, saved in ((9, 0), (5, 4), (12, -3)):
        overlap = Overlap(5, 4, together)
        assert (overlap.saved, overlap.added) == (saved, together - 5)


def test_all_reduces_that_overlap_have_rows_of_their_own():
    spans = [(0, 4), (1, 3), (2, 6), (3, 5), (6, 7)]
    phases = tuple(Phase(REDUCE, start, stop) for start, stop in spans)
    assert sub_rows(phases) == [0, 1, 2, 1, 0]
    profile = Profile(1, 1, (Phase("backward", 0, 10), *phases))
    assert profile.beside_reduce("backward") == pytest.approx(0.7)


def profile_of(readers, load):
    kinds = {"load": (0, load), "forward": (load, load + 1), "backward": (load + 1, load + 4)}
    kinds |= {REDUCE: (load + 2, load + 4), "update": (load + 4, load + 5)}
    phases = tuple(Phase(kind, 1e-3 * start, 1e-3 * stop) for kind, (start, stop) in kinds.items())
    return Profile(readers, 1, phases)


def test_profiles_say_what_is_waited_for():
    picture = step_profiles([profile_of(0, 15), profile_of(4, 0)])
    assert is_whole(picture)
    assert "Waiting for data: 75% of the time; with 4 readers 0%" in picture.alt
    assert "The training process reads: 1 steps in 20 ms, of which 75% waiting for data" in picture.alt
    assert "an all-reduce runs during 67% of backward" in picture.alt
    assert "  backward: areas 2.16" in picture.numbers


def test_readers_take_over_what_the_training_process_waited_for():
    starved, fed = (launch(loading_worker(readers), 2, timeout=limit(300)).values[0] for readers in (0, 4))
    assert starved.share("load") * starved.seconds > 3 * 16 * 1e-3
    assert fed.share("load") * fed.seconds < 0.8 * starved.share("load") * starved.seconds
    assert min(fed.overlap.computing, fed.overlap.reducing, fed.overlap.together) > 0
    kinds = [phase.kind for phase in fed.phases if phase.kind in PHASES]
    assert kinds == [*PHASES] * 3 and any(phase.kind == REDUCE for phase in fed.phases)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"readers": -1}, "readers must be a whole number"),
        ({"readers": 0, "steps": 0}, "steps must be a whole number"),
        ({"readers": 0, "sample_seconds": -1}, "sample_seconds must be"),
    ],
)
def test_bad_arguments_of_the_loader(options, message):
    with pytest.raises(ValueError, match=message):
        loading_worker(**options)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("ranks", "backend"), [(1, "nccl"), (2, "gloo")])
def test_a_step_of_this_chapter_on_a_gpu(ranks, backend):
    """no_sync, autocast, DDP and an optimiser; rank r has x = r + 1 and then 10 (r + 1)."""

    def worker(comm):
        from torch.nn.parallel import DistributedDataParallel

        layer = torch.nn.Linear(1, 1, bias=False).to(comm.device)
        torch.nn.init.zeros_(layer.weight)
        net, optimizer = DistributedDataParallel(layer), torch.optim.SGD(layer.parameters(), lr=1.0)
        for number, scope in enumerate((net.no_sync, nullcontext)):
            inputs = torch.full((1, 1), 10.0**number * (comm.rank + 1), device=comm.device)
            with scope(), torch.autocast("cuda", torch.bfloat16):
                predicted = net(inputs)
                predicted.float().sum().backward()
        optimizer.step()
        return layer.weight.item(), layer.weight.grad.is_cuda, str(predicted.dtype)

    mean = 11 * (ranks + 1) / 2
    assert launch(worker, ranks, backend=backend).values == [(-mean, True, "torch.bfloat16")] * ranks


# --- pictures


def test_who_holds_what():
    shares = {way: share_of_model(way) for way in WAYS}
    assert shares == {"data": 1, "zero": 0.25, "tensor": 0.25, "pipeline": 0.25}
    # Of a model that needs 16 bytes a parameter, 12 are optimiser state; here all three count alike.
    assert [share_of_model("zero", stage) for stage in (1, 2, 3)] == pytest.approx([0.75, 0.5, 0.25])
    for layer in range(4):  # together the workers hold all, and all samples pass each layer
        for way in WAYS[1:]:
            assert sum(holding(way, worker, layer).model for worker in range(4)) == 1
        assert sum(holding("data", worker, layer).batch for worker in range(4)) == 1
    assert filled("zero", 2, 0, "gradients") == (0, 0.5, 1, 0.25)
    assert filled("tensor", 2, 0, "gradients") == (0.5, 0, 0.25, 1)
    assert filled("data", 2, 0, "gradients") == filled("pipeline", 2, 2, "gradients") == (0, 0, 1, 1)
    assert filled("pipeline", 2, 1, "gradients") == (0, 0, 1, 0)
    assert is_whole(who_holds_what())
    with pytest.raises(ValueError, match="way must be one of data"):
        holding("model", 0, 0)


def test_small_updates():
    picture = small_updates([0, 100], {"half": [1.0, 1.0], "whole": [1.0, 0.9]}, 1e-3)
    assert is_whole(picture) and picture.alt.startswith("half: updates of 0.001 are rounded away")
    assert "half 1; whole 0.9" in picture.alt and "line from 1 to 0.9 after 100" in picture.alt
    assert small_updates([0, 9], {"whole": [1, 0.991]}, 1e-3).alt.startswith("Updates of 0.001 arrive")


# --- what the chapter says of ranks


@pytest.mark.skipif(not written.COUNTERS.exists(), reason="the system does not count what is written")
@pytest.mark.parametrize("ranks", [2, 4])
def test_no_rank_collects(ranks):
    """What DDP's own backward writes, beside 2 (K - 1) / K of a gradient of a million bytes."""

    def worker(comm):
        import torch
        from torch.nn.parallel import DistributedDataParallel

        net = DistributedDataParallel(torch.nn.Linear(500, 500, bias=False))
        loss = net(torch.ones(1, 500)).sum()
        before = written.bytes_written()
        loss.backward()
        return written.bytes_written() - before

    wanted = [2e6 * (ranks - 1) / ranks] * ranks
    assert launch(worker, ranks, timeout=limit(300)).values == pytest.approx(wanted, rel=0.01)


def test_where_nothing_is_counted_there_is_no_number(monkeypatch, tmp_path):
    monkeypatch.setattr(written, "COUNTERS", tmp_path / "io")
    assert np.isnan(written.bytes_written())
    (tmp_path / "io").write_text("rchar: 5\n")
    assert np.isnan(written.bytes_written())
    (tmp_path / "io").write_text("rchar: 5\nwchar: 7\n")
    assert written.bytes_written() == 7


def test_adam_follows_one_process():
    adam = {"optimizer": "adam", "lr": 0.01, "dtype": "float64", "steps": 5, "epochs": 1}
    curves = [launch(digits_worker(DigitsConfig(batch=32 // k, **adam)), k).values[0].losses for k in (1, 4)]
    assert np.ptp(curves, axis=0).max() < 1e-12


def test_the_stacks_tell_where_each_rank_hangs():
    def only_rank_0_logs(comm):
        import torch
        import torch.distributed as dist

        if comm.rank == 0:
            dist.all_reduce(torch.ones(1))
        dist.barrier()

    with pytest.raises(RankError) as caught:
        launch(only_rank_0_logs, 2, timeout=limit(7))
    lines = [line for line in str(caught.value).splitlines() if "only_rank_0" in line]
    assert len(lines) == 2 and lines[0] != lines[1]
