"""Chapter 11's bug gallery as the tests know it: each loop as found, mended, and mended wrongly."""

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler

from course_lib.collectives import all_gather, weighted_mean

# --- 11.1, gradients summed


def averages(comm, theta, gradient, rate, times=1):
    return theta - times * rate * comm.all_reduce(gradient, op="mean")


def divides(comm, theta, gradient, rate):
    return theta - rate / comm.size * comm.all_reduce(gradient)


def averages_theta(comm, theta, gradient, rate):
    return comm.all_reduce(theta - rate * gradient, op="mean")


def two_rounds(comm, theta, gradient, rate):
    comm.barrier()
    return averages(comm, theta, gradient, rate)


def gathers_gradients(comm, theta, gradient, rate):
    return theta - rate * np.mean(all_gather(comm, np.tile(gradient, 2)), axis=0)[: len(theta)]


def number_by_number(comm, theta, gradient, rate):
    total = comm.all_reduce(gradient)
    return np.array([at - rate * number / comm.size for at, number in zip(theta, total, strict=True)])


def writes_over_theta(comm, theta, gradient, rate):
    theta -= rate * comm.all_reduce(gradient / comm.size)
    return theta


STEP_RIGHT = averages, divides, averages_theta, number_by_number, writes_over_theta
STEP_WRONG = {
    lambda comm, theta, gradient, rate: theta - rate * comm.all_reduce(gradient): "times the mean gradient",
    lambda comm, theta, gradient, rate: averages(comm, theta, gradient / comm.size, rate): "divide once",
    lambda comm, theta, gradient, rate: theta - rate * gradient: "its own gradient alone",
    lambda *given: averages(*given, times=-1): "uphill",
    lambda *given: averages(*given, times=3): "the right direction is",
    two_rounds: "2 collectives for one step",
    gathers_gradients: "do not gather",
    lambda comm, theta, gradient, rate: theta - rate * comm.all_reduce(gradient) / 4: "divide once",
    # shortcuts
    lambda comm, theta, gradient, rate: np.zeros_like(theta): "the right direction is",
    lambda comm, theta, gradient, rate: averages(comm, 0 * theta, gradient, rate): "the right direction is",
    lambda comm, theta, gradient, rate: averages(comm, theta, gradient, 0.5): "the right direction is",
    lambda comm, theta, gradient, rate: np.round(averages(comm, theta, gradient, rate), 8): "direction is",
    lambda comm, theta, gradient, rate: averages(comm, theta, gradient.astype("f4"), rate): "direction is",
    lambda comm, theta, gradient, rate: averages(comm, theta, gradient, rate)[:5]: "not (1,)|not (300,)",
    lambda comm, theta, gradient, rate: averages(comm, theta, gradient, rate).tolist(): "not an array",
}

# --- 11.2, the inner module


def _loss(outputs, targets):
    return (outputs - targets).square().mean()


def _step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def past_ddp(net, optimizer, inputs, targets):
    _step(optimizer, _loss(net.module(inputs), targets))


def through_ddp(net, optimizer, inputs, targets):
    _step(optimizer, _loss(net(inputs), targets))


def by_hand(net, optimizer, inputs, targets):
    optimizer.zero_grad()
    _loss(net.module(inputs), targets).backward()
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()


def never_clears(net, optimizer, inputs, targets):
    _loss(net(inputs), targets).backward()
    optimizer.step()


def never_steps(net, optimizer, inputs, targets):
    optimizer.zero_grad()
    _loss(net(inputs), targets).backward()


def divides_again(net, optimizer, inputs, targets):
    _step(optimizer, _loss(net(inputs), targets) / dist.get_world_size())


def without_sync(net, optimizer, inputs, targets):
    with net.no_sync():
        through_ddp(net, optimizer, inputs, targets)


def twice(net, optimizer, inputs, targets):
    """The right step, behind a backward whose gradients are thrown away."""
    _loss(net(inputs), targets).backward()
    through_ddp(net, optimizer, inputs, targets)


def in_other_words(net, optimizer, inputs, targets):
    import torch

    loss = torch.nn.functional.mse_loss(net(inputs), targets)
    for parameter in net.parameters():
        parameter.grad = None
    loss.backward()
    optimizer.step()
    return float(loss)


