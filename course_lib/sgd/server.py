"""A parameter server on rank 0, and workers that fetch the parameters, compute, and send their gradient.

All three ways differ only in when the server lets a worker go on. Rank 0 only serves: K workers need K + 1
ranks. Rank 0 returns the run's History, the others None.
"""

import math

import numpy as np

from course_lib.arguments import whole_number
from course_lib.sgd.history import Log, may_diverge
from course_lib.sgd.work import Work, checked

SERVER = 0
STOP = np.empty(0)  # in the place of parameters: there is nothing more to do


def asynchronous(problem, updates, rate, *, batch=None, times=None, seed=0):
    """Every gradient is applied when it arrives, and its worker goes on at once with the newest parameters.

    rate: of one gradient; K asynchronous updates at `rate` / K move about as far as one synchronous at
    `rate`. The rest as in `synchronous`.
    """
    return stale_synchronous(problem, updates, rate, math.inf, batch=batch, times=times, seed=seed)


def stale_synchronous(problem, updates, rate, slack, *, batch=None, times=None, seed=0):
    """Asynchronous, but nobody begins a step while `slack` steps ahead of the slowest (Ho et al. 2013).

    slack: in steps of one worker; 0 is lockstep, infinity is asynchronous. The staleness of an update is at
    most (K - 1) (2 slack + 1) updates: meanwhile each other worker takes at most 2 slack + 1 steps.
    """
    rate, times = checked(problem, rate, batch, times, seed, updates=updates)
    if slack != math.inf:
        whole_number("slack", slack, 0)

    def serve(comm):
        log, read, waiting = Log(problem.start), {}, []
        steps = dict.fromkeys(_workers(comm), 0)
        _release(comm, steps, log, read)
        while log.version < updates:
            source, gradient = comm.recv_any()
            theta = log.theta - rate * gradient
            log.update(theta, comm.time(), source, log.version - read[source])
            steps[source] += 1
            waiting.append(source)
            slowest = min(steps.values())
            ready = [worker for worker in waiting if steps[worker] <= slowest + slack]
            waiting = [worker for worker in waiting if worker not in ready]
            _release(comm, ready, log, read)
        return _finish(comm, log)

    return _server_and_workers(serve, problem, batch, times, seed)


def backup(problem, steps, rate, extra, *, batch=None, times=None, seed=0):
    """Synchronous with `extra` workers more than needed: the first K gradients of a step make its update.

    K = workers - extra. A gradient of an older step is dropped when it arrives, and its worker goes on with
    the newest parameters (Chen et al. 2016).
    """
    rate, times = checked(problem, rate, batch, times, seed, steps=steps)
    whole_number("extra", extra, 0)

    def serve(comm):
        workers = _workers(comm)
        needed = len(workers) - whole_number("extra", extra, 0, len(workers) - 1)
        log, read = Log(problem.start), {}
        _release(comm, workers, log, read)
        while log.version < steps:
            counted = []
            while len(counted) < needed:
                source, gradient = comm.recv_any()
                if read[source] == log.version:
                    counted.append((source, gradient))
                else:
                    log.late.append((comm.time(), source))
                    _release(comm, [source], log, read)
            mean = sum(gradient for _, gradient in counted) / needed
            log.update(log.theta - rate * mean, comm.time(), gradients=needed)
            _release(comm, [source for source, _ in counted], log, read)
        return _finish(comm, log)

    return _server_and_workers(serve, problem, batch, times, seed)


def _server_and_workers(serve, problem, batch, times, seed):
    def worker(comm):
        if comm.size < 2:
            raise ValueError("a parameter server and its workers need at least 2 ranks; got 1")
        with may_diverge():
            if comm.rank == SERVER:
                return serve(comm)
            work = Work(comm, problem, comm.rank - 1, comm.size - 1, batch, times, seed)
            while len(theta := comm.recv(SERVER)):
                comm.send(work.gradient(theta), SERVER)

    return worker


def _workers(comm):
    return [rank for rank in range(comm.size) if rank != SERVER]


def _release(comm, workers, log, read):
    """Send the newest parameters, and keep in mind which they were."""
    for worker in workers:
        read[worker] = log.version
        comm.send(log.theta, worker)


def _finish(comm, log):
    for worker in _workers(comm):
        comm.send(STOP, worker)
    return log.history()
