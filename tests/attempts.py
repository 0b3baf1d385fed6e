"""Small attempts at the exercises, right and wrong, and tests of what the checkers say of them."""

import pytest


def untouched(*_):
    raise NotImplementedError


def left_empty(*_):
    return None


def an_ellipsis(*_):
    return ...


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


def accepts(check, *right):
    """A test: `check` accepts each of these attempts."""

    @pytest.mark.parametrize("attempt", right)
    def test(attempt):
        report = check(attempt)
        assert report.passed, report

    return test


def rejects(check, *wrong):
    """A test: `check` rejects the attempt of each pair (attempt, hint), and gives the hint."""

    @pytest.mark.parametrize(("attempt", "hint"), wrong)
    def test(attempt, hint):
        rejected(check(attempt), hint)

    return test


def refuses(check, shortcuts):
    """A test: `check` says no, in a sentence, to each of {what a learner in a hurry takes: attempt}."""

    @pytest.mark.parametrize("attempt", list(shortcuts.values()), ids=list(shortcuts))
    def test(attempt):
        report = check(attempt)
        rejected(report, "Not yet.")
        assert "could not be checked" not in repr(report)

    return test


def waits_for(*checks, stubs=(untouched, left_empty, an_ellipsis)):
    """A test: for each of `checks` a stub that nobody has touched is no failure."""

    @pytest.mark.parametrize("check", checks)
    @pytest.mark.parametrize("stub", stubs)
    def test(check, stub):
        report = check(stub)
        assert report.passed is None and "Not attempted yet" in repr(report)

    return test