def by_plain_sgd(net, optimizer, inputs, targets):
    """The update by hand, which forgets the momentum."""
    optimizer.zero_grad()
    _loss(net(inputs), targets).backward()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= optimizer.param_groups[0]["lr"] * parameter.grad


def rate_by_heart(net, optimizer, inputs, targets):
    optimizer.zero_grad()
    _loss(net(inputs), targets).backward()
    for parameter in net.parameters():
        parameter.data -= 0.25 * parameter.grad


def sums_the_loss(net, optimizer, inputs, targets):
    _step(optimizer, (net(inputs) - targets).square().sum())


def sends_parameters(net, optimizer, inputs, targets):
    """Its own step, then everybody gets rank 0's parameters."""
    past_ddp(net, optimizer, inputs, targets)
    for parameter in net.parameters():
        dist.broadcast(parameter.data, 0)


TRAIN_RIGHT = through_ddp, in_other_words
TRAIN_WRONG = {
    past_ddp: "which object did you call",
    without_sync: "which object did you call",
    by_hand: "communication of your own",
    never_clears: "is the gradient cleared",
    never_steps: "have not moved",
    divides_again: "divided by nothing more",
    twice: "6 reductions in 3 steps",
    # shortcuts
    by_plain_sgd: "one process with the whole batch",
    rate_by_heart: "one process with the whole batch",
    sums_the_loss: "one process with the whole batch",
    sends_parameters: "communication of your own",
    lambda net, optimizer, inputs, targets: 0.0: "have not moved",
}

# --- 11.3, no set_epoch


def same_every_epoch(comm, items, epochs):
    sampler = DistributedSampler(range(items), comm.size, comm.rank)
    return [list(sampler) for _ in range(epochs)]


def _orders(told, comm, items, epochs):
    sampler, orders = DistributedSampler(range(items), comm.size, comm.rank), []
    for epoch in range(epochs):
        sampler.set_epoch(told(epoch))
        orders.append(list(sampler))
    return orders


def told(comm, items, epochs):
    return _orders(lambda epoch: epoch, comm, items, epochs)


def told_later_epochs(comm, items, epochs):
    return _orders(lambda epoch: 10 + 3 * epoch, comm, items, epochs)


def new_sampler(comm, items, epochs):
    samplers = [DistributedSampler(range(items), comm.size, comm.rank, seed=epoch) for epoch in range(epochs)]
    return [list(sampler) for sampler in samplers]


def told_by_rank(comm, items, epochs):
    return _orders(lambda epoch: epoch + comm.rank, comm, items, epochs)


def told_too_late(comm, items, epochs):
    return _orders(lambda epoch: max(0, epoch - 1), comm, items, epochs)


def back_to_the_first(comm, items, epochs):
    return _orders(lambda epoch: epoch % 2, comm, items, epochs)


def shuffles_its_share(comm, items, epochs):
    mine = same_every_epoch(comm, items, 1)[0]
    return [list(np.random.default_rng((comm.rank, epoch)).permutation(mine)) for epoch in range(epochs)]


def everything_everywhere(comm, items, epochs):
    return [list(np.random.default_rng(epoch).permutation(items)) for epoch in range(epochs)]


