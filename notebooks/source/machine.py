"""What a recording says of the machine that measured; loads nothing, for environments without Jupyter too."""

import os
import platform
from importlib.metadata import version


def this_machine():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cores": cores,
        "architecture": platform.machine(),
        "os": platform.system(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "numpy": version("numpy"),
    }
