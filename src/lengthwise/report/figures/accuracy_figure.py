"""Draws exact match against length, with the name of every system at the end of its line."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING

from lengthwise.report.chance import common_chance
from lengthwise.report.figures.style import BAND, COLOURS, INK, MARKERS, NARROW, PAPER, QUIET, WIDE
from lengthwise.report.figures.svg import log_axis, new_figure, short_name
from lengthwise.report.panels import Panel, panels
from lengthwise.report.summary import Cell, SystemSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot
    from matplotlib.transforms import Transform

    from lengthwise.report.figures.drawing import Drawing

LOW, HIGH = -0.04, 1.14
"""Limits of the vertical axis; the space above 1 holds the text on training lengths."""
SHADE = {"fc": PAPER, "ec": "none", "alpha": 0.75, "pad": 1}
MARGINS = 0.95
"""Height in inches of a panel's title, tick labels and axis label."""
MOST_NAMED = 6
"""Panels of the same systems beyond which they are small, and one legend names the systems."""


def draw_accuracy(systems: Sequence[SystemSummary], width: float = WIDE) -> Drawing | None:
    """One panel per task and axes, ``width`` inches wide; None if no seed of any system fitted."""
    drawn = [panel for panel in panels(systems) if panel.cells]
    if not drawn:
        return None
    if len(drawn) > MOST_NAMED and len({panel.systems for panel in drawn}) == 1:
        return _draw_small(drawn, systems, width)
    small = width < 2 * NARROW
    columns = 1 if small or len(drawn) == 1 else 2
    rows = -(-len(drawn) // columns)
    size, letters = (7.5, 17) if small else (9.5, 30 if columns == 1 else 20)
    names = [_with_fitted(system, letters) for system in systems]
    lines = max(sum(names[index].count("\n") + 1.35 for index in panel.cells) for panel in drawn)
    height = max(2.6 if small else 3.9 / columns**0.5, lines * 1.25 * size / 72 * (HIGH - LOW) + MARGINS)
    salt, missing = f"accuracy {systems[0].recipe} {width}", _not_drawn(systems, 46 if small else 100)
    room = height * rows + 1.5 * size / 72 * len(missing)
    with new_figure(width, room, salt, "Exact match against length, by system") as figure:
        if missing:
            figure.supxlabel("\n".join(missing), x=0.01, ha="left", fontsize=size, color=QUIET)
        grid = figure.subplots(rows, columns, squeeze=False)
        for plot in grid.flat[len(drawn) :]:
            plot.set_visible(False)
        for plot, panel in zip(grid.flat, drawn, strict=False):
            _Panel(figure, plot, panel, systems).draw(size)
            _names(plot, panel, names, size, (height - MARGINS) * 72)
        return figure


def _draw_small(drawn: Sequence[Panel], systems: Sequence[SystemSummary], width: float) -> Drawing:
    """Small panels of about 2 inches, four or two side by side, above one legend."""
    from matplotlib.lines import Line2D

    columns, size, letters = (2, 7.5, 42) if width < 2 * NARROW else (4, 8.5, 60)
    names = {index: _with_fitted(systems[index], letters) for index in drawn[0].systems}
    rows, lines = -(-len(drawn) // columns), sum(name.count("\n") + 1 for name in names.values()) / (columns // 2)
    salt, height = f"accuracy {systems[0].recipe} {width}", 1.95 * rows + 1.6 * size / 72 * lines
    with new_figure(width, height, salt, "Exact match against length, by system") as figure:
        grid = figure.subplots(rows, columns, squeeze=False)
        for plot in grid.flat[len(drawn) :]:
            plot.set_visible(False)
        for plot, panel in zip(grid.flat, drawn, strict=False):
            _Panel(figure, plot, panel, systems).draw(size, small=True)
        handles = []
        for index, name in sorted(names.items()):
            (colour, marker), style = look(drawn[0], index), line_style(drawn[0], index)
            if not systems[index].fitted:
                marker, style = "", "none"
            handles.append(Line2D([], [], color=colour, marker=marker, ms=4.5, lw=2, ls=style, label=name))
        figure.legend(handles=handles, loc="outside lower left", ncols=columns // 2, fontsize=size)
        return figure


def _with_fitted(system: SystemSummary, letters: int) -> str:
    """The system on lines of ``letters`` characters, and how many seeds fitted where that is not all of them."""
    name, fitted, seeds = short_name(system.label, letters), len(system.fitted), len(system.results)
    return name if fitted == seeds else f"{name}\nfitted: {fitted} of {seeds}"


def _not_drawn(systems: Sequence[SystemSummary], letters: int) -> list[str]:
    """The lines that name the systems without a fitted seed; none if there is no such system."""
    names = [short_name(system.label, 999) for system in systems if not system.fitted]
    return textwrap.wrap(f"Not fitted in any seed, so not drawn: {'; '.join(names)}", letters) if names else []


class _Panel:
    """Draws one panel."""

    def __init__(self, figure: Drawing, plot: Plot, panel: Panel, systems: Sequence[SystemSummary]) -> None:
        self.figure, self.plot, self.panel, self.systems = figure, plot, panel, systems
        self.lengths = panel.lengths
        self.trained = max(systems[index].max_length for index in panel.cells)
        shortest = min(self.lengths[0], self.trained)
        self.logarithmic = shortest > 0 and self.lengths[-1] > 6 * shortest
        self.limits = _limits(shortest, max(self.lengths[-1], self.trained), self.logarithmic)

    def draw(self, size: float, *, small: bool = False) -> None:
        """All lines, the training lengths and the chance line, with text of ``size`` points, less in a small panel."""
        plot, (left, right) = self.plot, self.limits
        ticks = sorted({self.trained, *self.lengths})
        room = 0.9 * size * len(str(ticks[-1])) / 72 / (0.5 * self.figure.get_figwidth())
        kept = [tick for tick in ticks if tick == ticks[-1] or self._share(ticks[-1]) - self._share(tick) > room]
        ticks = [tick for i, tick in enumerate(kept) if not i or self._share(tick) - self._share(kept[i - 1]) > room]
        if self.logarithmic:
            log_axis(plot, "x", [float(tick) for tick in ticks])
        else:
            plot.set_xticks(ticks)
        plot.set_xlim(left, right)
        plot.set_ylim(LOW, HIGH)
        plot.set_yticks([0, 0.25, 0.5, 0.75, 1])
        plot.tick_params(labelsize=size)
        plot.set_xlabel("length, logarithmic axis" if self.logarithmic and not small else "length", fontsize=size)
        plot.set_ylabel("exact match", fontsize=size)
        if self.panel.title:
            plot.set_title(short_name(self.panel.title, 24 if small else 44), fontsize=size + 1.5, fontweight="bold")
        plot.axvspan(left, self.trained, color=BAND, zorder=0, linewidth=0)
        text, side = f" ◂ trained{'' if small else ' up'} to {self.trained}", "left"
        if self._share(self.trained) > 0.5:
            text, side = f"{text[3:]} ", "right"
        plot.text(self.trained, 1.085, text, ha=side, va="center", color=QUIET, fontsize=size)
        for index, cells in self.panel.cells.items():
            self._system(index, cells)
        chance = common_chance(
            [self.systems[index].experiment for index in self.panel.cells], self.lengths[-1], self.panel.axes
        )
        if chance:
            plot.axhline(chance, color=QUIET, lw=1, ls=(0, (2, 3)))
            shown = f" chance {chance:.2f} (answer)"
            plot.text(left, chance + 0.02, shown, color=QUIET, fontsize=size, va="bottom", bbox=SHADE)

    def _share(self, length: float) -> float:
        """Where a length lies between the limits, from 0 to 1."""
        left, right = self.limits
        if self.logarithmic:
            return log(length / left) / log(right / left)
        return (length - left) / (right - left)

    def _system(self, index: int, cells: Sequence[Cell]) -> None:
        """The line of the medians, its interval, each seed, and the accuracy with the right ids given."""
        name, (colour, marker) = short_name(self.systems[index].label, 999), look(self.panel, index)
        found = [(cell, estimate) for cell in cells if (estimate := cell.estimate())]
        at, medians = [cell.length for cell, _ in found], [estimate.median for _, estimate in found]
        low, high = [estimate.low for _, estimate in found], [estimate.high for _, estimate in found]
        self.plot.fill_between(at, low, high, color=colour, alpha=0.15, lw=0)
        for seed in range(len(cells[0].scores)):
            rates = [(cell.length, cell.scores[seed].rate() or 0.0) for cell in cells if seed < len(cell.scores)]
            self.plot.plot(*zip(*rates, strict=True), color=colour, lw=0.7, alpha=0.45)
        tips = [f"{name}, length {cell.length}: {e.median:.3f}, 95 % {e.low:.2f} to {e.high:.2f}" for cell, e in found]
        self.plot.plot(
            at, medians, color=colour, marker=marker, ms=5.5, lw=2, ls=line_style(self.panel, index),
            clip_on=False, zorder=3, gid=self.figure.tip_id(tips),
        )  # fmt: skip
        ceiling = [estimate.median for cell in cells if (estimate := cell.estimate("oracle_ids"))]
        predicted = all("exact_match_ids" in score.correct for cell in cells for score in cell.scores)
        complete = predicted and len(ceiling) == len(medians)
        if complete and any(c - m > 0.01 for c, m in zip(ceiling, medians, strict=True)):
            self.plot.plot(at, ceiling, color=colour, lw=1.3, ls=(0, (1, 1.5)), zorder=2)


def look(panel: Panel, index: int) -> tuple[str, str]:
    """Colour and marker of the system with this index."""
    rank = panel.systems.index(index)
    return COLOURS[rank % len(COLOURS)], MARKERS[(rank + rank // len(COLOURS)) % len(MARKERS)]


def line_style(panel: Panel, index: int) -> str:
    """Dashed from the system on at which colours repeat."""
    return "--" if panel.systems.index(index) >= len(COLOURS) else "-"


def _limits(low: float, high: float, logarithmic: bool) -> tuple[float, float]:
    if low == high:
        return low - 1, high + 1
    if logarithmic:
        return low / (high / low) ** 0.06, high * (high / low) ** 0.03
    return low - 0.06 * (high - low), high + 0.03 * (high - low)


def _names(plot: Plot, panel: Panel, names: Sequence[str], size: float, points: float) -> None:
    """Names at the line ends of a plot that is ``points`` high, moved apart where they would overlap."""
    ends: list[tuple[float, int, int]] = []
    for index, cells in panel.cells.items():
        last = cells[-1]
        found = last.estimate()
        if found is not None:
            ends.append((found.median, -index, last.length))
    unit = 1.25 * size / points * (HIGH - LOW)
    ends.sort(reverse=True)
    heights = [(names[-minus].count("\n") + 1.35) * unit for _, minus, _ in ends]
    for (value, minus, length), y in zip(ends, _apart([value for value, _, _ in ends], heights), strict=True):
        colour, marker = look(panel, -minus)
        plot.annotate(
            names[-minus], (1, y), xycoords=("axes fraction", "data"), xytext=(19, 0), textcoords="offset points",
            color=INK, va="center", fontsize=size, annotation_clip=False, linespacing=1.15,
        )  # fmt: skip
        plot.plot([1], [y], marker, color=colour, ms=5.5, transform=_right_of(plot), clip_on=False)
        plot.annotate(
            "", (length, value), xytext=(1.0, y), textcoords=_right_of(plot), annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.7, "shrinkA": 0, "shrinkB": 4},
        )  # fmt: skip


def _right_of(plot: Plot) -> Transform:
    """Coordinates with x in 12 points right of the plot and y in data."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    assert plot.figure is not None
    moved = ScaledTranslation(12 / 72, 0, plot.figure.dpi_scale_trans)
    return blended_transform_factory(plot.transAxes, plot.transData) + moved


def _apart(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Centres from top to bottom, as near to ``wanted`` as boxes of these heights allow within the plot."""
    centres: list[float] = []
    for value, height in zip(wanted, heights, strict=True):
        top = centres[-1] - heights[len(centres) - 1] / 2 if centres else HIGH
        centres.append(min(value, top - height / 2))
    floor = LOW
    for index in reversed(range(len(centres))):
        centres[index] = max(centres[index], floor + heights[index] / 2)
        floor = centres[index] + heights[index] / 2
    return centres
