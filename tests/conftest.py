import sys
from pathlib import Path

import pytest

# The notebooks' build and rules are scripts beside the sources, not part of the library.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks" / "source"))


def pytest_collection_modifyitems(items):
    """What pytest-xdist keeps together (--dist loadgroup): a file, unless its tests say otherwise."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.name))
