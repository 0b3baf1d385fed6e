"""Communication beside computing: what happened in a backward pass whose buckets are reduced meanwhile.

The same records from both worlds: `buckets` simulates such a pass, `training.overlap` traces DDP's.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Bucket:
    """One bucket on one rank: nbytes, and three moments in seconds.

    ready: its gradients were there. start: its all-reduce began, on the last rank to begin it; until then
    it was queued or waited for that rank. stop: it had ended here.
    """

    nbytes: int
    ready: float
    start: float
    stop: float


@dataclass(frozen=True)
class Backward:
    """One rank's backward pass; all times in seconds since the first rank began.

    begin: when this one did. computed: when its last gradient was there. stop: when all sums were, and the
    optimiser could step. buckets: in the order in which they became ready.
    """

    world: str
    rank: int
    begin: float
    computed: float
    stop: float
    buckets: tuple

    @property
    def waited(self):
        """Seconds at the end in which nothing was left to compute."""
        return self.stop - self.computed

    @property
    def in_flight(self):
        """Seconds in which at least one all-reduce was in flight."""
        return _covered(self.buckets, self.stop)

    @property
    def hidden(self):
        """Seconds of `in_flight` in which this rank still computed."""
        return _covered(self.buckets, self.computed)


def share_hidden(backwards):
    """Share of the ranks' time in flight that was hidden behind computing; 1 if nothing was in flight."""
    in_flight = sum(each.in_flight for each in backwards)
    return sum(each.hidden for each in backwards) / in_flight if in_flight else 1.0


def _covered(buckets, until):
    """Length of the union of the buckets' times in flight, up to `until`."""
    total, end = 0.0, 0.0
    for bucket in sorted(buckets, key=lambda bucket: bucket.start):
        total += max(0.0, min(bucket.stop, until) - max(bucket.start, end))
        end = max(end, bucket.stop)
    return total


def same_start(backwards):
    """The Backwards of all ranks, a bucket's start made that of the last rank: none goes on before."""
    columns = zip(*(each.buckets for each in backwards), strict=True)
    last = [max(bucket.start for bucket in column) for column in columns]
    return tuple(replace(each, buckets=_begun(each.buckets, last)) for each in backwards)


def _begun(buckets, starts):
    pairs = zip(buckets, starts, strict=True)
    return tuple(replace(bucket, start=min(start, bucket.stop)) for bucket, start in pairs)


@dataclass(frozen=True)
class Overlap:
    """Times of a backward pass without communication, its all-reduces with nothing beside them, and both.

    In seconds, or in the unit that its maker names.
    """

    computing: float
    reducing: float
    together: float

    @property
    def saved(self):
        """Less than one after the other; what each slows the other down by is paid already."""
        return self.computing + self.reducing - self.together

    @property
    def added(self):
        """What the all-reduces add to the backward pass."""
        return self.together - self.computing


@dataclass(frozen=True)
class SweepRow:
    """What one bucket size did: the number of buckets, the seconds of a step, the share hidden."""

    bucket_bytes: float
    buckets: int
    seconds: float
    hidden: float
