"""The figure that answers the question: exact match against length, one line per system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lengthwise.report.chance import common_chance
from lengthwise.report.figures.svg import COLOURS, INK, MARKERS, QUIET, new_figure, page_style, to_svg
from lengthwise.report.result import Axes
from lengthwise.report.summary import Cell, SystemSummary, axes_text, panel_axes, panel_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

COLUMNS = 2


def panels(systems: Sequence[SystemSummary]) -> dict[Axes, dict[int, list[Cell]]]:
    """Cells by panel, then by the index of the system, sorted by length."""
    keys = panel_axes(cell for system in systems for cell in system.cells)
    result: dict[Axes, dict[int, list[Cell]]] = {}
    for index, system in enumerate(systems):
        for cell in sorted(system.cells, key=lambda cell: cell.length):
            result.setdefault(panel_of(cell.axes, keys), {}).setdefault(index, []).append(cell)
    return result


def accuracy_figure(systems: Sequence[SystemSummary]) -> str:
    """SVG; an empty string if no seed of any system fitted, for then there is nothing to draw."""
    drawn = panels(systems)
    if not drawn:
        return ""
    columns = min(COLUMNS, len(drawn))
    rows = -(-len(drawn) // columns)
    with page_style("accuracy" + systems[0].recipe):
        figure = new_figure(10, 4.1 if rows == 1 else 3.3 * rows + 0.5)
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for plot in grid.flat[len(drawn) :]:
            plot.set_visible(False)
        for plot, (panel, by_system) in zip(grid.flat, drawn.items(), strict=False):
            _panel(plot, panel, by_system, systems, labels=len(drawn) == 1)
        for plot in grid[:, 0]:
            plot.set_ylabel("exact match")
        if len(drawn) > 1:
            # One panel has room for names at its lines' ends; several share a legend.
            lines = {handle.get_label(): handle for plot in grid.flat for handle in plot.get_legend_handles_labels()[0]}
            figure.legend(handles=list(lines.values()), loc="outside lower left", ncols=3, frameon=False)
        return to_svg(figure, "Exact match against length, by system")


def _panel(
    plot: Plot,
    panel: Axes,
    by_system: Mapping[int, Sequence[Cell]],
    systems: Sequence[SystemSummary],
    *,
    labels: bool,
) -> None:
    lengths = sorted({cell.length for cells in by_system.values() for cell in cells})
    trained = max(systems[index].max_length for index in by_system)
    logarithmic = lengths[-1] > 6 * max(lengths[0], 1)
    if logarithmic:
        plot.set_xscale("log")
    left, right = _limits(min(lengths[0], trained), lengths[-1], logarithmic)
    plot.set_xlim(left, right)
    plot.axvspan(left, trained, color="#eef2f6", zorder=0, linewidth=0)
    plot.text(trained, 1.075, f" ◂ trained up to {trained}", ha="left", va="center", color=QUIET, fontsize=9)
    ends = []
    for index, cells in by_system.items():
        colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
        at = [cell.length for cell in cells]
        found = [cell.estimate() for cell in cells]
        values = [estimate.median for estimate in found if estimate]
        plot.fill_between(at, [e.low for e in found if e], [e.high for e in found if e], color=colour, alpha=0.15, lw=0)
        for seed in range(len(cells[0].scores)):
            rates = [cell.scores[seed].rate() or 0.0 for cell in cells if seed < len(cell.scores)]
            plot.plot(at[: len(rates)], rates, color=colour, lw=0.7, alpha=0.45)
        plot.plot(
            at, values, color=colour, marker=marker, ms=5.5, lw=2, clip_on=False, zorder=3, label=systems[index].name
        )
        _oracle(plot, cells, values, colour)
        ends.append((values[-1], index, colour))
    line = common_chance([systems[index].experiment for index in by_system], lengths[-1], panel)
    if line:
        plot.axhline(line, color=QUIET, lw=1, ls=(0, (2, 3)))
        plot.text(left, line + 0.02, f" chance {line:.2f} (answer)", color=QUIET, fontsize=9, va="bottom")
    if labels:
        _labels(plot, ends, systems)
    ticks = sorted({trained, *lengths})
    plot.set_xticks(_apart(ticks, logarithmic, right / left, right - left), minor=False)
    plot.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    plot.minorticks_off()
    plot.set_ylim(-0.04, 1.12)
    plot.set_yticks([0, 0.25, 0.5, 0.75, 1])
    plot.set_xlabel("length")
    if panel:
        plot.set_title(axes_text(panel), loc="left", fontsize=11, color=INK, fontweight="bold")


def _limits(low: float, high: float, logarithmic: bool) -> tuple[float, float]:
    if low == high:
        return (low / 2, high * 2) if logarithmic else (low - 1, high + 1)
    if logarithmic:
        return low / (high / low) ** 0.06, high * (high / low) ** 0.03
    return low - 0.06 * (high - low), high + 0.03 * (high - low)


def _oracle(plot: Plot, cells: Sequence[Cell], values: Sequence[float], colour: str) -> None:
    """The ceiling with the right ids given, dashed, where predicting the ids costs anything."""
    predicted = all("exact_match_ids" in score.correct for cell in cells for score in cell.scores)
    found = [cell.estimate("oracle_ids") for cell in cells]
    ceiling = [estimate.median for estimate in found if estimate]
    if predicted and len(ceiling) == len(values) and any(c - v > 0.01 for c, v in zip(ceiling, values, strict=True)):
        plot.plot([cell.length for cell in cells], ceiling, color=colour, lw=1.3, ls=(0, (4, 3)), zorder=2)


def _labels(plot: Plot, ends: list[tuple[float, int, str]], systems: Sequence[SystemSummary]) -> None:
    """Names at the right ends of the lines, pushed apart where they would meet."""
    gap, below = 0.075, float("inf")
    for value, index, colour in sorted(ends, reverse=True):
        below = min(value, below - gap)
        plot.annotate(
            systems[index].name,
            (1, below),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            fontweight="bold",
            annotation_clip=False,
        )


def _apart(ticks: Sequence[int], logarithmic: bool, ratio: float, span: float) -> list[int]:
    """Ticks that are far enough apart for their labels; the longest length always keeps its own."""
    kept: list[int] = []
    for tick in reversed(ticks):
        reach = tick * ratio**0.06 if logarithmic else tick + span * 0.05
        if not kept or reach <= kept[-1]:
            kept.append(tick)
    return kept[::-1]
