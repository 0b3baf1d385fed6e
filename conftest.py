"""Tests and nbval: the learner's own progress is left alone, and no kernel loses a port to somebody else."""

import os
import sys
import tempfile
from uuid import uuid4

import nbval.kernel
from jupyter_client.manager import KernelManager

os.environ["COURSE_PROGRESS"] = "off"

# A kernel's ports are chosen before it starts, and it dies if somebody takes one meanwhile, as launches may:
# https://github.com/jupyter/jupyter_client/issues/487. Sockets in a folder of ours cannot be taken.
if sys.platform.startswith("linux"):
    SOCKETS = tempfile.TemporaryDirectory(prefix="nbval-")

    def kernel_manager(**options):
        path = os.path.join(SOCKETS.name, f"{uuid4()}.json")
        return KernelManager(transport="ipc", connection_file=path, **options)

    nbval.kernel.KernelManager = kernel_manager
