"""Chapter 3: replicas stay equal, what breaks them, the averaged gradient's noise; checkers and pictures."""

import hashlib
import io
import math
import zlib

import numpy as np
import pytest
from attempts import accepts, refuses, rejected, rejects, waits_for
from matplotlib.image import imread

from course_lib import launch, simulate
from course_lib.collectives import parameter_server_all_reduce, ring_all_reduce
from course_lib.exercises.chapter3 import (
    check_agrees,
    check_local_sgd,
    check_same_start,
    check_sync_step,
)
from course_lib.pictures.replicas import average_later, averaged_noise, gaps, lost_momentum
from course_lib.regression import gradient, make_regression, shards

X, y = make_regression()
ANSWERS = np.array([0.0, 1.0, 2.0, 5.0])


def distances(paths, one=0, other=1):
    return np.linalg.norm(np.subtract(paths[one], paths[other]), axis=-1)


# --- replicas


def replica(comm, steps=100, start=False, early=None, decay=0.0, dtype=np.float64):
    """w after each step, the start included; batches of 8 from the rank's own shard.

    start: whether each rank has its own; early: the rank that updates before the averaging.
    """
    mine = np.arange(len(y))[shards(len(y), comm.size)[comm.rank]]
    rng = np.random.default_rng([0, comm.rank])
    w = np.random.default_rng(comm.rank).normal(size=4) if start else np.zeros(4)
    path = [w := w.astype(dtype)]
    for _ in range(steps):
        pick = rng.choice(mine, size=8, replace=False)
        own = gradient(w, X[pick].astype(dtype), y[pick].astype(dtype))
        mean = comm.all_reduce(own, op="mean")
        w = w - dtype(0.1) * ((own if comm.rank == early else mean) + dtype(decay) * w)
        path.append(w)
    return path


def loner(comm):
    """Where theta ends if rank 3 skips the mean."""
    theta = 0.0
    for _ in range(60):
        own = theta - ANSWERS[comm.rank]
        mean = comm.all_reduce(own, op="mean")
        theta = theta - 0.5 * (own if comm.rank == 3 else mean)
    return float(theta)


def shared_batch(comm):
    """w after each step of 32 samples, dealt to the ranks."""
    rng, w, path = np.random.default_rng(0), np.zeros(4), []
    for _ in range(100):
        pick = np.split(rng.choice(len(y), size=32, replace=False), comm.size)[comm.rank]
        w = w - 0.1 * comm.all_reduce(gradient(w, X[pick], y[pick]), op="mean")
        path.append(w)
    return path


def with_momentum(comm):
    """w after each step; rank 1 loses its momentum before step 5."""
    mine = shards(len(y), comm.size)[comm.rank]
    w, v, path = np.zeros(4), np.zeros(4), []
    for step in range(150):
        v = 0.9 * v * (step != 5 or comm.rank != 1)
        v = v + comm.all_reduce(gradient(w, X[mine], y[mine]), op="mean")
        w = w - 0.02 * v
        path.append(w)
    return path


def compass(comm, one_seed=False):
    """The averaged gradients of 4,000 batches."""
    per_sample = -X * y[:, None]
    picks = np.random.default_rng([1, 0 if one_seed else comm.rank]).integers(len(y), size=(4000, 8))
    return comm.all_reduce(per_sample[picks].mean(axis=1), op="mean")


def everything(comm):
    return {
        **{kind: replica(comm, dtype=getattr(np, kind)) for kind in ("float32", "float64")},
        "seeds": replica(comm, 30, start=True),
        "decay": replica(comm, 30, start=True, decay=0.2),
        "early": replica(comm, 30, early=1),
        **{each.__name__: each(comm) for each in (loner, shared_batch, with_momentum, compass)},
    }


@pytest.fixture(scope="module", params=[simulate, launch], ids=["simulated", "real"])
def found(request):
    """{name: what each of four ranks found}; a launch is dear, so all share it."""
    values = request.param(everything, 4).values
    return {name: [value[name] for value in values] for name in values[0]}


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_hashes_are_equal_after_each_of_100_steps(found, kind):
    paths = found[kind]
    hashes = [[hashlib.sha256(w.tobytes()).hexdigest() for w in path] for path in paths]
    assert [len(set(step)) for step in zip(*hashes, strict=True)] == [1] * 101
    assert len(set(hashes[0])) == 101, "training moved in every step"
    assert paths[0][-1].dtype == kind


