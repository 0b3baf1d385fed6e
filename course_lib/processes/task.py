"""What the launcher tells its ranks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """All that a rank is told but its number; picklable."""

    size: int
    worker: bytes  # by cloudpickle
    environment: dict
    sources: dict  # the cells' text, for tracebacks
    threads: int
    backend: str | None
    timeout: float  # seconds; the launcher's limit, the process group's is longer
    debug: bool
