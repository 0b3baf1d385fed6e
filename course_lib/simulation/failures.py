"""What went wrong in a simulation, as a RankError or in words."""

from course_lib.errors import RankError
from course_lib.simulation.messages import ANY
from course_lib.simulation.task import Task
from course_lib.tracebacks import worker_traceback


def rank_error(rank, error):
    """What a worker raised, as a RankError."""
    if isinstance(error, SystemExit):
        return RankError(rank, "left", f"rank {rank} left without a result (exit code {error.code})")
    try:
        what = f"{type(error).__name__}: {error}"
    except Exception:  # of its __str__
        what = type(error).__name__
    return RankError(rank, "raised", f"rank {rank} raised {what}\n\n{worker_traceback(error)}")


def who_waits(stuck, workers):
    """One line a rank of a deadlock: who waits for whom."""
    lines = ["deadlock: nobody is left who could send"]
    for task in stuck:
        mailbox = task.waits_for
        while isinstance(mailbox, Task):
            mailbox = mailbox.waits_for
        call = mailbox.name or ("recv_any" if mailbox.wanted == ANY else "recv")
        line = f"rank {task.rank} waits in {call}"
        if mailbox.wanted != ANY:
            gone = ", which has returned" if workers[mailbox.wanted].done else ""
            line += f" from rank {mailbox.wanted}{gone}"
        lines.append(line)
    return "\n".join(lines)
