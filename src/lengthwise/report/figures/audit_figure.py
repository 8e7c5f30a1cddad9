"""Draws the rates of an audit: one plot for the problem itself and one for each of the three that vary alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lengthwise.report.figures.style import COLOURS, MARKERS, NARROW, WIDE
from lengthwise.report.figures.svg import log_axis, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

    from lengthwise.report.figures.drawing import Drawing

AXES = {"problem": "words", "length": "words", "distance": "distance", "number": "number"}
"""What is on the horizontal axis of each sweep."""
TITLES = {
    "problem": "problem, no filler",
    "length": "length alone",
    "distance": "distance alone",
    "number": "number alone",
}
LABELS = {"words": "words", "distance": "words to the farthest that matters", "number": "words that matter"}


def draw_audit(cells: Sequence[Mapping[str, Any]], width: float = WIDE) -> Drawing:
    """Rates of right answers with 95 % intervals, a line per form."""
    sweeps = [sweep for sweep in AXES if any(cell["sweep"] == sweep for cell in cells)]
    columns = len(sweeps) if width > 2 * NARROW else 1
    lines = -(-len(sweeps) // columns)
    salt = f"audit {width} {len(cells)}"
    with new_figure(width, 2.4 * lines + 0.4, salt, "Rate of right answers as one thing at a time varies") as figure:
        grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
        for plot, sweep in zip(grid.flat, sweeps, strict=True):
            _panel(figure, plot, sweep, [cell for cell in cells if cell["sweep"] == sweep])
        for plot in grid[:, 0]:
            plot.set_ylabel("right answers", fontsize=9)
        return figure


def _panel(figure: Drawing, plot: Plot, sweep: str, cells: Sequence[Mapping[str, Any]]) -> None:
    plot.set_title(TITLES[sweep], fontsize=9)
    plot.set_xlabel(LABELS[AXES[sweep]], fontsize=8)
    plot.set_ylim(-0.05, 1.05)
    for index, form in enumerate(dict.fromkeys(cell["form"] for cell in cells)):
        rows = [cell for cell in cells if cell["form"] == form and cell["rate"] is not None]
        if not rows:
            continue
        at = [cell[AXES[sweep]] for cell in rows]
        tips = [f"{form}: {cell['counts']['right']} of {cell['answered']} right" for cell in rows]
        colour = COLOURS[index % len(COLOURS)]
        plot.vlines(at, [cell["low"] for cell in rows], [cell["high"] for cell in rows], color=colour, lw=1)
        plot.plot(
            at, [cell["rate"] for cell in rows], color=colour, marker=MARKERS[index % len(MARKERS)], ms=5, lw=1.5,
            label=form, clip_on=False, gid=figure.tip_id(tips),
        )  # fmt: skip
    at = sorted({cell[AXES[sweep]] for cell in cells})
    if at and at[0] > 0:
        log_axis(plot, "x", at, base=2)
    if sweep == "problem" and plot.lines:
        plot.legend(fontsize=8, frameon=False)
