"""Draws recovered gains: a scatter for each k (as figure 4 of Golowich et al. 2025), and R_k by selection rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lengthwise.report.figures.style import COLOURS, INK, MARKERS, NARROW, PAPER, QUIET, WIDE
from lengthwise.report.figures.svg import log_axis, new_figure
from lengthwise.report.influence.influence_result import NAMES, InfluenceResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

    from lengthwise.report.figures.drawing import Drawing

MAIN, OTHER = COLOURS[0], COLOURS[1]
RULE_COLOURS = {"null": COLOURS[6], "beyond_null": INK}
MOST_POINTS = 1500
"""A panel with more points is drawn as an image, since every point of an SVG is an element."""
CONTROLS = ("random", "last-k", "null")
"""Drawn dashed."""


def draw_scatter(result: InfluenceResult, width: float = WIDE) -> Drawing:
    """One panel per k: x = L_short − L_sparse(k), y = L_short − L_long, a point per target, in nats.

    Filled points are the best rule's on the scored model itself, hollow ones the other model's choice. On the dashed
    diagonal the k tokens give the whole gain.
    """
    ks, small = result.ks, width < 2 * NARROW
    columns = min(1 if small else 3, len(ks))
    rows = -(-len(ks) // columns)
    y = result.short - result.long
    names = [name for name in (result.best, "cross") if name in result.chosen]
    ends = [*y, *(result.gained(name, k) for name in names for k in ks)]
    low, high = min(np.min(end) for end in ends), max(np.max(end) for end in ends)
    room = 0.04 * (high - low) or 1.0
    limits = float(low - room), float(high + room)
    salt, alt = f"influence scatter {result.title} {width}", "Gain from k tokens against gain from the whole block"
    with new_figure(width, (width / columns) * rows + 1.0, salt, alt) as figure:
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for plot in grid.flat[len(ks) :]:
            plot.set_visible(False)
        size = 7.5 if small else 9
        for index, (plot, k) in enumerate(zip(grid.flat, ks, strict=False)):
            _scatter(plot, result, names, y, k, limits, size)
            plot.tick_params(labelsize=size)
            if index + columns >= len(ks):
                plot.set_xlabel(f"gain from k tokens of {result.block}, nats", fontsize=size)
                plot.tick_params(labelbottom=True)
        for plot in grid[:, 0]:
            plot.set_ylabel(f"gain from all {result.block}, nats", fontsize=size)
        handles = list({h.get_label(): h for h in grid[0, 0].get_legend_handles_labels()[0]}.values())
        figure.legend(handles=handles, loc="outside lower left", ncols=1 if small else 2, fontsize=size)
        return figure


def _scatter(
    plot: Plot, result: InfluenceResult, names: Sequence[str], y: np.ndarray, k: int, limits: tuple[float, float],
    size: float,
) -> None:  # fmt: skip
    plot.set_xlim(limits)
    plot.set_ylim(limits)
    plot.set_box_aspect(1)
    plot.plot(limits, limits, color=QUIET, lw=1, ls=(0, (4, 3)), label="equal gains", zorder=1)
    for name in reversed(names):
        own = name != "cross"
        label = f"chosen by the model itself ({NAMES[result.best]})" if own else "chosen by the other model"
        plot.scatter(
            result.gained(name, k), y, s=13, color=MAIN if own else "none", edgecolors="none" if own else OTHER,
            linewidths=0.8, alpha=0.55 if own else 0.6, label=label, zorder=3 if own else 2,
            rasterized=len(y) > MOST_POINTS,
        )  # fmt: skip
    cell = result.cells[names[0]].get(k)
    if cell is not None and cell.slope is not None:
        ends = np.asarray(limits)
        line = cell.slope * ends + (cell.intercept or 0.0)
        plot.plot(ends, line, color=MAIN, lw=1.6, label="least-squares line", zorder=4)
    plot.text(
        0.97, 0.03, "\n".join(_note(result, name, k) for name in names), transform=plot.transAxes, ha="right",
        va="bottom", fontsize=size, color=INK, bbox={"fc": PAPER, "ec": "none", "alpha": 0.8, "pad": 1.5}, zorder=5,
    )  # fmt: skip
    plot.set_title(f"k = {k}", fontsize=size + 2, fontweight="bold")


def _note(result: InfluenceResult, name: str, k: int) -> str:
    cell = result.cells[name].get(k)
    who = "other model" if name == "cross" else "itself"
    if cell is None or cell.recovered is None:
        return f"{who}: no gain to recover"
    slope = "" if cell.slope is None else f", slope {cell.slope:.2f}"
    return f"{who}: R = {cell.recovered:.2f}{slope}"


def draw_recovered(result: InfluenceResult, width: float = WIDE) -> Drawing:
    """R_k over k, one line per rule with its 95 % interval; the controls and the null are dashed."""
    names = [name for name in NAMES if name in result.cells]
    names += [name for name in result.cells if name not in names]
    small = width < 2 * NARROW
    size = 7.5 if small else 9.5
    salt, alt = f"influence recovered {result.title} {width}", "Fraction of the gain recovered, by k and selection rule"
    with new_figure(width, 4.2 + 0.18 * len(names) * small, salt, alt) as figure:
        plot = figure.subplots()
        for index, name in enumerate(names):
            found = [(k, cell) for k, cell in sorted(result.cells[name].items()) if cell.recovered is not None]
            if not found:
                continue
            # Shifted sideways, so that intervals do not cover each other.
            at = [k * 2 ** (0.055 * (index - (len(names) - 1) / 2)) for k, _ in found]
            values = [cell.recovered or 0.0 for _, cell in found]
            colour, label = RULE_COLOURS.get(name, COLOURS[index % (len(COLOURS) - 1)]), NAMES.get(name, name)
            plot.plot(
                at, values, MARKERS[index % len(MARKERS)], ls="--" if name in CONTROLS else "-", color=colour, ms=4.5,
                lw=2.6 if name == "beyond_null" else 1.4, label=label, mfc=PAPER if name in CONTROLS else colour,
                gid=figure.tip_id([f"{label}, k = {k}: R = {cell.recovered:.2f}" for k, cell in found]),
            )  # fmt: skip
            for x, (_, cell) in zip(at, found, strict=True):
                if cell.interval is not None:
                    plot.plot([x, x], cell.interval, color=colour, lw=1, alpha=0.8)
        plot.axhline(1, color=QUIET, lw=1, ls=(0, (4, 3)))
        plot.axhline(0, color=QUIET, lw=0.8)
        log_axis(plot, "x", [float(k) for k in result.ks], base=2)
        plot.tick_params(labelsize=size)
        plot.set_xlabel(f"k, visible tokens of the block of {result.block}; logarithmic axis", fontsize=size)
        plot.set_ylabel("fraction R of the gain recovered", fontsize=size)
        if plot.get_legend_handles_labels()[0]:
            where = "outside lower left" if small else "outside right upper"
            figure.legend(loc=where, ncols=1, fontsize=size)
        return figure
