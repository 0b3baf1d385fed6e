"""What training jobs need: memory of one GPU and time of a step, as stacked bars."""

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import PHASE_COLOURS, rank_colour, styled
from course_lib.planner import PARTS

LETTERS = "ABCDEF"
TEXTURES = dict(zip(PARTS, ("", "..", "///", "\\\\\\"), strict=True))
PHASES = {"compute": ("compute", ""), "hidden": ("compute", ".."), "exposed": ("collective", "..")}


def plan_bars(rows, result):
    """rows: (planner.Plan, words for the labels) for each job, the first one in the titles; two panels."""
    plans = [plan for plan, _ in rows]
    now = rows[0][1]
    with styled():
        figure, (memory, time) = new_figure(2, height=2.6 + 0.56 * len(rows))
        parts = {name: [getattr(plan.memory, name) / 1e9 for plan in plans] for name in PARTS}
        for number, (name, sizes) in enumerate(parts.items()):
            _stack(memory, parts, name, sizes, rank_colour(number), TEXTURES[name], label(f"plan_{name}"))
        capacity = [plan.job.gpu.memory / 1e9 for plan in plans]
        places = range(len(plans))
        memory.plot(capacity, places, "|", color="black", markersize=26, label=label("planner_capacity"))
        phases = {
            "compute": [plan.step.compute - plan.step.hidden for plan in plans],
            "hidden": [plan.step.hidden for plan in plans],
            "exposed": [plan.step.exposed for plan in plans],
        }
        for name, seconds in phases.items():
            colour, texture = PHASES[name]
            words = label(f"planner_phase_{name}")
            _stack(time, phases, name, seconds, PHASE_COLOURS[colour], texture, words)
        for axes, key in ((memory, "planner_memory_axis"), (time, "planner_time_axis")):
            axes.set_yticks(list(places), LETTERS[: len(plans)])
            axes.set(xlabel=label(key), ylim=(len(plans) - 0.45, -0.55))
            axes.grid(visible=False, axis="y")
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1.05), fontsize=9, markerscale=0.5)
        fits = "planner_title_fits" if plans[0].fits else "planner_title_does_not_fit"
        memory.set_title(label(fits, **now))
        time.set_title(now["step"].rstrip("."))
        return Picture(figure, label("planner_alt", count=len(plans), result=result))


def _stack(axes, parts, name, sizes, colour, texture, words):
    """The bars of one part, behind those that come before it."""
    before = list(parts)[: list(parts).index(name)]
    left = [sum(parts[part][row] for part in before) for row in range(len(sizes))]
    style = {"color": colour, "edgecolor": "black", "linewidth": 0.5, "hatch": texture}
    axes.barh(range(len(sizes)), sizes, 0.7, left=left, label=words, **style)
