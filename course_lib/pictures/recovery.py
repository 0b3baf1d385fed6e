"""A job that loses a rank and recovers, beside the same job undisturbed: steps done against time."""

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import PHASE_COLOURS, THEORY, rank_colour, styled
from course_lib.pictures.wording import seconds_text

MARKERS, SIZES = "os^v", (7, 4, 4, 3)  # the lines of the ranks lie upon each other: the markers tell
KILLED = rank_colour(5)


def recovery_timeline(recovery):
    """Steps done against seconds since the first rank of each job was ready: a line a rank and attempt."""
    job = recovery.disturbed
    (kill,) = job.of("kill")
    resumed = next(event for event in job.of("start", kill.rank) if event.seconds > kill.seconds)
    words = {
        "rank": kill.rank,
        "kill": kill.step,
        "resumed": resumed.step,
        "lost": seconds_text(job.lost),
        "same": label("recovery_same" if recovery.same else "recovery_differ"),
    }
    with styled():
        figure, axes = new_figure(height=4.0)
        _draw_rank(axes, recovery.undisturbed, 0, label("recovery_undisturbed"), color=THEORY)
        for rank in range(len(job.digests)):
            style = {"marker": MARKERS[rank % 4], "markersize": SIZES[rank % 4], "color": rank_colour(rank)}
            _draw_rank(axes, job, rank, label("rank", rank=rank), **style)
        if job.steps_twice:
            low, high = job.steps_twice[0], job.steps_twice[-1] + 1
            axes.axhspan(low, high, color=PHASE_COLOURS["wait"], alpha=0.6, label=label("recovery_twice"))
        times = [event.seconds - _first(job) for event in (kill, resumed)]
        gap = label("recovery_gap")
        axes.plot(times, [kill.step, resumed.step], ":", color=KILLED, label=gap)
        axes.plot(times[:1], [kill.step], "X", markersize=10, color=KILLED, label=label("recovery_kill"))
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel=label("recovery_axis"), ylabel=label("recovery_steps"))
        axes.set_title(label("recovery_title", **words))
        axes.legend(loc="upper center")
        return Picture(figure, label("recovery_alt", **words, twice=len(job.steps_twice)))


def _draw_rank(axes, job, rank, name, **style):
    """A line for each attempt: at its start and after each step, how many steps are done."""
    for attempt in range(job.restarts + 1):
        mine = [each for each in job.events if (each.rank, each.attempt) == (rank, attempt)]
        seconds = [each.seconds - _first(job) for each in mine]
        steps = [each.step + (each.kind == "step") for each in mine]
        axes.plot(seconds, steps, label=f"_{name} {attempt}" if attempt else name, **style)


def _first(job):
    return job.events[0].seconds
