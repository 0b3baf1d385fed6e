"""Local SGD: every worker takes some steps of its own, then the parameters are averaged."""

from course_lib.sgd.history import Log, may_diverge
from course_lib.sgd.work import Work, checked


def local(problem, rounds, rate, period, *, batch=None, times=None, seed=0):
    """A worker function for K ranks that all work; each returns the run's History, one row a round.

    period: local steps a round; with 1 it is synchronous SGD. The rest as in `synchronous`. DiLoCo takes a
    few hundred steps a round, and an outer optimizer takes the mean change for a gradient (Douillard et al.
    2023).
    """
    rate, times = checked(problem, rate, batch, times, seed, rounds=rounds, period=period)

    def worker(comm):
        work = Work(comm, problem, comm.rank, comm.size, batch, times, seed)
        log = Log(problem.start)
        with may_diverge():
            for _ in range(rounds):
                theta = log.theta
                for _ in range(period):
                    theta = theta - rate * work.gradient(theta)
                log.update(
                    comm.all_reduce(work.weight * theta, op="mean"), comm.time(), gradients=period * comm.size
                )
        return log.history()

    return worker
