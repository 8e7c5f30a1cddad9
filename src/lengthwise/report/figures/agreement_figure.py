"""Draws accuracy by bin of lengths for each task, in the colour of the verdict.

Green: theory says yes. Red: theory gives no guarantee. Grey: no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lengthwise.report.figures.style import COLOURS, NARROW, PAPER, QUIET, WIDE
from lengthwise.report.figures.svg import new_figure, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

    from lengthwise.report.figures.drawing import Drawing

VERDICT_COLOURS = {"yes": COLOURS[2], "no": COLOURS[1], "unknown": COLOURS[6]}
STYLES = {"nope": ("o", "-"), "ape": ("s", "-")}
CUT = 0.70


def bins_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The bins of all rows, such as ``51-100``, in increasing order."""
    bins = {name for row in rows for part in ("median", "published") for name in row.get(part) or {}}
    return sorted(bins, key=lambda name: [int(number) for number in name.split("-")])


def draw_agreement(rows: Sequence[Mapping[str, Any]], width: float = WIDE) -> Drawing:
    """One plot per task: lines by encoding, ours filled and solid, published hollow and dotted."""
    tasks = list(dict.fromkeys(str(row["task"]) for row in rows))
    small = width < 2 * NARROW
    columns = min(2 if small else 4, len(tasks))
    lines = -(-len(tasks) // columns)
    salt = f"agreement {width} {' '.join(tasks)}"
    with new_figure(width, 1.9 * lines + 0.6, salt, "Accuracy by bin of lengths for each task and encoding") as figure:
        grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
        for plot in grid.flat[len(tasks) :]:
            plot.set_visible(False)
        for plot, task in zip(grid.flat, tasks, strict=False):
            plot.tick_params(labelsize=7 if small else 8)
            _panel(figure, plot, task, [row for row in rows if row["task"] == task])
        for plot in grid[:, 0]:
            plot.set_ylabel("exact match", fontsize=7.5 if small else 9)
        return figure


def _panel(figure: Drawing, plot: Plot, task: str, rows: Sequence[Mapping[str, Any]]) -> None:
    bins = bins_of(rows)
    plot.set_title(short_name(task, 24), fontsize=8.5)
    plot.set_ylim(-0.06, 1.06)
    plot.set_xlim(-0.4, max(len(bins), 1) - 0.6)
    plot.axhline(CUT, color=QUIET, lw=0.8, ls=":")
    plot.set_xticks(range(len(bins)), bins)
    missing = []
    for row in rows:
        colour = VERDICT_COLOURS[row["predicted"]]
        marker, style = STYLES.get(row["encoding"], ("^", "--"))
        for part, whose, face, line in (
            ("published", "published", PAPER, (0, (1, 2))), ("median", "ours", colour, style),
        ):  # fmt: skip
            values = {name: value for name, value in (row.get(part) or {}).items() if name in bins}
            at = [bins.index(name) for name in values]
            if not values:
                continue
            tips = [f"{task}, {row['encoding']}, {whose}, {name}: {value:.3f}" for name, value in values.items()]
            plot.plot(
                at, list(values.values()), color=colour, marker=marker, mfc=face, ls=line, ms=5,
                lw=1.5 if part == "median" else 1, clip_on=False, gid=figure.tip_id(tips),
            )  # fmt: skip
        if row["status"] != "fitted":
            missing.append(f"{row['encoding']}: {row['status']}")
    if missing:
        note = plot.text(0.5, 0.5, "\n".join(missing), transform=plot.transAxes, ha="center", va="center", color=QUIET)
        note.set_fontsize(8)
        note.set_in_layout(False)
