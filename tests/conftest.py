import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.widgets.page import script

# The notebooks' build and rules are scripts beside the sources, not part of the library.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks" / "source"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With --dist loadfile, one process runs all that needs the browser or the published course."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid):
            together = nodeid.startswith(("tests/browser/", "tests/test_publish.py"))
            return "tests/browser" if together else super()._split_scope(nodeid)

    return Files(config, log) if config.option.dist == "loadfile" else None


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """The folder with the course's site/ and slides/, the two hours among them."""
    import publish  # here, for the path to it is set above

    folder = tmp_path_factory.mktemp("published")
    publish.html(folder / "site")
    publish.slides(folder / "slides", lecture="core")
    return folder


@pytest.fixture(scope="session")
def node():
    """ask(module, expression): what the expression is in JavaScript behind the widget's module, as JSON."""
    path = shutil.which("node")
    if not path:
        pytest.skip("Node.js is not installed; the browser tests compare the same numbers")

    def ask(module, expression):
        code = f"{script(module)}\nconsole.log(JSON.stringify({expression}))"
        done = subprocess.run([path, "--input-type=module", "-"], input=code, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return json.loads(done.stdout)

    return ask
