"""A new file that is there whole or not at all, whenever its writer is killed."""

import os
from pathlib import Path


def write_whole(path, write):
    """Make a file by write(file), under another name first, then under its own; returns its path.

    Raises FileExistsError if there is a file of that name, whatever it is: nothing is ever replaced.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise _exists(path)
    # In the same folder: one file system, in which a name is given in one step.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # on the disk, before the name says that it is there
        _name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return path


def _name(temporary, path):
    """Give the file its name, unless another job has made one of that name meanwhile."""
    try:
        os.link(temporary, path)  # a rename would replace it
    except FileExistsError:
        raise _exists(path) from None
    except OSError:  # a file system without links
        os.replace(temporary, path)


def _exists(path):
    return FileExistsError(f"{path} exists; no file is ever replaced")


def _sync_folder(folder):
    """The new name, too, on the disk; Windows knows no such call."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
