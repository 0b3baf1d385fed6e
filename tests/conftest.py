import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.widgets.page import script

# The notebooks' build and rules are scripts beside the sources, not part of the library.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks" / "source"))


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
