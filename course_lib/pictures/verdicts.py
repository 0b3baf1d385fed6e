"""Pictures that decide the misconceptions: averaging, ports, noise, memory."""

import numpy as np

from course_lib.labels import label
from course_lib.pictures.picture import Picture, new_figure
from course_lib.pictures.style import THEORY, rank_colour, styled
from course_lib.pictures.traffic import bytes_between
from course_lib.pictures.wording import bytes_text, number_text


def averaged_every(same, own):
    """Accuracy of the mean network, and of each alone, against the own steps between averagings.

    same, own: {own steps: each rank's Averaged}, from one start for all and from a start for each.
    """
    periods, end = list(same), max(same)
    means = [{period: found[period][0].mean for period in periods} for found in (same, own)]
    places = range(len(periods))
    with styled():
        figure, axes = new_figure(height=4.2)
        for number, (key, found) in enumerate((("ch11_same_start", same), ("ch11_own_start", own))):
            beside, colour = [place + 0.3 * number - 0.15 for place in places], rank_colour(number)
            marks = [100 * means[number][period] for period in periods]
            axes.plot(beside, marks, "os"[number], color=colour, markersize=8, label=label(key))
            alone = [[100 * each.own for each in found[period]] for period in periods]
            name = label(f"{key}_alone")
            for line in axes.plot(beside, alone, "_", color=colour, markersize=18):
                line.set_label(name)
                name = "_" + name
        names = [str(period) for period in periods[:-1]]
        axes.set_xticks(places, [*names, label("ch11_at_end", steps=end)])
        axes.set(xlabel=label("ch11_period_axis"), ylabel=label("ch11_accuracy_axis"), ylim=(0, 105))
        first = periods[0]
        axes.set_title(label("ch11_period_title", end=100 * means[1][end], each=100 * means[0][first]))
        figure.legend(loc="outside lower center", ncols=2)
        listed = "; ".join(
            f"{label(key)}: "
            + ", ".join(
                label("ch11_period_point", period=period, mean=mean, low=min(alone), high=max(alone))
                for period, mean in means[number].items()
                for alone in [[each.own for each in found[period]]]
            )
            for number, (key, found) in enumerate((("ch11_same_start", same), ("ch11_own_start", own)))
        )
        return Picture(figure, label("ch11_period_alt", listed=listed))


def port_bytes(runs):
    """Bytes that each rank sends and receives: {"server": Run, "ring": Run}."""
    through = {name: _through(run) for name, run in runs.items()}
    ranks = len(through["ring"])
    with styled():
        figure, axes = new_figure()
        for number, (name, nbytes) in enumerate(through.items()):
            places = [rank + 0.4 * number - 0.2 for rank in range(ranks)]
            style = {"color": rank_colour(number), "hatch": ("", "//")[number], "edgecolor": "white"}
            axes.bar(places, nbytes / 1e3, 0.38, label=label(f"ch11_{name}"), **style)
        axes.set_xticks(range(ranks), [label("rank", rank=rank) for rank in range(ranks)])
        axes.set(ylabel=label("ch11_port_axis"))
        axes.legend()
        words = {name: bytes_text(nbytes.max()) for name, nbytes in through.items()}
        axes.set_title(label("ch11_port_title", **words))
        listed = "; ".join(
            f"{label(f'ch11_{name}')}: " + ", ".join(bytes_text(each) for each in nbytes)
            for name, nbytes in through.items()
        )
        return Picture(figure, label("ch11_port_alt", ranks=ranks, listed=listed))


def _through(run):
    sent = bytes_between(run)
    return sent.sum(axis=0) + sent.sum(axis=1)


def averaged_noise(variances, batch):
    """Variance of the averaged gradient, {workers: variance}, with the two beliefs as lines."""
    ranks, one = sorted(variances), variances[1]
    with styled():
        figure, axes = new_figure()
        axes.plot(ranks, [one / k for k in ranks], color=THEORY, label=label("ch11_variance_theory"))
        axes.plot(ranks, [one * k for k in ranks], "--", color=THEORY, label=label("ch11_variance_shrunk"))
        points = [variances[k] for k in ranks]
        axes.plot(ranks, points, "o", color=rank_colour(0), markersize=8, label=label("measured"))
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(ranks, map(str, ranks))
        levels = sorted({one * k for k in ranks} | {one / k for k in ranks})
        axes.set_yticks(levels, map(number_text, levels))
        axes.minorticks_off()
        axes.set(xlabel=label("ch11_workers_axis", batch=batch), ylabel=label("ch11_variance_axis"))
        axes.legend()
        most = ranks[-1]
        axes.set_title(label("ch11_variance_title", ranks=most, share=variances[most] / one))
        listed = ", ".join(f"K = {k}: {number_text(variances[k])}" for k in ranks)
        return Picture(figure, label("ch11_variance_alt", listed=listed))


def held_bytes(ddp, fsdp):
    """Bytes that each rank holds of parameters, gradients and moments: two of {ranks: bytes}."""
    ranks, whole = sorted(ddp), ddp[min(ddp)]
    with styled():
        figure, axes = new_figure()
        axes.plot(ranks, [whole / 1e3] * len(ranks), color=THEORY, label=label("ch11_whole"))
        smooth = np.linspace(ranks[0], ranks[-1], 61)
        axes.plot(smooth, whole / smooth / 1e3, "--", color=THEORY, label=label("ch11_share"))
        for number, (name, found) in enumerate((("DDP", ddp), ("FSDP2", fsdp))):
            points = [found[k] / 1e3 for k in ranks]
            beside = [k + 0.1 * number - 0.05 for k in ranks]
            axes.plot(beside, points, "os"[number], color=rank_colour(number), markersize=8, label=name)
        axes.set_xticks(ranks)
        axes.set(
            xlabel=label("ch11_ranks_axis"), ylabel=label("ch11_held_axis"), ylim=(0, 1.15 * whole / 1e3)
        )
        axes.legend(ncols=2)
        most = ranks[-1]
        words = {"ddp": bytes_text(ddp[most]), "fsdp": bytes_text(fsdp[most])}
        axes.set_title(label("ch11_held_title", ranks=most, **words))
        listed = "; ".join(f"K = {k}: DDP {bytes_text(ddp[k])}, FSDP2 {bytes_text(fsdp[k])}" for k in ranks)
        return Picture(figure, label("ch11_held_alt", listed=listed))
