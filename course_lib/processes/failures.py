"""Why a run failed, put into words: the cause first, what followed from it folded."""

import signal
from dataclasses import dataclass

from course_lib.errors import RankError
from course_lib.processes import status
from course_lib.processes.folder import read_output
from course_lib.tracebacks import worker_stacks

TAIL = 2000  # characters of a dead rank's last output to show
SERVER_GONE = 255  # multiprocessing's exit code of a process whose fork server has died


@dataclass(frozen=True)
class Failure:
    """Why a rank did not finish. gone: its process ended, which is never a consequence of another's error."""

    when: float
    rank: int
    reason: str
    headline: str
    details: str = ""
    gone: bool = False


def process_ended(when, rank, exit_code, files):
    """A rank's process ended without a word: by a signal, or by exiting."""
    printed = read_output(files.output)[-TAIL:].strip()
    details = f"its last output:\n{printed}" if printed else ""
    if exit_code is not None and exit_code < 0:
        headline = f"rank {rank} was killed by {signal.Signals(-exit_code).name} (signal {-exit_code})"
        return Failure(when, rank, "killed", headline, details, gone=True)
    headline = f"rank {rank} left without a result (exit code {exit_code})"
    if exit_code == SERVER_GONE:
        headline += "; perhaps the fork server, which starts the ranks, was killed"
    return Failure(when, rank, "left", headline, details, gone=True)


def waits_in_vain(when, rank, doing, gone):
    """Rank `gone` has returned, but `rank` still counts on it."""
    headline = f"rank {gone} returned, but rank {rank} {doing}, which never comes"
    return Failure(when, gone, "left", headline)


def timed_out(when, what, members, sources):
    """Nobody knows the cause, so say of every rank where it is and whom it waits for."""
    stuck = [member for member in members if member.result is None]
    doing = {member.rank: status.read(member.files.status) for member in stuck}
    states = [f"rank {member.rank} {doing.get(member.rank, 'has returned')}" for member in members]
    stacks = [
        f"stacks of rank {member.rank}:\n{worker_stacks(read_output(member.files.stacks), sources)}"
        for member in stuck
    ]
    # The one that the others wait for is more likely the culprit than those that wait.
    busy = [rank for rank, now in doing.items() if now.doing in ("", status.COMPUTING)]
    culprit = (busy or list(doing))[0]
    return Failure(when, culprit, "timeout", "\n".join([what, *states]), "\n\n".join(stacks))


def as_error(failures):
    """The RankError that tells of the cause, and of the other failures in a line."""
    first, *others = sorted(failures, key=lambda failure: (not failure.gone, failure.when))
    parts = [first.headline, first.details]
    also = sorted({failure.rank for failure in others} - {first.rank})
    if also:
        parts.append(f"In consequence, or soon after, failed too: rank {', '.join(map(str, also))}.")
    return RankError(first.rank, first.reason, "\n\n".join(part for part in parts if part))
