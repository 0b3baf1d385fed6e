"""Chapter 11: its experiments decide the same way each time; RUNS=20 runs the beliefs' cells 20 times."""

import os
import types

import pytest
from build import chapters, prepare

DECIDED = {"11.1": "c", "11.2": "b", "11.6": "d", "11.4": 32, "11.5": "b"}
RUNS = int(os.environ.get("RUNS", "1"))


class Verdict:
    """Stands in for a prediction, and keeps what came out."""

    found = {}

    def __init__(self, key, choices=None, unit=""):
        self.key = key

    def compare(self, outcome, computed=False):
        Verdict.found[self.key] = outcome


def cells():
    """The code of the five beliefs, as the chapter has it."""
    (chapter,) = chapters(["11"])
    for cell in prepare(chapter).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## Half-way"):
            return
        if cell.cell_type == "code":
            yield cell.source


def _apart(module):
    """From one network to another at the end, from one start and from own starts."""
    ends = [[value[own, 96].weights for value in module.trained.values[:2]] for own in (False, True)]
    return [module.distance(*each) for each in ends]


@pytest.mark.slow  # what decides is compared by make test, too, in the chapter's own outputs
@pytest.mark.parametrize("run", range(RUNS))
def test_the_experiments_decide_as_the_text_says(run, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.predict.predict", Verdict)
    monkeypatch.setattr(Verdict, "found", {})
    module = types.ModuleType("__main__")  # so that its functions travel to the ranks by value
    for source in cells():
        exec(compile(source, "chapter 11", "exec"), module.__dict__)
    assert Verdict.found == DECIDED
    told = capsys.readouterr().out
    assert "own starts: 15 of 15\none start: 0 of 15\n" in told
    assert "first steps: 4 4 4 last: 4 4 1\nsynchronous SGD, at most: 1\n" in told
    same, own = module.same_start, module.own_start
    assert min(each[0].mean for each in same.values()) > 0.8 > 0.6 > own[96][0].mean
    read = [module.digits_read(each) for each in (module.network, module.twin, module.middle)]
    assert read[0] == pytest.approx(read[1], abs=0.005) and read[2] < read[0] - 0.1
    (near, far), moved = _apart(module), module.at_end.moved
    assert near < moved < far
    assert module.variances[4] == pytest.approx(module.variances[1] / 4, rel=0.1)
