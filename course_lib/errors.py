"""The one error that a run of several ranks can end in."""

REASONS = ("raised", "killed", "left", "timeout", "deadlock", "mismatch")


class RankError(RuntimeError):
    """A rank ended a run; `.rank` is which, `.reason` one of REASONS.

    raised: its worker raised. killed: a signal ended it. left: it exited, or returned while others still
    needed it. timeout, deadlock: ranks wait for each other. mismatch: ranks disagree about a collective.
    """

    def __init__(self, rank: int, reason: str, text: str) -> None:
        super().__init__(text)
        self.rank = rank
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[int, str, str]]:
        return type(self), (self.rank, self.reason, str(self))
