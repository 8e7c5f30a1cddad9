"""Draws a comparison: one line per position system, a dot per seed where it stops, and the training lengths shaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lengthwise.prediction.shown_task.stored_task import title_of
from lengthwise.report.figures.style import BAND, COLOURS, FAINT, INK, NARROW, PAPER, QUIET
from lengthwise.report.figures.svg import log_axis, new_figure, short_name

if TYPE_CHECKING:
    from lengthwise.report.figures.drawing import Drawing

WIDTH = 8.6
SPREAD = 0.22
"""Vertical distance between the dots of two seeds of one system, in rows."""


def draw_comparison(values: Mapping[str, Any], width: float = WIDTH) -> Drawing | None:
    """The picture of a ``comparison.json``, ``width`` inches wide; None if no system has a finished seed.

    Systems are ranked from top to bottom. A bar reaches to the median; hollow dots are seeds that did not fit.
    """
    rows = [row for row in values["systems"] if row["seeds"]]
    if not rows:
        return None
    salt, trained, left = f"comparison {values['name']} {width}", values["trained_to"], 0.8
    task = title_of(values["name"])
    small = width < 2 * NARROW
    names = [short_name(row["system"], 13 if small else 34) for row in reversed(rows)]
    lines = max(name.count("\n") + 1 for name in names)
    with new_figure(
        width, (1.9 if small else 1.3) + max(0.42, 0.17 * lines) * len(rows), salt, _description(values, rows)
    ) as figure:
        plot = figure.subplots()
        plot.axvspan(left, trained, color=BAND, zorder=0, linewidth=0)
        for line, row in enumerate(reversed(rows)):
            colour = COLOURS[0] if row["fitted"] else FAINT
            plot.barh(line, max(row["reach"], left) - left, left=left, height=0.5, color=colour, alpha=0.25, zorder=1)
            seeds = row["seeds"]
            heights = [line + SPREAD * (index - (len(seeds) - 1) / 2) for index in range(len(seeds))]
            for seed, height in zip(seeds, heights, strict=True):
                tip = f"{row['system']}, seed {seed['seed']}: " + _outcome(seed)
                plot.plot(
                    [max(seed["reach"], left)], [height], "o", color=colour if seed["fitted"] else QUIET, ms=5.5,
                    mfc=colour if seed["fitted"] else PAPER, zorder=3, gid=figure.tip_id([tip]), clip_on=False,
                )  # fmt: skip
        plot.set_yticks(range(len(rows)), names, color=INK)
        ticks = [1.0, *(float(length) for length in values["tests"])]
        log_axis(plot, "x", ticks[:: len(ticks) // 4 or 1] if small else ticks)
        plot.set_xlim(left, max(values["tests"]) * 1.08)
        plot.set_ylim(-0.6, len(rows) - 0.4)
        plot.grid(visible=False, axis="y")
        least = f"at least {values['reach_at']:.0%} exact match"
        if small:
            plot.tick_params(labelsize=8)
            plot.set_xlabel(f"longest length with\n{least}\n(trained up to {trained})", fontsize=8.5)
        else:
            plot.set_xlabel(f"longest length with {least} (trained up to {trained})")
            plot.set_title(f"{short_name(task, 60)}: how far each position system goes", fontweight="bold")
        return figure


def _outcome(seed: Mapping[str, Any]) -> str:
    if not seed["fitted"]:
        return f"not fitted, {seed['in_distribution']:.3f} in distribution"
    return f"up to length {seed['reach']}"


def _description(values: Mapping[str, Any], rows: list[Any]) -> str:
    best = rows[0]
    task = title_of(values["name"])
    return f"How far {len(rows)} position systems go on {task}; {best['system']} goes to {best['reach']}"
