"""Synchronous SGD: all workers' gradients at the same parameters, averaged, then one update on every rank."""

from course_lib.sgd.history import Log, may_diverge
from course_lib.sgd.work import Work, checked


def synchronous(problem, steps, rate, *, batch=None, times=None, seed=0):
    """A worker function for K ranks that all work; each returns the run's History.

    rate: of the averaged gradient. batch: samples a worker and step, one number or one a worker (then each
    gradient counts by its samples); None: all samples, dealt out. times: a ComputeTimes, or seconds; None: no
    time is spent. seed: of the order of the samples.
    """
    rate, times = checked(problem, rate, batch, times, seed, steps=steps)

    def worker(comm):
        work = Work(comm, problem, comm.rank, comm.size, batch, times, seed)
        log = Log(problem.start)
        with may_diverge():
            for _ in range(steps):
                mean = comm.all_reduce(work.weight * work.gradient(log.theta), op="mean")
                log.update(log.theta - rate * mean, comm.time(), gradients=comm.size)
        return log.history()

    return worker
