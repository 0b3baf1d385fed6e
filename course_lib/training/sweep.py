"""Many small runs, each in one process, shared out over a few ranks."""

from course_lib.arguments import whole_number
from course_lib.processes import launch
from course_lib.training.worker import TrainingWorker


def train_each(workers, ranks=2, timeout=120):
    """Train each of the TrainingWorkers by itself, in one launch; a list of TrainingResults, in their order.

    Equal ones are trained once. One thread a rank, so that a result does not depend on `ranks`.
    """
    workers, ranks = list(workers), whole_number("ranks", ranks, 1)
    for worker in workers:
        if not isinstance(worker, TrainingWorker):
            raise TypeError(f"workers must be training workers, such as digits_worker(...); got {worker!r}")
    once = list(dict.fromkeys(workers))
    if not once:
        return []
    shares = _shares([_cost(worker.config) for worker in once], min(ranks, len(once)))

    def train(comm):
        return {number: once[number].alone() for number in shares[comm.rank]}

    found = {}
    for results in launch(train, len(shares), threads=1, timeout=timeout).values:
        found.update(results)
    by_worker = {worker: found[number] for number, worker in enumerate(once)}
    return [by_worker[worker] for worker in workers]


def _cost(config):
    """Updates for each sample, times epochs: what takes time in small runs is their number of steps."""
    return config.epochs / (config.batch * config.accumulation)


def _shares(costs, ranks):
    """Numbers of the jobs of each rank: the dearest first, always to whom has least so far."""
    shares, loads = [[] for _ in range(ranks)], [0.0] * ranks
    for number in sorted(range(len(costs)), key=lambda number: -costs[number]):
        least = loads.index(min(loads))
        shares[least].append(number)
        loads[least] += costs[number]
    return shares
