"""A folder for the fork server's socket: its path has room for 107 bytes, and TMPDIR may be longer."""

import multiprocessing
import os
import shutil
import tempfile
from contextlib import contextmanager
from multiprocessing import util
from typing import Any

LONGEST = 107  # bytes, of Linux
FOLDER, SOCKET = "/pymp-12345678", "/listener-12345678"  # as multiprocessing calls them
SHORT = "/tmp"


@contextmanager
def room_for_a_socket():
    """While this lasts, multiprocessing makes its sockets in a folder whose path is short enough.

    Raises OSError where TMPDIR is too long and /tmp cannot be written to.
    """
    process: Any = multiprocessing.current_process()
    config = process._config  # where util.get_temp_dir keeps its folder
    before = config.get("tempdir")
    path = before + SOCKET if before else tempfile.gettempdir() + FOLDER + SOCKET
    if len(os.fsencode(path)) <= LONGEST:
        yield
        return
    config["tempdir"] = _short_folder(path)
    try:
        yield
    finally:
        config["tempdir"] = before


def _short_folder(path):
    try:
        folder = tempfile.mkdtemp(prefix="pymp-", dir=SHORT)
    except OSError as error:
        raise OSError(
            f"TMPDIR is too long: a socket in it would be called {path}, and {LONGEST} bytes are allowed; "
            f"nor can {SHORT} be used: {error}. Set TMPDIR to a shorter path."
        ) from None
    util.Finalize(None, shutil.rmtree, (folder, True), exitpriority=-100)  # when the kernel ends
    return folder