def test_another_seed_keeps_its_gap_for_ever(found):
    gap = distances(found["seeds"])
    assert gap[0] > 1
    assert np.ptp(gap) < 1e-12


def test_weight_decay_shrinks_the_gap_at_a_known_rate(found):
    gap = distances(found["decay"])
    np.testing.assert_allclose(gap / gap[0], 0.98 ** np.arange(31), rtol=1e-10)


def test_a_rank_that_updates_before_averaging_drifts(found):
    gap = distances(found["early"], 0, 1)
    assert gap[0] == 0
    assert (gap[1:] > 1e-3).all()
    assert distances(found["early"], 0, 2).max() == 0, "the other three stay together"


def test_one_who_skips_the_mean_takes_its_data_along(found):
    """The loner ends at its own answer, 5; the others at 1, the mean of theirs, not at 2."""
    np.testing.assert_allclose(found["loner"], [1, 1, 1, 5], atol=1e-8)


def test_c13_four_times_eight_samples_are_32(found):
    """C13: 4 × 8 samples at η = 0.1 against 1 × 32 at 0.1, float64: equal to 1e-12 after every step."""
    (alone,) = simulate(shared_batch, 1).values
    np.testing.assert_allclose(found["shared_batch"], [alone] * 4, rtol=0, atol=1e-12)


def test_lost_momentum_leaves_a_gap_of_nine_steps(found):
    """The gap is mu (1 - mu^(n+1)) / (1 - mu) times the last step's length before the loss."""
    path = found["with_momentum"]
    gap, last_step = distances(path), np.linalg.norm(path[0][4] - path[0][3])
    assert gap[:5].max() == 0
    np.testing.assert_allclose(gap[5:], 9 * last_step * (1 - 0.9 ** np.arange(1, 146)), rtol=1e-9)
    assert gap[-1] == pytest.approx(9 * last_step)


def test_a_penalty_in_the_loss_closes_no_gap():
    """It is averaged with the gradient; only what a rank adds after the averaging acts on the gap."""

    def worker(comm):
        theta = 3.0 * (comm.rank == 3)
        for _ in range(60):
            theta = theta - 0.1 * comm.all_reduce(theta - ANSWERS[comm.rank] + 0.5 * theta, op="mean")
        return float(theta)

    assert np.ptp(simulate(worker, 4).values) == pytest.approx(3, rel=1e-12)


def test_c16_averaging_by_hand_never_closes_the_gap_and_ddp_broadcasts_first():
    def worker(comm):
        import torch

        found = []
        for ddp in (False, True):
            torch.manual_seed(comm.rank)
            model = torch.nn.Linear(4, 1).double()
            path = [model.weight.tolist()]
            net = torch.nn.parallel.DistributedDataParallel(model) if ddp else model
            wrapped = model.weight.tolist()
            x = torch.randn(32, 4).double()
            for _ in range(100):
                model.zero_grad()
                (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
                for p in model.parameters():
                    p.data -= 0.1 * (p.grad if ddp else comm.all_reduce(p.grad, op="mean"))
                path.append(model.weight.tolist())
            found.append((path, wrapped))
        return found

    (by_hand, ddp), (by_hand_1, ddp_1) = launch(worker, 2).values
    gap = np.linalg.norm(np.subtract(by_hand[0], by_hand_1[0]), axis=(1, 2))
    assert gap[0] > 0.1
    assert np.ptp(gap) < 1e-12
    assert ddp[0][0] != ddp_1[0][0], "seeds differ"
    assert ddp[1] == ddp_1[1] == ddp[0][0], "rank 0's, as soon as the model is wrapped"
    assert ddp[0][1:] == ddp_1[0][1:]


# --- what else is part of a replica


def test_buffers_and_masks_differ_while_parameters_and_momentum_agree():
    def worker(comm):
        import torch

        torch.manual_seed(0)
        norm, drop = torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)
        model = torch.nn.Sequential(norm, drop, torch.nn.Linear(4, 1)).double()
        optimiser = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        torch.manual_seed(comm.rank)
        rows = shards(len(y), comm.size)[comm.rank]
        x, target = torch.tensor(X[rows]), torch.tensor(y[rows, None])
        for _ in range(30):
            optimiser.zero_grad()
            (model(x) - target).square().mean().backward()
            for p in model.parameters():
                p.grad = comm.all_reduce(p.grad, op="mean")
            optimiser.step()
        momentum = [state["momentum_buffer"].tolist() for state in optimiser.state.values()]
        mask = drop(torch.ones(64)).tolist()
        evaluation = model.eval()(torch.ones(1, 4).double()).item()
        parameters = [p.tolist() for p in model.parameters()]
        return (
            parameters,
            momentum,
            norm.num_batches_tracked.item(),
            norm.running_mean.tolist(),
            mask,
            evaluation,
        )

    zero, one = launch(worker, 2).values
    assert [a == b for a, b in zip(zero, one, strict=True)] == [True, True, True, False, False, False]


