"""What a frame shows: the state of a Story at a time, computed from its messages and diaries alone."""

from typing import NamedTuple

from course_lib.step_story.model import LAYERS


class Doing(NamedTuple):
    """kind: a Phase's, "start" before the first, "done". part: piece or layer. share: of it over, 0 to 1."""

    kind: str
    step: int
    part: int
    share: float


class Link(NamedTuple):
    """One link of the ring. arrived: bytes of whole messages. on_way: gone bytes of those under way."""

    arrived: int
    on_way: float


class Desk(NamedTuple):
    """pieces: samples that lie there in this step; coming: the one on its way, or -1."""

    pieces: tuple
    coming: int


class State(NamedTuple):
    """All that a frame shows. One entry a rank, but for `flying`, (number in story.chunks, share of the way),
    and `losses`, of the start and of each step that all ranks have ended.

    links[rank]: from rank to its right neighbour. buckets[rank][bucket], of its step: chunks received, or -1
    before its gradient is there. late: whom a waiting rank waits for; nobody once all are in the ring.
    """

    time: float
    doing: tuple
    late: tuple
    links: tuple
    flying: tuple
    desks: tuple
    buckets: tuple
    fingerprints: tuple
    losses: tuple


def state(story, time):
    """The State of `story` at `time` (seconds); what begins or ends at `time` has begun or ended."""
    ranks = range(story.setting.ranks)
    doing = tuple(_doing(story.diaries[rank].phases, time) for rank in ranks)
    flying, arrived, on_way, received = _traffic(story, time)
    buckets = tuple(_buckets(story, rank, doing[rank].step, received, time) for rank in ranks)
    updates = [_updates(diary.phases, time) for diary in story.diaries]
    return State(
        time,
        doing,
        tuple(_late(story, doing[rank], buckets[rank], time) for rank in ranks),
        tuple(Link(arrived[rank], on_way[rank]) for rank in ranks),
        flying,
        tuple(_desk(story.diaries[rank], doing[rank]) for rank in ranks),
        buckets,
        tuple(diary.fingerprints[done] for diary, done in zip(story.diaries, updates, strict=True)),
        story.losses[: min(updates) + 1],
    )


def _doing(phases, time):
    """The last phase that has begun: a moment between two phases counts to the one before."""
    now = next((phase for phase in reversed(phases) if phase.start <= time), None)
    if now is None:
        return Doing("start", 0, 0, 0.0)
    if now is phases[-1] and time >= now.stop:
        return Doing("done", now.step, 0, 1.0)
    lasts = now.stop - now.start
    share = (time - now.start) / lasts if lasts > 0 else 1.0
    return Doing(now.kind, now.step, now.part, min(1.0, max(0.0, share)))


def _traffic(story, time):
    flying, received = [], {}
    arrived, on_way = [0] * story.setting.ranks, [0.0] * story.setting.ranks
    for number, chunk in enumerate(story.chunks):
        if chunk.start > time:
            break  # they are in order of start
        if time >= chunk.stop:
            arrived[chunk.source] += chunk.nbytes
            place = chunk.target, chunk.step, chunk.bucket
            received[place] = received.get(place, 0) + 1
        else:
            share = (time - chunk.start) / (chunk.stop - chunk.start)
            flying.append((number, share))
            on_way[chunk.source] += share * chunk.nbytes
    return tuple(flying), arrived, on_way, received


def _buckets(story, rank, step, received, time):
    ready = story.diaries[rank].ready[step]
    return tuple(
        received.get((rank, step, bucket), 0) if ready[bucket] <= time else -1 for bucket in range(LAYERS)
    )


def _late(story, doing, buckets, time):
    """The ranks whose gradient is not there, of the first bucket that a waiting rank lacks."""
    if doing.kind != "wait":
        return ()
    whole = 2 * (story.setting.ranks - 1)
    lacking = next((bucket for bucket, received in enumerate(buckets) if received < whole), None)
    if lacking is None:
        return ()
    return tuple(rank for rank, diary in enumerate(story.diaries) if diary.ready[doing.step][lacking] > time)


def _desk(diary, doing):
    pieces = diary.samples[doing.step]
    if doing.kind == "start":
        return Desk((), -1)
    if doing.kind != "load":
        return Desk(pieces, -1)
    if doing.share == 1:
        return Desk(pieces[: doing.part + 1], -1)
    return Desk(pieces[: doing.part], pieces[doing.part])


def _updates(phases, time):
    return sum(phase.kind == "update" and phase.stop <= time for phase in phases)
