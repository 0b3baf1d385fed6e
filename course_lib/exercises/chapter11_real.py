"""Checkers of chapter 11's bug gallery: the loops that need PyTorch, each tried in real processes."""

import operator
from itertools import combinations

import numpy as np

from course_lib import launch
from course_lib.errors import RankError
from course_lib.exercises.asking import expect_function
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import checked, expect, not_attempted, workers
from course_lib.labels import label

STEPS = 3
EPOCHS = (12, 3), (13, 3), (101, 6)  # items and epochs
LIMIT = 10  # seconds of a launch


@exercise("11.2")
def check_train_step(train_step):
    """Exercise 11.2: train_step(net, optimizer, inputs, targets) → loss; DDP averages the gradients."""
    return checked(lambda: _train(train_step), label("ch11_passed_train"))


@exercise("11.3")
def check_orders(orders):
    """Exercise 11.3: orders(comm, items, epochs) → this rank's list of items for each epoch."""
    return checked(lambda: _orders(orders), label("ch11_passed_orders"))


@exercise("11.6")
def check_hooks(add_hooks):
    """Exercise 11.6: add_hooks(model); after backward every gradient is the mean over the ranks."""
    return checked(lambda: _hooks(add_hooks), label("ch11_passed_hooks"))


@exercise("11.7")
def check_mean_gradient(mean_gradient):
    """Exercise 11.7: mean_gradient(gradient, dtype) → the mean, whatever dtypes the ranks are given."""
    return checked(lambda: _dtypes(mean_gradient), label("ch11_passed_dtype"))


def _tried(case, function, worker, ranks):
    """The values of a launch; an untouched stub, an error and an endless wait end the check."""
    expect_function(case, function)
    try:
        return launch(worker, ranks, timeout=LIMIT, threads=1).values
    except RankError as error:
        if "NotImplementedError" in str(error):
            not_attempted()
        raise_told(case, error)