# --- the noise of an averaged gradient


def variance(gradients):
    return np.square(gradients - (-X * y[:, None]).mean(axis=0)).sum(axis=1).mean()


ALONE = (-X * y[:, None]).var(axis=0).sum() / 8


@pytest.mark.parametrize("ranks", [1, 2, 32])
def test_variance_of_the_averaged_gradient_is_one_over_k(ranks):
    assert variance(simulate(compass, ranks).values[0]) == pytest.approx(ALONE / ranks, rel=0.06)
    same = simulate(lambda comm: compass(comm, one_seed=True), ranks)
    assert variance(same.values[0]) == pytest.approx(ALONE, rel=0.06)


def test_variance_of_four(found):
    assert variance(found["compass"][0]) == pytest.approx(ALONE / 4, rel=0.06)


# --- averaging later


@pytest.mark.parametrize(("every", "end"), [(1, 0.8), (4, 0.7609), (16, 0.6345), (240, 0.5)])
def test_local_sgd_ends_where_theory_says(every, end):
    firm, wish = np.array([1.0, 4.0]), np.array([0.0, 1.0])

    def worker(comm):
        theta = 0.0
        for step in range(1, 241):
            theta = theta - 0.05 * firm[comm.rank] * (theta - wish[comm.rank])
            if step % every == 0:
                theta = comm.all_reduce(theta, op="mean")
        return float(theta)

    share = 1 - (1 - 0.05 * firm) ** every
    values = simulate(worker, 2).values
    assert values[0] == values[1]
    assert values[0] == pytest.approx(share @ wish / share.sum(), abs=1e-4)
    assert values[0] == pytest.approx(end, abs=1e-4)


# --- checkers


CHECKS = [check_sync_step, check_same_start, check_agrees, check_local_sgd]

test_nothing_is_not_a_failure = waits_for(*CHECKS, stubs=(None, ...))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("other", [7, "a", [1, 2], np.ones(3)])
def test_what_is_no_function_is_asked_about(check, other):
    rejected(check(other), "a function is asked for")


def in_place(comm, theta, gradient, lr):
    theta -= lr * comm.all_reduce(gradient, op="mean")
    return theta


def by_mean(comm, theta, gradient, lr):
    return theta - lr * comm.all_reduce(gradient, op="mean")


test_sync_step_accepts = accepts(
    check_sync_step,
    by_mean,
    lambda comm, theta, g, lr: theta - lr * comm.all_reduce(g) / comm.size,
    lambda comm, theta, g, lr: theta - comm.all_reduce(lr * g, op="mean"),
    lambda comm, theta, g, lr: theta - lr * ring_all_reduce(comm, g, "mean"),
    lambda comm, theta, g, lr: theta - lr * parameter_server_all_reduce(comm, g, "mean"),
    in_place,
    lambda comm, theta, g, lr: np.array(
        [t - lr * m for t, m in zip(theta, comm.all_reduce(g, "mean"), strict=True)]
    ),
)


def few(attempt, otherwise, most=8):
    """Right for `most` ranks at most."""
    return lambda comm, *given: (attempt if comm.size <= most else otherwise)(comm, *given)


test_no_shortcut_takes_the_step = refuses(
    check_sync_step,
    {
        "nothing": lambda comm, theta, g, lr: theta,
        "zeros": lambda comm, theta, g, lr: np.zeros_like(theta),
        "from 0": lambda comm, theta, g, lr: by_mean(comm, 0 * theta, g, lr),
        "a quarter": lambda comm, theta, g, lr: by_mean(comm, theta, g, 0.25),
        "four workers": lambda comm, theta, g, lr: theta - lr * comm.all_reduce(g) / 4,
        "eight workers at most": few(by_mean, lambda comm, theta, g, lr: theta - lr * g),
        "single precision": lambda comm, theta, g, lr: by_mean(comm, theta, np.float32(g), lr),
        "rounded": lambda *given: np.round(by_mean(*given), 6),
        "rank 0's": lambda comm, theta, g, lr: theta - lr * comm.broadcast(g, source=0),
        "the first five": lambda comm, theta, g, lr: (
            theta - lr * (np.arange(len(g)) < 5) * comm.all_reduce(g, "mean")
        ),
    },
)


