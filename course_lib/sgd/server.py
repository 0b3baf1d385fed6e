"""A parameter server on rank 0, and workers that fetch the parameters, compute, and send their gradient.

The first three ways differ only in when the server lets a worker go on. Rank 0 only serves: K workers need
K + 1 ranks. (`parameter_server_all_reduce` is another kind: its rank 0 works, too.) Rank 0 returns the run's
History, the others None. `sharded` has several servers.
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
    """Asynchronous, but nobody begins a step with a lead of more than `slack` steps (Ho et al. 2013).

    lead: finished steps more than the slowest has; so it is at most slack + 1 at the end of a step. slack: 0
    is lockstep, infinity is asynchronous. The staleness of an update is at most (K - 1) (2 slack + 1): its
    worker begins at most `slack` steps ahead of another, which at its end is at most slack + 1 ahead.
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


def sharded(problem, steps, rate, servers, *, batch=None, times=None, seed=0):
    """Asynchronous, with the parameters in parts: each of the first `servers` ranks keeps one, the rest work.

    A worker fetches all parts, computes, and sends each server its part of the gradient; each begins with
    another server. steps: of each worker. Server s returns the History of its part, the workers None. The
    rest as in `asynchronous`.
    """
    rate, times = checked(problem, rate, batch, times, seed, steps=steps, servers=servers)
    parts = np.array_split(np.arange(len(problem.start)), servers)

    def serve(comm):
        log, read, left = Log(problem.start[parts[comm.rank]]), {}, {}
        for worker in range(servers, comm.size):
            left[worker] = steps
            _release(comm, [worker], log, read)
        while any(left.values()):
            source, gradient = comm.recv_any()
            log.update(log.theta - rate * gradient, comm.time(), source, log.version - read[source])
            left[source] -= 1
            if left[source]:
                _release(comm, [source], log, read)
        return log.history()

    def worker(comm):
        workers = comm.size - servers
        if workers < 1:
            raise ValueError(f"{servers} servers and their workers need more ranks than {comm.size}")
        with may_diverge():
            if comm.rank < servers:
                return serve(comm)
            work = Work(comm, problem, comm.rank - servers, workers, batch, times, seed)
            order = np.roll(range(servers), -(comm.rank % servers)).tolist()
            theta = np.empty(len(problem.start))
            for _ in range(steps):
                for server in order:
                    theta[parts[server]] = comm.recv(server)
                gradient = work.gradient(theta)
                for server in order:
                    comm.send(gradient[parts[server]], server)

    return worker


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