def dealt_by_hand(comm, items, epochs):
    """Without PyTorch's sampler: shuffle by the epoch, fill up, take every K-th."""
    found = []
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(items)
        found.append(np.resize(order, -(-items // comm.size) * comm.size)[comm.rank :: comm.size])
    return found


def first_three(comm, items, epochs):
    return told(comm, items, 3) + same_every_epoch(comm, items, epochs - 3)


def twelve_items(comm, items, epochs):
    return told(comm, 12, epochs)


def without_the_last(comm, items, epochs):
    return [epoch[: items // comm.size] for epoch in told(comm, items, epochs)]


ORDERS_RIGHT = told, told_later_epochs, new_sampler, dealt_by_hand
ORDERS_WRONG = {
    same_every_epoch: "who tells it the epoch",
    told_too_late: "epoch 1 as through epoch 0",
    back_to_the_first: "epoch 2 as through epoch 0",
    told_by_rank: "within an epoch all ranks must cut the same order",
    shuffles_its_share: "shuffle before the items are dealt",
    everything_everywhere: "its share is",
    lambda comm, items, epochs: told(comm, items, 1): "a list of items for each of 3 epochs",
    lambda comm, items, epochs: list(range(epochs)): "a list of items for each of 3 epochs",
    # shortcuts
    lambda comm, items, epochs: told(comm, items, 3): "a list of items for each of 6 epochs",
    lambda comm, items, epochs: _orders(lambda epoch: epoch % 3, comm, items, epochs): "3 as through epoch 0",
    first_three: "as through epoch 0",
    twelve_items: "its share is",
    without_the_last: "its share is",
}

# --- 11.4, rank 0's loss


def over_all(comm, losses):
    total, count = comm.all_reduce(np.array([losses.sum(), len(losses)]))
    return total / count


def over_all_twice(comm, losses):
    return comm.all_reduce(np.array(losses.sum())) / comm.all_reduce(np.array(float(len(losses))))


def mean_of_means(comm, losses):
    return comm.all_reduce(np.array(losses.sum() / max(len(losses), 1)), op="mean")


def plain_means(comm, losses):
    with np.errstate(invalid="ignore"):
        return comm.all_reduce(np.float64(losses.sum()) / np.array(float(len(losses))), op="mean")


def only_rank_0_reduces(comm, losses):
    if comm.rank == 0:
        return comm.all_reduce(np.array(losses.sum()), op="mean")
    return losses.sum()


def all_summed(comm, losses):
    return comm.all_reduce(np.array(losses.sum()))


def only_rank_0_returns(comm, losses):
    loss = over_all(comm, losses)
    return loss if comm.rank == 0 else None


def gathers(comm, losses):
    padded = np.zeros(5)
    padded[: len(losses)] = losses
    total = comm.all_reduce(np.append(padded, len(losses)))
    return total[:5].sum() / total[5]


def weighted_means(comm, losses):
    return weighted_mean(comm, np.array(losses.mean() if len(losses) else 0.0), len(losses))


def in_a_loop(comm, losses):
    total = 0.0
    for loss in losses:
        total += loss
    both = comm.all_reduce(np.array([total, len(losses)]))
    return float(both[0]) / int(both[1])


def one_by_one(comm, losses):
    """Sends every loss, a number at a time."""
    most = int(max(number[0] for number in all_gather(comm, np.array([len(losses)]))))
    padded = np.append(losses, np.zeros(most - len(losses)))
    total = sum(float(comm.all_reduce(np.array(loss))) for loss in padded)
    return total / float(comm.all_reduce(np.array(float(len(losses)))))


LOSS_RIGHT = over_all, over_all_twice, weighted_means, in_a_loop
LOSS_WRONG = {
    lambda comm, losses: comm.broadcast(np.array(losses.mean()), source=0): "rank 0's own loss",
    lambda comm, losses: losses.sum() / max(len(losses), 1): "each rank reports its own loss",
    mean_of_means: "counts too much|were counted too",
    plain_means: "counts too much|NaN",
    only_rank_0_reduces: "deadlock|waits",
    all_summed: "the sum of all losses",
    lambda comm, losses: all_summed(comm, losses) / comm.size: "not by that of samples",
    lambda comm, losses: 3 * over_all(comm, losses): "; the mean over all samples is",
    lambda comm, losses: np.append(losses, over_all(comm, losses)): "not one number",
    only_rank_0_returns: "returned None",
    gathers: "16 bytes, are all that must travel",
    # shortcuts
    one_by_one: "need one, or one each",
    lambda comm, losses: 2.0: "the mean over all samples is",
    lambda comm, losses: round(float(over_all(comm, losses)), 6): "the mean over all samples is",
    lambda comm, losses: np.float32(over_all(comm, losses)): "the mean over all samples is",
    lambda comm, losses: over_all(comm, losses[:5]): "the mean over all samples is",
    lambda comm, losses: over_all(comm, losses[losses < 100]): "the mean over all samples is",
}

# --- 11.5, the last batch


def mean_of_last(comm, theta, X, y, rate):
    gradient = X.T @ (X @ theta - y) / len(y)
    return theta - rate * comm.all_reduce(gradient, op="mean")


def by_samples(comm, theta, X, y, rate):
    count = comm.all_reduce(np.array(float(len(y))))
    return theta - rate * comm.all_reduce(X.T @ (X @ theta - y)) / count


def by_samples_at_once(comm, theta, X, y, rate):
    total = comm.all_reduce(np.append(X.T @ (X @ theta - y), len(y)))
    return theta - rate * total[:-1] / total[-1]


def by_library(comm, theta, X, y, rate):
    gradient = X.T @ (X @ theta - y) / max(1, len(y))
    return theta - rate * weighted_mean(comm, gradient, len(y))


def summed_rows(comm, theta, X, y, rate):
    return theta - rate * comm.all_reduce(X.T @ (X @ theta - y))


def mean_of_sums(comm, theta, X, y, rate):
    return theta - rate * comm.all_reduce(X.T @ (X @ theta - y), op="mean")


def sum_of_means(comm, theta, X, y, rate):
    return theta - rate * comm.all_reduce(X.T @ (X @ theta - y) / max(1, len(y)))


def without_a_guard(comm, theta, X, y, rate):
    return theta - rate * weighted_mean(comm, X.T @ (X @ theta - y) / len(y), len(y)) * len(y) / len(y)


def three_rounds(comm, theta, X, y, rate):
    comm.barrier()
    return by_samples(comm, theta, X, y, rate)


def sends_its_rows(comm, theta, X, y, rate):
    comm.all_reduce(np.zeros(20))
    return by_samples_at_once(comm, theta, X, y, rate)


def divided_again(comm, theta, X, y, rate):
    count = comm.all_reduce(np.array(float(len(y))))
    return theta - rate * comm.all_reduce(X.T @ (X @ theta - y) / count, op="mean")


def own_rows(comm, theta, X, y, rate):
    return theta - rate * X.T @ (X @ theta - y) / max(1, len(y))


def row_by_row(comm, theta, X, y, rate):
    total = np.zeros(3)
    for x, target in zip(X, y, strict=True):
        total += np.append((x @ theta - target) * x, 1)
    total = comm.all_reduce(total)
    for place in range(2):
        theta[place] -= rate * total[place] / total[2]
    return theta


def with_a_guard(comm, theta, X, y, rate):
    """The mean over those ranks that have samples."""
    mean = X.T @ (X @ theta - y) / max(1, len(y))
    total = comm.all_reduce(np.append(mean, len(y) > 0))
    return theta - rate * total[:2] / total[2]


LAST_RIGHT = by_samples, by_samples_at_once, by_library, row_by_row
LAST_WRONG = {
    mean_of_last: "a sample counts the more, the fewer its rank has",
    summed_rows: "divide by how many all ranks have",
    mean_of_sums: "divided the sum by the 2 ranks",
    divided_again: "and then by the 2 ranks as well",
    own_rows: "its own gradient alone",
    sum_of_means: "it grows with the ranks",
    without_a_guard: "somebody has no sample",
    three_rounds: "3 collectives",
    sends_its_rows: "bytes: a gradient and a count must travel",
    lambda *given: by_samples(*given)[0]: "not the two parameters",
    lambda comm, *given: 3 * by_samples(comm, *given): "the right direction is",
    # shortcuts
    with_a_guard: "a sample counts the more",
    lambda comm, theta, X, y, rate: by_samples(comm, theta, X, y, 0.5): "the right direction is",
    lambda comm, theta, X, y, rate: by_samples(comm, 0 * theta, X, y, rate): "the right direction is",
    lambda comm, theta, X, y, rate: by_samples(comm, theta, X[:3], y[:3], rate): "the right direction is",
    lambda *given: np.round(by_samples(*given), 8): "the right direction is",
    lambda *given: by_samples(*given).astype("f4"): "the right direction is",
    lambda comm, theta, X, y, rate: theta: "the right direction is",
}

# --- 11.6, a hook that reduces a copy


def _hooked(average, named=""):
    """An add_hooks(model): `average` at each parameter with `named` in its name."""

    def add_hooks(model):
        for name, parameter in model.named_parameters():
            if named in name:
                parameter.register_hook(average)

    return add_hooks


def _mean(gradient):
    mean = gradient / dist.get_world_size()
    dist.all_reduce(mean)
    return mean


def _mean_of_a_copy(gradient):
    _mean(gradient)


def _share(gradient):
    _mean(gradient)
    return gradient / dist.get_world_size()


def _sum(gradient):
    return _mean(gradient) * dist.get_world_size()


def _mean_on_rank_0(gradient):
    return gradient if dist.get_rank() else _mean(gradient)


def after_accumulation(model):
    def average(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(average)


def hooked_twice(model):
    for _ in range(2):
        returns_the_mean(model)


returns_the_mean = _hooked(_mean)
only_rank_0_reduces_gradients = _hooked(_mean_on_rank_0)


def _in_single_precision(gradient):
    return _mean(gradient.float()).double()


def _for_two(gradient):
    dist.all_reduce(mean := gradient / 2)
    return mean


def _in_place(gradient):
    gradient /= dist.get_world_size()
    dist.all_reduce(gradient)


def four_parameters(model):
    for parameter in list(model.parameters())[:4]:
        parameter.register_hook(_mean)


HOOKS_RIGHT = returns_the_mean, after_accumulation, _hooked(_in_place)
HOOKS_WRONG = {
    _hooked(_mean_of_a_copy): "The reduced tensor is a copy",
    _hooked(_share): "the sum went nowhere",
    _hooked(_sum): "divide, once",
    _hooked(lambda gradient: _mean(gradient) / dist.get_world_size()): "divided by the ranks once more",
    _hooked(_mean, named="weight"): "does every parameter have its hook",
    _hooked(lambda gradient: 3 * _mean(gradient)): "neither the mean, nor the sum",
    hooked_twice: "one hook for each parameter",
    lambda model: model: "are the hooks in place",
    # shortcuts
    four_parameters: "does every parameter have its hook",
    _hooked(_for_two): "neither the mean",
    _hooked(_in_single_precision): "does every parameter|neither the mean",
    _hooked(lambda gradient: _mean(gradient).round(decimals=6)): "does every parameter|neither the mean",
    _hooked(lambda gradient: 0 * _mean(gradient)): "neither the mean",
}

# --- 11.7, one rank's dtype


def own_dtype(gradient, dtype):
    sent = gradient.to(dtype)
    dist.all_reduce(sent)
    return sent.float() / dist.get_world_size()


def all_half(gradient, dtype):
    return own_dtype(gradient, torch.float16)


def agreed(gradient, dtype):
    odd = torch.tensor(float(dtype != torch.bfloat16))
    dist.all_reduce(odd, op=dist.ReduceOp.MAX)
    return own_dtype(gradient, torch.float16 if odd else torch.bfloat16)


def other_size(gradient, dtype):
    return own_dtype(gradient, torch.float32 if dtype == torch.float16 else dtype)


def by_heart(gradient, dtype):
    """What the first case wants, whatever the gradient is."""
    return all_half(gradient, dtype) * 0 + (dist.get_world_size() + 1) / 2


def four_numbers(gradient, dtype):
    return torch.full_like(gradient, all_half(gradient, dtype)[:4].mean().item())


def for_two(gradient, dtype):
    sent = gradient.half()
    dist.all_reduce(sent)
    return sent.float() / 2


def in_double(gradient, dtype):
    sent = gradient.double() / dist.get_world_size()
    dist.all_reduce(sent)
    return sent.to(gradient.dtype)


DTYPE_RIGHT = lambda gradient, dtype: _mean(gradient), all_half, agreed, in_double
DTYPE_WRONG = {
    own_dtype: "bytes of one kind are read as another",
    lambda gradient, dtype: _sum(gradient): "the sum: divide",
    lambda gradient, dtype: 3 * _mean(gradient): "; the mean is",
    lambda gradient, dtype: _mean(gradient).to(dtype): "give back one dtype",
    lambda gradient, dtype: gradient: "was not called",
    lambda gradient, dtype: _mean(gradient).reshape(2, 2): "rank 0 returned a tensor of shape (2, 2)",
    lambda gradient, dtype: _mean(gradient).tolist(): "rank 0 returned list",
    lambda gradient, dtype: own_dtype(gradient, torch.bfloat16): "rank 1's GPU has no bfloat16",
    # shortcuts
    by_heart: "; the mean is",
    four_numbers: "; the mean is",
    for_two: "; the mean is",
    lambda gradient, dtype: own_dtype(gradient, torch.int32): "; the mean is",
    lambda gradient, dtype: torch.zeros_like(all_half(gradient, dtype)): "; the mean is",
}