def in_place_then_forgotten(comm, theta, gradient, lr):
    theta -= lr * comm.all_reduce(gradient, op="mean")
    return theta + 0.0


def mean_into_gradient(comm, theta, gradient, lr):
    gradient[:] = comm.all_reduce(gradient, op="mean")
    return theta - lr * gradient


def all_to_all(comm, theta, gradient, lr):
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    for rank in others:
        comm.send(gradient, rank)
    received = {rank: comm.recv(rank) for rank in others} | {comm.rank: gradient}
    return theta - lr * np.mean([received[rank] for rank in range(comm.size)], axis=0)


test_sync_step_rejects = rejects(
    check_sync_step,
    (lambda comm, theta, g, lr: theta - lr * comm.all_reduce(g), "K times too long"),
    (lambda comm, theta, g, lr: theta - lr * g, "stepped by its own gradient"),
    (lambda comm, theta, g, lr: theta + lr * comm.all_reduce(g, op="mean"), "uphill"),
    (lambda comm, theta, g, lr: theta - comm.all_reduce(g, op="mean"), "learning rate is missing"),
    (lambda comm, theta, g, lr: comm.all_reduce(g, op="mean"), "return theta after the step"),
    (lambda comm, theta, g, lr: comm.all_reduce(theta - lr * g, op="mean"), "parameters were averaged"),
    (lambda comm, theta, g, lr: (comm.barrier(), by_mean(comm, theta, g, lr))[1], "one all-reduce is enough"),
    (in_place_then_forgotten, "changed in place"),
    (mean_into_gradient, "gradient was changed"),
    (all_to_all, "bytes were sent in all"),
    (lambda *given: by_mean(*given).tolist(), "list, not an array"),
    (lambda *given: by_mean(*given)[:1], "shape"),
    (lambda comm, theta, g, lr: theta - lr * comm.all_reduce(g, op="average"), "op must be"),
)


def start_by_sends(comm, theta):
    if comm.rank:
        return comm.recv(0)
    for rank in range(1, comm.size):
        comm.send(theta, rank)
    return theta


def start_along_a_chain(comm, theta):
    if comm.rank:
        theta = comm.recv(comm.rank - 1)
    if comm.rank + 1 < comm.size:
        comm.send(theta, comm.rank + 1)
    return theta


test_same_start_accepts = accepts(
    check_same_start,
    *(lambda comm, theta: comm.broadcast(theta, source=0), start_by_sends, start_along_a_chain),
    lambda comm, theta: (np.copyto(theta, comm.broadcast(theta, 0)), theta)[1],
)


def rounded_start(comm, theta):
    return np.round(comm.broadcast(theta, source=0), 6)


test_no_shortcut_makes_the_start_the_same = refuses(
    check_same_start,
    {
        "zeros": lambda comm, theta: np.zeros_like(theta),
        "a seed for all": lambda comm, theta: np.random.default_rng(0).normal(size=theta.size),
        "rank 1's": lambda comm, theta: comm.broadcast(theta, source=min(1, comm.size - 1)),
        "eight workers at most": few(start_by_sends, lambda comm, theta: theta),
        "the first five": lambda comm, theta: np.r_[comm.broadcast(theta[:5], source=0), theta[5:]],
        "single precision": lambda comm, theta: comm.broadcast(np.float32(theta), source=0).astype(float),
        "rounded": rounded_start,
    },
)


def sum_with_zeros(comm, theta):
    return comm.all_reduce(theta if comm.rank == 0 else np.zeros_like(theta))


test_same_start_rejects = rejects(
    check_same_start,
    (lambda comm, theta: comm.all_reduce(theta, op="mean"), "rank 0's is wanted"),
    (lambda comm, theta: theta, "its own start"),
    (sum_with_zeros, "one copy to each other rank"),
    (lambda comm, theta: np.zeros_like(theta), "own start was changed"),
    (lambda comm, theta: theta if comm.rank == 0 else theta + 1, "rank 0 started from"),
    (lambda comm, theta: comm.broadcast(theta, source=0).tolist(), "list, not an array"),
    (lambda comm, theta: comm.broadcast(theta, source=comm.rank), "rank 1 for broadcast from 1"),
    (lambda comm, theta: comm.recv(0) if comm.rank else theta, "rank 0"),
)


