"""Where the course's data are, and what is said when they are not there."""

import pytest

from course_lib import data


def test_path_and_recording():
    assert data.path("alice.txt").stat().st_size > 100_000
    assert {"machine", "date"} <= data.recorded("network_lab").keys()


def test_a_misspelt_name_lists_what_there_is():
    with pytest.raises(FileNotFoundError, match=r"there is no data/alise.txt; there is: .*alice.txt"):
        data.path("alise.txt")


def test_outside_the_repository(monkeypatch, tmp_path):
    monkeypatch.setattr(data, "FOLDER", tmp_path / "data")
    with pytest.raises(FileNotFoundError, match="needs the course's folder data/"):
        data.path("alice.txt")
