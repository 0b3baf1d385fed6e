"""Ranks are forked with this library loaded, which is fast; but an author's edits since then must count."""

import os
import sys
from pathlib import Path

PACKAGE = __name__.partition(".")[0]


def _files():
    """When each source file of the library was changed."""
    folder = Path(__file__).parents[1]
    return {
        path: os.stat(path).st_mtime_ns
        for parent, _, names in os.walk(folder)
        for path in (os.path.join(parent, name) for name in names if name.endswith(".py"))
    }


_loaded = _files()


def is_stale():
    """True if a file of the library has changed since it was loaded, here or before the fork."""
    return _files() != _loaded


def forget():
    """Forget the library's modules, so that the next import reads them anew."""
    for name in list(sys.modules):
        if name.partition(".")[0] == PACKAGE:
            del sys.modules[name]
