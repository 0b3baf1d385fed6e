"""Small attempts at the exercises, right and wrong, and what a test says of a checker's report."""


def untouched(*_):
    raise NotImplementedError


def left_empty(*_):
    return None


def server_mean(comm, array):
    """Rank 0 adds all and answers: right where a star is allowed."""
    if comm.rank > 0:
        comm.send(array, to=0)
        return comm.recv(source=0)
    mean = (array + sum(comm.recv(source) for source in range(1, comm.size))) / comm.size
    for rank in range(1, comm.size):
        comm.send(mean, to=rank)
    return mean


def in_place(attempt):
    """`attempt` written over the worker's own array."""

    def changed(comm, array):
        array[:] = attempt(comm, array)
        return array

    return changed


def rejected(report, hint):
    """The report says no, with one of the hints that `|` parts, and without a line of the library's code."""
    assert report.passed is False, report
    assert any(part in repr(report) for part in hint.split("|")), report
    assert "course_lib" not in repr(report)
