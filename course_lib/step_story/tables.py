"""A Story as plain tables for the browser, and the moments at which something begins or ends."""

from course_lib.digits import load_digits

MOST_MOMENTS = 500
SHOW = 9.0  # seconds that a step takes at speed 1
NEAR = {"simulated": 1e-9, "real": 1e-3}  # moments closer than this share of the run are shown as one


def moments(story):
    """Times in order, from the first beginning to the end; the latest of those that are near each other."""
    seconds, first = story.run.seconds, min(diary.phases[0].start for diary in story.diaries)
    near = max(NEAR[story.run.world] * seconds, 0.0)
    kept = []
    for time in sorted({first, *(time for time in _edges(story) if time > first), seconds}):
        if len(kept) > 1 and time - kept[-1] <= near:
            kept[-1] = time
        else:
            kept.append(time)
    if len(kept) <= MOST_MOMENTS:
        return tuple(kept)
    step = (len(kept) - 1) / (MOST_MOMENTS - 1)
    return tuple(kept[round(number * step)] for number in range(MOST_MOMENTS))


def _edges(story):
    for diary in story.diaries:
        for phase in diary.phases:
            yield from (phase.start, phase.stop)
        yield from (time for step in diary.ready for time in step)
    for chunk in story.chunks:
        yield from (chunk.start, chunk.stop)


def pace(story, times):
    """Seconds of the show at each of `times`: proportional; of a real run half by events, which are quick."""
    show, last = SHOW * story.setting.steps, max(1, len(times) - 1)
    by_event = 0.5 if story.run.world == "real" else 0.0
    span = (times[-1] - times[0]) or 1.0
    return tuple(
        show * ((1 - by_event) * (time - times[0]) / span + by_event * number / last)
        for number, time in enumerate(times)
    )


def tables(story):
    """All that state() needs, and what is drawn beside: JSON's types only."""
    setting, training = story.setting, load_digits()[0]
    used = [sample for diary in story.diaries for step in diary.samples for sample in step]
    return {
        "world": story.run.world,
        "ranks": setting.ranks,
        "steps": setting.steps,
        "seconds": story.run.seconds,
        "bucketBytes": list(story.bucket_bytes),
        "phases": [[list(phase) for phase in diary.phases] for diary in story.diaries],
        "samples": [[list(step) for step in diary.samples] for diary in story.diaries],
        "ready": [[list(step) for step in diary.ready] for diary in story.diaries],
        "reduced": story.reduced,
        "fingerprints": [list(diary.fingerprints) for diary in story.diaries],
        "chunks": [list(chunk) for chunk in story.chunks],
        "losses": list(story.losses),
        "gates": [list(gate) for gate in story.gates],
        "shards": [[part.start, part.stop] for part in story.shards],
        "images": {str(sample): _as_hex(training.images[sample]) for sample in used},
    }


def _as_hex(image):
    """64 pixels as hexadecimal digits, from 0, paper, to f, ink."""
    return "".join(f"{min(15, round(16 * pixel)):x}" for pixel in image.tolist())
