"""Profiles of training steps: what a rank did when, a panel for each profile."""

from course_lib.labels import label
from course_lib.pictures.overlap import sub_rows
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import bar_look, styled
from course_lib.pictures.wording import number_text
from course_lib.training.loading import REDUCE

LOOKS = {  # each with the phase whose look it has
    "load": "wait",
    "forward": "forward",
    "backward": "backward",
    "update": "update",
    REDUCE: "collective",
}
HEIGHT = 0.72
MS = 1e-3


def step_profiles(profiles):
    """A panel a Profile: the rank's phases in one lane, in another its all-reduces, none over another."""
    end = max(profile.seconds for profile in profiles) / MS
    words = [
        label(
            "ch8_profile_alt_one",
            readers=_readers(profile),
            steps=profile.steps,
            ms=number_text(profile.seconds / MS),
            load=profile.share("load"),
            backward=profile.share("backward"),
            beside=profile.beside_reduce("backward"),
        )
        for profile in profiles
    ]
    with styled():
        figure, panels = new_figure(rows=len(profiles), height=1.2 + 1.3 * len(profiles), sharex=True)
        for axes, profile in zip(panels, profiles, strict=True):
            _draw(axes, profile, "" if axes is panels[0] else "_")
            axes.set(xlim=(0, 1.01 * end), ylim=(1.5, -0.6))
            axes.set_title(_readers(profile), fontsize=10)
        panels[-1].set_xlabel(label("seconds", unit="ms"))
        before, after = (profile.share("load") for profile in (profiles[0], profiles[-1]))
        title = label("ch8_profile_title", before=before, after=after, readers=profiles[-1].readers)
        figure.suptitle(title, x=0.01, ha="left", fontsize=12)
        figure.legend(loc="outside lower center", ncols=5, columnspacing=1.2, handlelength=1.4)
        return Picture(figure, f"{title}. {' '.join(words)}")


def _readers(profile):
    if profile.readers == 0:
        return label("ch8_no_reader")
    if profile.readers == 1:
        return label("ch8_reader")
    return label("ch8_readers", readers=profile.readers)


def _draw(axes, profile, once):
    for kind, look in LOOKS.items():
        phases = [phase for phase in profile.phases if phase.kind == kind]
        rows = sub_rows(phases)
        height = HEIGHT / (1 + max(rows, default=0))
        lane = int(kind == REDUCE)
        axes.barh(
            [lane + (row + 0.5) * height - HEIGHT / 2 for row in rows],
            [phase.seconds / MS for phase in phases],
            left=[phase.start / MS for phase in phases],
            height=height,
            linewidth=0.4,
            label=once + label(f"ch8_phase_{kind}"),
            **bar_look(look),
        )
    axes.set_yticks([0, 1], [label("ch8_lane_rank"), label("overlap_reduce_lane")])
    axes.grid(visible=False, axis="y")
