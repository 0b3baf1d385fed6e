"""The folder of one run: the task, the ranks' output, stacks, status and the store by which they meet."""

import os
import pickle
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from course_lib.processes import status

PREFIX = "course_lib-run-"
OUTPUT_LIMIT = 1 << 20  # bytes of output kept of each rank


class RankFiles:
    """Where one rank's files are."""

    def __init__(self, folder, rank):
        self.output = Path(folder, f"output-{rank}")
        self.stacks = Path(folder, f"stacks-{rank}")
        self.status = Path(folder, f"status-{rank}")


@contextmanager
def run_folder(task):
    """A new folder with `task` in it, gone on leaving; those that a killed kernel left are removed first."""
    _sweep()
    folder = None
    try:
        try:
            folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
            _fill(folder, task)
        except OSError as error:
            raise OSError(
                f"launch needs a folder for its run, but {tempfile.gettempdir()} is not usable ({error}); "
                "free some space or set TMPDIR to a folder that can be written"
            ) from error
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def read_task(folder):
    """The task that the launcher left here."""
    return pickle.loads(Path(folder, "task").read_bytes())


def read_output(path):
    """What a rank printed, cut at OUTPUT_LIMIT."""
    try:
        with open(path, "rb") as file:
            raw = file.read(OUTPUT_LIMIT + 1)
    except OSError:
        return ""
    text = raw[:OUTPUT_LIMIT].decode("utf-8", errors="replace")
    return text if len(raw) <= OUTPUT_LIMIT else text + f"\n… cut after {OUTPUT_LIMIT:,} bytes\n"


def bound_output(path):
    """Cut a flood short while the rank still writes, so that it cannot fill the disk."""
    try:
        if os.path.getsize(path) > 4 * OUTPUT_LIMIT:
            os.truncate(path, OUTPUT_LIMIT + 1)
    except OSError:
        pass


def _fill(folder, task):
    Path(folder, "task").write_bytes(pickle.dumps(task))
    for rank in range(task.size):
        files = RankFiles(folder, rank)
        status.create(files.status)
        files.output.touch()
        files.stacks.touch()


def _sweep():
    """Remove folders of kernels that are no more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True
