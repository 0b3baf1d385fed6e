"""Who is ready when in a synchronous step, who updates when, and where the time goes."""

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import bar_look, styled
from course_lib.pictures.wording import TIMES, seconds_text, unit_of

# The parts of a step, each with the phase whose look it has.
PARTS = {"work": "compute", "others": "wait", "chunks": "collective", "update": "update"}


def parts_of_step(story, step=0):
    """Seconds of a rank's step, a dict a rank: work, waiting for others, for chunks, update.

    work: until its last gradient is ready. others: until the last rank's is. chunks: until it has the mean.
    """
    gate = story.gates[step][0]
    found = []
    for diary in story.diaries:
        mine = [phase for phase in diary.phases if phase.step == step]
        ready, update = diary.ready[step][-1], mine[-1]
        found.append(
            {
                "work": ready - mine[0].start,
                "others": gate - ready,
                "chunks": update.start - gate,
                "update": update.stop - update.start,
            }
        )
    return found


def barrier(stories):
    """The first step of each of {name: Story}, a row a worker; dashed: when the last gradient was ready."""
    factor, unit = unit_of(max(story.diaries[0].phases[-1].stop for story in stories.values()), TIMES)
    counts = [story.setting.ranks for story in stories.values()]
    with styled():
        figure, rows = new_figure(
            len(stories), 1, height=1.2 + 0.42 * sum(counts), sharex=True, squeeze=False, height_ratios=counts
        )
        for axes, (name, story) in zip(rows[:, 0], stories.items(), strict=True):
            parts = parts_of_step(story)
            _bars(axes, parts, factor)
            axes.axvline(story.gates[0][0] / factor, color="#222222", linestyle="--", label="_gate")
            ranks = range(story.setting.ranks)
            axes.set_yticks(ranks, [label("ch1_student", rank=rank) for rank in ranks])
            axes.set(ylim=(len(ranks) - 0.4, -0.6))
            axes.grid(visible=False, axis="y")
            longest = max(part["others"] for part in parts)
            key = "ch1_barrier_title" if longest > 1e-9 else "ch1_barrier_even"
            words = {"gate": seconds_text(story.gates[0][0]), "wait": seconds_text(longest)}
            axes.set_title(label(key, name=name, **words))
        rows[-1, 0].set_xlabel(label("ch1_step_axis", unit=unit))
        handles, names = rows[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=9)
        listed = "; ".join(
            label("ch1_barrier_one", name=name, gate=seconds_text(story.gates[0][0]), **_range(story))
            for name, story in stories.items()
        )
        return Picture(figure, label("ch1_barrier_alt", listed=listed))


def _range(story):
    starts = [diary.phases[-1].start for diary in _first_steps(story)]
    return {"first": seconds_text(min(starts)), "last": seconds_text(max(starts))}


def _first_steps(story):
    return [
        diary._replace(phases=tuple(phase for phase in diary.phases if phase.step == 0))
        for diary in story.diaries
    ]


def step_shares(stories):
    """Bars: the mean worker's first step in each of {name: Story}, in its parts."""
    means = {}
    for name, story in stories.items():
        parts = parts_of_step(story)
        means[name] = {key: sum(part[key] for part in parts) / len(parts) for key in PARTS}
    totals = {name: sum(parts.values()) for name, parts in means.items()}
    factor, unit = unit_of(max(totals.values()), TIMES)
    with styled():
        figure, axes = new_figure(height=1.6 + 0.42 * len(stories))
        _bars(axes, list(means.values()), factor)
        axes.set_yticks(range(len(means)), list(means))
        axes.set(ylim=(len(means) - 0.4, -0.6), xlabel=label("ch1_mean_axis", unit=unit))
        axes.grid(visible=False, axis="y")
        name = max(means, key=lambda name: means[name]["chunks"] / totals[name])
        share = means[name]["chunks"] / totals[name]
        axes.set_title(label("ch1_shares_title", name=name, share=share))
        figure.legend(loc="outside lower center", ncols=4, fontsize=9)
        listed = "; ".join(
            f"{name}: " + ", ".join(f"{label(f'ch1_part_{key}')} {seconds_text(parts[key])}" for key in PARTS)
            for name, parts in means.items()
        )
        return Picture(figure, label("ch1_shares_alt", listed=listed))


def _bars(axes, rows, factor):
    """A row of bars for each dict of parts, one after another."""
    left = [0.0] * len(rows)
    for key, phase in PARTS.items():
        widths = [row[key] / factor for row in rows]
        axes.barh(
            range(len(rows)),
            widths,
            height=0.62,
            left=left,
            linewidth=0.5,
            label=label(f"ch1_part_{key}"),
            **bar_look(phase),
        )
        left = [place + width for place, width in zip(left, widths, strict=True)]
