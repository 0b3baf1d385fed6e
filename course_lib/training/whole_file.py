"""A new file that is there whole or not at all, whenever its writer is killed."""

import os
from pathlib import Path


def write_whole(path, write):
    """Make a file by write(file), under another name first, then renamed; returns its path.

    Raises FileExistsError if there is a file of that name, whatever it is: nothing is ever replaced.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise FileExistsError(f"{path} exists; no file is ever replaced")
    # In the same folder, for a rename is atomic only within one file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # on the disk, before the name says that it is there
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return path


def _sync_folder(folder):
    """The new name, too, on the disk; Windows knows no such call."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
