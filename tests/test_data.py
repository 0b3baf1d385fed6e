"""Where the course's data are, and what is said when they are not there."""

import numpy as np
import pytest

from course_lib import data
from course_lib.digits import load_digits


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


def test_the_digits():
    training, held_out = load_digits()
    assert len(training) == 1536 and len(held_out) == 261
    assert training.images.shape == (1536, 64) and training.images.dtype == float
    assert 0 <= training.images.min() and training.images.max() == 1
    counts = np.bincount(training.labels) + np.bincount(held_out.labels)
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # UCI's own table
    assert np.bincount(held_out.labels).min() >= 15  # no class is missing from the held-out part
    with pytest.raises(ValueError, match="read-only"):
        training.images[0] = 0