def digest(theta):
    return np.frombuffer(hashlib.sha256(theta.tobytes()).digest(), dtype=np.uint8)


def agrees(comm, theta):
    return np.array_equal(comm.broadcast(digest(theta), source=0), digest(theta))


def agrees_by_sends(comm, theta):
    if comm.rank:
        return bool((comm.recv(0) == digest(theta)).all())
    for rank in range(1, comm.size):
        comm.send(digest(theta), rank)
    return True


def by(summary):
    """Compares summary(theta), an array, with rank 0's."""

    def attempt(comm, theta):
        mine = np.atleast_1d(summary(theta))
        return bool(np.array_equal(comm.broadcast(mine, source=0).view(np.uint8), mine.view(np.uint8)))

    return attempt


def in_words(theta):
    return theta.view(f"u{theta.itemsize}")


def xor_and_ends(theta):
    return np.append(np.bitwise_xor.reduce(in_words(theta)), in_words(theta)[[0, -1]])


def digest_of_a_list(theta):
    return np.frombuffer(hashlib.md5(repr(theta.tolist()).encode()).digest(), np.uint8)


test_agrees_accepts = accepts(
    check_agrees,
    *(agrees, agrees_by_sends, by(digest_of_a_list)),
    by(lambda theta: np.uint32([zlib.crc32(theta.tobytes()), zlib.adler32(theta.tobytes())])),
)

test_no_shortcut_agrees = refuses(
    check_agrees,
    {
        "always": lambda comm, theta: True,
        "the sum": by(np.sum),
        "an exact sum": by(math.fsum),
        "mean and spread": by(lambda theta: np.array([theta.mean(), theta.std()])),
        "XOR": by(lambda theta: np.bitwise_xor.reduce(in_words(theta))),
        "XOR, first and last": by(xor_and_ends),
        "XOR, sum and ends": by(lambda theta: np.append(xor_and_ends(theta), in_words(theta).sum())),
        "the first eight": by(lambda theta: theta[:8]),
        "every 200th": by(lambda theta: theta[::200]),
        "sorted": by(lambda theta: digest(np.sort(theta))),
        "as text": by(lambda theta: np.frombuffer(hashlib.md5(str(theta).encode()).digest(), np.uint8)),
        "values, not bits": by(lambda theta: digest(theta + 0.0)),
        "single precision": by(lambda theta: digest(np.float32(theta))),
        "only double precision": by(lambda theta: digest(theta.view(np.uint64))),
        "NaN is unequal": lambda comm, theta: agrees(comm, theta) and bool((theta == theta).all()),
        "rounded": by(lambda theta: digest(np.round(theta, 12))),
    },
)


test_agrees_rejects = rejects(
    check_agrees,
    (lambda comm, theta: True, "off by the last bit of one number: rank"),
    (lambda comm, theta: False, "all equal: rank 0 says False"),
    (lambda comm, theta: np.allclose(comm.broadcast(theta, source=0), theta), "off by the last bit"),
    (lambda comm, theta: np.array_equal(comm.broadcast(theta, source=0), theta), "send a fingerprint"),
    (lambda comm, theta: agrees(comm, np.sort(theta)), "in another order"),
    (lambda comm, theta: comm.broadcast(digest(theta), source=0) == digest(theta), "not True or False"),
)


def local_sgd(comm, theta, gradient, lr, steps, every, *, when=None):
    when = when or (lambda step: step % every == 0 or step == steps)
    for step in range(1, steps + 1):
        theta = theta - lr * gradient(theta)
        if when(step):
            theta = comm.all_reduce(theta, op="mean")
    return theta


def always_at_the_end(comm, theta, gradient, lr, steps, every):
    theta = local_sgd(comm, theta, gradient, lr, steps, every, when=lambda step: step % every == 0)
    return comm.all_reduce(theta, op="mean")


def never_at_the_end(comm, theta, gradient, lr, steps, every):
    return local_sgd(comm, theta, gradient, lr, steps, every, when=lambda step: step % every == 0)


