"""Checker of chapter 8: the learner's own DistributedDataParallel, in real processes.

The ranks watch every all-reduce that the attempt asks for; what they saw is judged here.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace

from course_lib.errors import RankError
from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import NotYet, checked, expect, not_attempted, workers
from course_lib.labels import label
from course_lib.processes import launch

COUNTS = (2, 1, 3, 4)  # workers; mistakes are plainest with two
STEPS, CLOSE, TIMEOUT = 20, 1e-7, 40
HALF = 0.5  # of the numbers have to leave within backward; a last bucket that is not full may leave after it
NESTED = 3  # with so many workers the model is no plain sequence of layers
UNTOUCHED, EMPTY, NOT_CALLABLE, TRAINED = "untouched", "empty", "not callable", "trained"


@dataclass(frozen=True)
class Observed:
    """What one rank saw. outcome: one of the names above; kind: what was returned instead of a function.

    start: largest gap to rank 0's parameters after the call. parameters, numbers: how many there are.
    calls: of dist.all_reduce in the second step, as (gradients that were there, True within backward,
    async_op, True if waited for by finish()'s end, numbers in it).
    gradient: this rank's after one step, `own` what it would be without the others, `mean` what it should be.
    gap: largest one of a parameter to PyTorch's DDP in the end, after STEPS.
    """

    outcome: str
    kind: str = ""
    start: float = 0.0
    parameters: int = 0
    numbers: int = 0
    calls: tuple = ()
    gradient: tuple = ()
    own: tuple = ()
    mean: tuple = ()
    gap: float = 0.0


@exercise("8.1")
def check_own_ddp(own_ddp):
    """Exercise 8.1: own_ddp(module) → finish, in the ranks of a launch.

    It gives all ranks rank 0's parameters, and sees to it that each gradient's all-reduce starts within
    backward; finish() waits until every parameter.grad is the mean over the ranks.
    """
    return checked(lambda: _own_ddp(own_ddp), label("ch8_ddp_passed", steps=STEPS))


def _own_ddp(own_ddp):
    for number in COUNTS:
        case = workers(number)
        expect_function(case, own_ddp)
        try:
            seen = launch(_Watch(own_ddp), number, timeout=TIMEOUT, threads=1).values
        except RankError as error:
            raise NotYet(case, str(error)) from None
        outcomes = [each.outcome for each in seen]
        expect(EMPTY not in outcomes, case, label("ch8_ddp_nothing"))
        if UNTOUCHED in outcomes:
            not_attempted()
        for rank in sorted(range(number), key=lambda rank: -seen[rank].start):
            _judge(case, rank, number, seen[rank])


def _judge(case, rank, number, seen):
    expect(seen.outcome != NOT_CALLABLE, case, label("ch8_ddp_kind", rank=rank, kind=seen.kind))
    expect(seen.start == 0, case, label("ch8_ddp_start", rank=rank, gap=seen.start))
    expect(seen.calls, case, label("ch8_ddp_silent"))
    within = [call for call in seen.calls if call[1]]
    expect(within, case, label("ch8_ddp_after", count=len(seen.calls)))
    early = [call for call in within if call[0] < seen.parameters]
    expect(early, case, label("ch8_ddp_last", parameters=seen.parameters))
    expect(all(call[2] for call in within), case, label("ch8_ddp_blocking"))
    share = sum(call[4] for call in within) / seen.numbers
    expect(share >= HALF, case, label("ch8_ddp_most_after", share=share))
    unwaited = sum(not call[3] for call in seen.calls)
    expect(not unwaited, case, label("ch8_ddp_unwaited", count=unwaited, calls=len(seen.calls)))
    if not _same(seen.gradient, seen.mean):
        expect(False, case, label(f"ch8_ddp_{_slip(seen, number)}", rank=rank, number=number))
    expect(seen.gap < CLOSE, case, label("ch8_ddp_gap", rank=rank, gap=seen.gap, steps=STEPS))


def _slip(seen, number):
    """The name of the mistake that explains the gradient."""
    slips = {
        "own": seen.own,
        "sum": [number * each for each in seen.mean],
        "divided_twice": [each / number for each in seen.mean],
        "own_share": [each / number for each in seen.own],
    }
    return next((name for name, slip in slips.items() if _same(seen.gradient, slip)), "unknown")


def _same(one, other):
    return all(abs(a - b) <= 1e-6 * (1 + abs(b)) for a, b in zip(one, other, strict=True))


@dataclass(frozen=True)
class _Watch:
    """A worker that tries `own_ddp`, and watches."""

    own_ddp: Callable

    def __call__(self, comm):
        import torch

        from course_lib.training.own_ddp import compare, unequal_layers

        torch.manual_seed(comm.rank)
        module = (_nested() if comm.size == NESTED else unequal_layers()).double()
        with _watched_all_reduce() as watch:
            try:
                finish = self.own_ddp(module)
            except NotImplementedError:
                return Observed(UNTOUCHED)
            gap = _gap_to_rank_0(module)
            if finish is None or finish is Ellipsis:
                hooked = any(parameter._post_accumulate_grad_hooks for parameter in module.parameters())
                return Observed(EMPTY if hooked or (comm.rank and not gap) else UNTOUCHED)
            if not callable(finish):
                return Observed(NOT_CALLABLE, type(finish).__name__)
            seen = _two_steps(module, finish, comm, watch)
        trained = compare(lambda module: _Net(module, self.own_ddp(module)), comm.rank, STEPS)
        return Observed(TRAINED, start=gap, **seen, gap=trained)


def _nested():
    """Layers within layers, and a parameter that is a single number."""
    import torch
    from torch import nn

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            inner = nn.Sequential(nn.Linear(20, 20, bias=False), nn.Tanh(), nn.Linear(20, 3))
            self.layers, self.scale = nn.Sequential(nn.Linear(13, 20), inner), nn.Parameter(torch.tensor(0.7))

        def forward(self, inputs):
            return self.scale * self.layers(inputs)

    return Nested()


class _Net:
    """What own_ddp.train_with wants: called like the module, wait() after backward."""

    def __init__(self, module, finish):
        self._module, self.wait = module, finish

    def __call__(self, *inputs):
        return self._module(*inputs)


def _gap_to_rank_0(module):
    import torch

    mine = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
    firsts = mine.clone()
    torch.distributed.broadcast(firsts, 0)
    return (mine - firsts).abs().max().item()


def _two_steps(module, finish, comm, watch):
    """Two steps on data of this rank's own: what the second one did, and what it left."""
    import torch
    import torch.distributed as dist

    parameters = watch.parameters = list(module.parameters())
    inputs = torch.randn(8, 13, dtype=torch.float64, generator=torch.Generator().manual_seed(50 + comm.rank))

    def loss():
        return (module(inputs) - inputs[:, :3].sin()).square().mean()

    own = torch.autograd.grad(loss(), parameters)
    for _ in range(2):
        watch.calls.clear()
        for parameter in parameters:
            parameter.grad = None
        result = loss()
        watch.backward = True
        result.backward()
        watch.backward = False
        finish()
        calls = tuple(map(tuple, watch.calls))
    mean = [gradient / comm.size for gradient in own]
    for gradient in mean:
        dist.all_reduce(gradient)
    left = [torch.zeros_like(each) if each.grad is None else each.grad for each in parameters]
    probes = {"gradient": left, "own": own, "mean": mean}
    numbers = {name: tuple(each.flatten()[0].item() for each in tensors) for name, tensors in probes.items()}
    sizes = {"parameters": len(parameters), "numbers": sum(each.numel() for each in parameters)}
    return {**sizes, "calls": calls, **numbers}


@contextmanager
def _watched_all_reduce():
    """While it lasts, dist.all_reduce notes its calls in what is yielded."""
    import torch.distributed as dist

    original, watch = dist.all_reduce, SimpleNamespace(parameters=[], calls=[], backward=False)

    def watched(tensor, *arguments, async_op=False, **options):
        there = sum(parameter.grad is not None for parameter in watch.parameters)
        work = original(tensor, *arguments, async_op=async_op, **options)
        watch.calls.append([there, watch.backward, async_op, not async_op, tensor.numel()])
        return _Handle(work, watch.calls[-1]) if async_op else work

    dist.all_reduce = watched
    try:
        yield watch
    finally:
        dist.all_reduce = original


class _Handle:
    """A work handle that notes whether it was waited for."""

    def __init__(self, work, call):
        self._work, self._call = work, call

    def wait(self, *arguments, **options):
        self._call[3] = True
        return self._work.wait(*arguments, **options)

    def __getattr__(self, name):
        return getattr(self._work, name)