def raise_told(case, error):
    """End the check with what befell the ranks, in its first and its last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    key = {"timeout": "ch11_hangs", "killed": "ch11_killed", "left": "ch11_left"}.get(
        error.reason, "ch11_raised"
    )
    expect(False, case, label(key, rank=error.rank, first=lines[0][:160]))


# --- net.module called


def _train(train_step):
    for ranks in (2, 3):
        case = label("ch11_case_steps", workers=workers(ranks), steps=STEPS)
        values = _tried(case, train_step, _train_worker(train_step), ranks)
        _expect_trained(case, *map(list, zip(*values, strict=True)))


def _trained_model(torch, ranks):
    """A model and a maker of its optimiser: for 2 ranks the simplest, else deeper and with momentum."""
    if ranks == 2:
        return torch.nn.Linear(3, 1), lambda each: torch.optim.SGD(each, lr=0.25)
    layers = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    return torch.nn.Sequential(*layers), lambda each: torch.optim.SGD(each, lr=0.05, momentum=0.9)


def _train_worker(train_step):
    def worker(comm):
        from copy import deepcopy

        import torch
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
        from torch.nn.parallel import DistributedDataParallel

        torch.manual_seed(comm.rank)
        model, optimizer = _trained_model(torch, comm.size)
        net, buckets = DistributedDataParallel(model.double()), []

        def hook(group, bucket):
            buckets.append(bucket.index())
            return allreduce_hook(group, bucket)

        net.register_comm_hook(None, hook)
        start = _flat(net.parameters())
        alone = deepcopy(net.module)
        optimizers = [optimizer(each.parameters()) for each in (net, alone)]
        data = torch.Generator().manual_seed(0)
        for _ in range(STEPS):
            inputs = torch.randn(comm.size, 4, 3, generator=data, dtype=torch.float64)
            targets = inputs.sum(dim=2, keepdim=True)
            train_step(net, optimizers[0], inputs[comm.rank], targets[comm.rank])
            optimizers[1].zero_grad()
            (alone(inputs.flatten(0, 1)) - targets.flatten(0, 1)).square().mean().backward()
            optimizers[1].step()
        return start, _flat(net.parameters()), _flat(alone.parameters()), len(buckets)

    return worker


def _flat(parameters):
    return np.concatenate([each.detach().numpy().ravel().copy() for each in parameters])


def _expect_trained(case, starts, ends, wanted, buckets):
    moved = all(not np.allclose(start, end) for start, end in zip(starts, ends, strict=True))
    expect(moved, case, label("ch11_train_still"))
    apart = max(np.abs(end - ends[0]).max() for end in ends)
    right = np.allclose(ends, wanted, rtol=0, atol=1e-9)
    if not any(buckets):
        expect(apart < 1e-9, case, label("ch11_train_apart", apart=apart))
        expect(False, case, label("ch11_train_by_hand"))
    expect(apart < 1e-9, case, label("ch11_train_differ", apart=apart))
    expect(right, case, label("ch11_train_wrong", steps=STEPS))
    expect(buckets[0] == STEPS, case, label("ch11_train_often", count=buckets[0], steps=STEPS))


# --- a sampler without set_epoch


def _orders(orders):
    for ranks in (2, 3):
        cases = [
            label("ch11_case_epochs", workers=workers(ranks), items=items, epochs=epochs)
            for items, epochs in EPOCHS
        ]
        values = _tried(cases[0], orders, _order_worker(orders), ranks)
        for number, (case, (items, epochs)) in enumerate(zip(cases, EPOCHS, strict=True)):
            _expect_orders(case, [value[number] for value in values], items, epochs, ranks)


def _order_worker(orders):
    def worker(comm):
        return [_plain(orders(comm, items, epochs)) for items, epochs in EPOCHS]

    return worker


def _plain(value):
    """Lists of whole numbers, whatever they came in; what is none of that stays as it is."""
    try:
        return [[operator.index(item) for item in epoch] for epoch in value]
    except TypeError:
        return value


def _expect_orders(case, found, items, number, ranks):
    for rank, epochs in enumerate(found):
        listed = isinstance(epochs, list) and len(epochs) == number
        listed = listed and all(isinstance(items, list) for items in epochs)
        told = label("ch11_orders_kind", rank=rank, value=f"{epochs!r:.40}", epochs=number)
        expect(listed, case, told)
    share = -(-items // ranks)
    for epoch in range(number):
        dealt = [epochs[epoch] for epochs in found]
        for rank, mine in enumerate(dealt):
            expect(
                len(mine) == share, case, label("ch11_orders_share", rank=rank, got=len(mine), share=share)
            )
        missing = sorted(set(range(items)) - set(sum(dealt, [])))
        told = label(
            "ch11_orders_missing", epoch=epoch, count=len(missing), item=missing[0] if missing else ""
        )
        expect(not missing, case, told)
    for rank, epochs in enumerate(found):
        pairs = sorted(combinations(range(number), 2), key=lambda pair: (pair[1], -pair[0]))
        for early, late in pairs:
            told = label("ch11_orders_same", rank=rank, early=early, late=late, items=epochs[late][:4])
            expect(epochs[late] != epochs[early], case, told)
    fixed = all(len(set(map(frozenset, epochs))) == 1 for epochs in found)
    expect(not fixed, case, label("ch11_orders_fixed"))


# --- a hook that reduces a copy


def _hooks(add_hooks):
    for ranks in (2, 3):
        case = label("ch11_case_passes", workers=workers(ranks))
        values = _tried(case, add_hooks, _hook_worker(add_hooks), ranks)
        own, got = (np.array([value[place] for value in values]) for place in (0, 1))
        _expect_hooked(case, own, got, values[0][2], values[0][3])


def _hook_worker(add_hooks):
    def worker(comm):
        import torch

        torch.manual_seed(0)
        layers = [torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1)]
        if comm.size > 2:
            layers[1:1] = [torch.nn.Tanh(), torch.nn.Linear(2, 2, bias=False)]
        model = torch.nn.Sequential(*layers).double()
        data = torch.Generator().manual_seed(1 + comm.rank)
        inputs = torch.randn(4, 3, generator=data, dtype=torch.float64)

        def gradients():
            model.zero_grad()
            model(inputs).square().mean().backward()
            return _flat([each.grad for each in model.parameters()])

        own, calls = gradients(), _watch_all_reduce()
        add_hooks(model)
        twice = [gradients(), gradients()]
        return own, twice[1], sum(count for _, count in calls), 2 * own.size

    return worker


def _watch_all_reduce():
    """A list that grows by (dtype, how many numbers) with each dist.all_reduce of this rank."""
    import torch.distributed as dist

    original, calls = dist.all_reduce, []

    def all_reduce(tensor, *arguments, **options):
        calls.append((str(tensor.dtype).removeprefix("torch."), tensor.numel()))
        return original(tensor, *arguments, **options)

    dist.all_reduce = all_reduce
    return calls


def _expect_hooked(case, own, got, reduced, wanted_reduced):
    mean = own.mean(axis=0)
    right = np.isclose(got, mean, rtol=1e-9, atol=1e-12)
    if not right.all():
        told = {"got": f"{got[1][~right[1]][:1]}" if not right[1].all() else f"{got[0][~right[0]][:1]}"}
        expect(reduced > 0, case, label("ch11_hook_none"))
        kept = np.allclose(got, own)
        expect(not kept, case, label("ch11_hook_copy", count=reduced))
        share = np.allclose(got, own / len(own))
        expect(not share, case, label("ch11_hook_share"))
        expect(not np.allclose(got, len(own) * mean), case, label("ch11_hook_sum", number=len(own)))
        expect(not np.allclose(got, mean / len(own)), case, label("ch11_hook_twice"))
        some = right.all(axis=0)
        expect(not some.any(), case, label("ch11_hook_some", count=int((~some).sum()), all=some.size))
        expect(False, case, label("ch11_hook_other", **told))
    expect(reduced <= wanted_reduced, case, label("ch11_hook_often", got=reduced, wanted=wanted_reduced))


# --- one rank's dtype differs


def _dtypes(mean_gradient):
    for ranks, older, size in ((2, (1,), 4), (3, (0,), 9), (3, (), 4), (3, (0, 1, 2), 2)):
        names = ["float16" if rank in older else "bfloat16" for rank in range(ranks)]
        case = label("ch11_case_dtypes", workers=workers(ranks), listed=" | ".join(names))
        # the first case has whole numbers, for its report is in the chapter
        rng = np.random.default_rng(ranks)
        spread = np.ones((ranks, size)) if ranks == 2 else rng.uniform(0.5, 2, size=(ranks, size))
        gradients = np.arange(1.0, ranks + 1)[:, None] * spread
        values = _tried(case, mean_gradient, _dtype_worker(mean_gradient, names, gradients), ranks)
        _expect_dtypes(case, values, gradients.mean(axis=0))
        for rank in older:
            sent = {dtype for dtype, _ in values[rank][0]}
            expect("bfloat16" not in sent, case, label("ch11_dtype_lacking", rank=rank))


def _dtype_worker(mean_gradient, names, gradients):
    def worker(comm):
        import torch

        calls = _watch_all_reduce()
        gradient = torch.tensor(gradients[comm.rank], dtype=torch.float32)
        value = mean_gradient(gradient, getattr(torch, names[comm.rank]))
        if not isinstance(value, torch.Tensor):
            return calls, None, type(value).__name__
        if value.shape != gradient.shape:
            return calls, None, f"a tensor of shape {tuple(value.shape)}"
        return calls, value.double().tolist(), str(value.dtype).removeprefix("torch.")

    return worker


def _expect_dtypes(case, values, mean):
    for rank, (_, numbers, kind) in enumerate(values):
        expect(numbers is not None, case, label("ch11_dtype_kind", rank=rank, kind=kind))
    sent = [[dtype for dtype, count in calls if count == len(mean)] for calls, _, _ in values]
    expect(any(sent), case, label("ch11_dtype_none"))
    for rank, dtypes in enumerate(sent):
        if dtypes != sent[0]:
            got = " | ".join(f"{each[0]:g}" for _, each, _ in values)
            words = {"other": rank, "one": ", ".join(sent[0]) or "–", "two": ", ".join(dtypes) or "–"}
            expect(False, case, label("ch11_dtype_differ", got=got, wanted=f"{mean[0]:g}", **words))
    for rank, (_, numbers, _) in enumerate(values):
        right = np.allclose(numbers, mean, rtol=0.01)
        total = np.allclose(numbers, mean * len(values), rtol=0.01)
        expect(not total or right, case, label("ch11_dtype_sum", rank=rank))
        got, wanted = (", ".join(f"{each:g}" for each in listed) for listed in (numbers, mean))
        told = label("ch11_dtype_wrong", rank=rank, got=got, wanted=wanted)
        expect(right, case, told)
    kinds = {kind for _, _, kind in values}
    expect(len(kinds) == 1, case, label("ch11_dtype_results", listed=" | ".join(kind for *_, kind in values)))