def one_off(comm, theta, gradient, lr, steps, every):
    return local_sgd(comm, theta, gradient, lr, steps, every, when=lambda step: (step - 1) % every == 0)


def gradients_averaged(comm, theta, gradient, lr, steps, every):
    for step in range(1, steps + 1):
        own = gradient(theta)
        due = step % every == 0 or step == steps
        theta = theta - lr * (comm.all_reduce(own, op="mean") if due else own)
    return theta


def in_rounds(comm, theta, gradient, lr, steps, every):
    while steps:
        for _ in range(min(every, steps)):
            theta -= lr * gradient(theta)
        theta = comm.all_reduce(theta) / comm.size
        steps -= min(every, steps)
    return theta


test_local_sgd_accepts = accepts(check_local_sgd, local_sgd, in_rounds)

test_no_shortcut_is_local_sgd = refuses(
    check_local_sgd,
    {
        "nothing": lambda comm, theta, *_: theta,
        "from 0": lambda comm, theta, *rest: local_sgd(comm, 0 * theta, *rest),
        "a tenth": lambda comm, theta, g, lr, *rest: local_sgd(comm, theta, g, 0.1, *rest),
        "ten steps at most": lambda comm, theta, g, lr, n, h: local_sgd(comm, theta, g, lr, min(n, 10), h),
        "two rounds at most": lambda *given: local_sgd(
            *given, when=lambda step: step in (given[5], given[4])
        ),
        "after every step": lambda *given: local_sgd(*given[:5], 1),
        "only at the end": lambda *given: local_sgd(*given[:5], given[4]),
        "single precision": lambda comm, theta, *rest: local_sgd(
            comm, theta, lambda at: np.float32(rest[0](at)), *rest[1:]
        ),
        "rounded": lambda *given: np.round(local_sgd(*given), 6),
    },
)


test_local_sgd_rejects = rejects(
    check_local_sgd,
    (never_at_the_end, "average once more at the end"),
    (always_at_the_end, "averagings are due"),
    (lambda *given: local_sgd(*given, when=lambda step: False), "averagings are due"),
    (one_off, "due after 3 steps; count from 1"),
    (gradients_averaged, "is it the parameters that you average?"),
    (lambda comm, theta, g, lr, *rest: local_sgd(comm, theta, g, -lr, *rest), "comes out if"),
    (lambda *given: local_sgd(*given).tolist(), "list, not an array"),
)


# --- pictures

STEPS = np.arange(61)
OPENED = 9 * (1 - 0.9 ** np.arange(1, 61))
PATHS = {"start": (3.0 + 0 * STEPS, 3.0 + 0 * STEPS), "decay": (3 * 0.95**STEPS, 3 * 0.95**STEPS)}
NOISE = {"simulated": {1: 10.0, 32: 0.31}, "real": {2: 5.0}, "one seed": {1: 10.0, 32: 10.0}}
ENDS = {1: 0.8, 16: 0.6345, 240: 0.5}


@pytest.mark.parametrize(
    ("draw", "theory", "told"),
    [
        (lambda: gaps(PATHS), "theory", ["start: 3 → 3", "decay: 3 → 0.138", "60 steps"]),
        (
            lambda: lost_momentum(np.r_[np.zeros(20), OPENED], OPENED, reset=20, level=9),
            *("theory", ["before step 21", "limit of 9", "at 8.98"]),
        ),
        (
            lambda: averaged_noise(NOISE, 10.0),
            *("variance / K", ["simulated: 10 → 0.31, 1 → 32", "one seed: 10 → 10, 1 → 32"]),
        ),
        (
            lambda: average_later(ENDS, ENDS, best=0.8),
            *("theory", ["1: 0.8, 16: 0.6345, 240: 0.5", "ends at 0.8"]),
        ),
    ],
)
def test_pictures_are_whole_and_show_theory_and_measurement(draw, theory, told):
    picture = draw()
    assert [part for part in told if part not in picture.alt] == []
    title, _, axes = picture.numbers[0].partition(" [")
    assert len(title) <= 60 and " | " in axes
    assert theory in "\n".join(picture.numbers) and len(picture.numbers) >= 3
    image = imread(io.BytesIO(picture.png))[..., :3]
    assert all((edge > 0.99).all() for edge in (image[0], image[-1], image[:, 0], image[:, -1]))


def test_a_picture_is_the_same_each_time():
    assert gaps(PATHS).png == gaps(PATHS).png
