"""What compressing the gradients saves, beside what it costs in AUC."""

from dataclasses import dataclass, replace

from course_lib.arguments import whole_number
from course_lib.labels import label
from course_lib.processes import launch
from course_lib.training.clicks import COMPRESSIONS, clicks_worker


@dataclass(frozen=True)
class CompressionRow:
    """One run. payload, wire: bytes of one rank a step, of what it has to say and of what it sends.

    The savings are shares of the gradient and of its ring; below 0, more is sent.
    """

    comm_hook: str | None
    auc: float
    payload: float
    wire: float
    payload_saving: float
    wire_saving: float


@dataclass(frozen=True, repr=False)
class CompressionTable:
    """ranks: how many trained. best_auc: of the true probabilities. rows: a CompressionRow each.

    Its repr is a table.
    """

    ranks: int
    best_auc: float
    rows: tuple

    def __repr__(self):
        names = ("compression", "auc", "payload", "saved", "wire", "saved")
        lines = [[label(f"clicks_table_{name}", ranks=self.ranks) for name in names]]
        lines += [
            [
                label(f"clicks_table_{row.comm_hook}"),
                f"{row.auc:.4f}",
                f"{row.payload / 1000:.2f}",
                f"{round(row.payload_saving, 2) + 0:.0%}",
                f"{row.wire / 1000:.2f}",
                f"{round(row.wire_saving, 2) + 0:.0%}",
            ]
            for row in self.rows
        ]
        lines.append([label("clicks_table_best"), f"{self.best_auc:.4f}", "", "", "", ""])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
            for line in lines
        )


def compare_compression(config=None, ranks=2, comm_hooks=COMPRESSIONS, timeout=120):
    """Train on `ranks` (two or more) with each of `comm_hooks`, from the same start; a CompressionTable."""
    ranks = whole_number("ranks", ranks, 2)
    if not comm_hooks:
        raise ValueError("comm_hooks must hold at least one; got none")
    config = clicks_worker(config).config
    workers = [clicks_worker(replace(config, comm_hook=name)) for name in comm_hooks]
    runs = launch(lambda comm: [worker(comm) for worker in workers], ranks, timeout=timeout).values[0]
    rows = [_row(name, run) for name, run in zip(comm_hooks, runs, strict=True)]
    return CompressionTable(ranks, runs[0].best_auc, tuple(rows))


def _row(name, run):
    steps, sent = len(run.run.losses), run.traffic
    savings = 1 - sent.payload / sent.gradient, 1 - sent.wire / sent.ring
    return CompressionRow(name, run.auc, sent.payload / steps, sent.wire / steps, *savings)
