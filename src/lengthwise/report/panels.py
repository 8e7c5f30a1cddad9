"""Groups the cells of several systems into panels, which figures, tables and findings share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lengthwise.core.result_file import Axes
from lengthwise.report.summary import Cell, SystemSummary, axes_text, panel_axes, panel_of

MOST_LINES = 8
"""A panel with more systems is split by the first part of their names, which is that of a task."""


@dataclass(frozen=True)
class Panel:
    """The tests with the same values of some axes, of all systems or of those whose names start with ``group``."""

    group: str
    axes: Axes
    cells: Mapping[int, tuple[Cell, ...]]
    """By the index of the system, sorted by length; no system without cells."""
    systems: tuple[int, ...]
    """Indices of the systems that belong here, those without cells included."""

    @property
    def title(self) -> str:
        """Text such as ``addition, chains 4``; empty if there is one panel."""
        return ", ".join(part for part in (self.group, axes_text(self.axes)) if part)

    @property
    def lengths(self) -> list[int]:
        """All tested lengths in increasing order."""
        return sorted({cell.length for cells in self.cells.values() for cell in cells})


def panels(systems: Sequence[SystemSummary]) -> list[Panel]:
    """The panels of all systems, in the order of the results; at least one, unless there is no system."""
    keys = panel_axes([cell for system in systems for cell in system.cells])
    axes = list(dict.fromkeys(panel_of(cell.axes, keys) for system in systems for cell in system.cells)) or [()]
    groups = list(dict.fromkeys(_group(system) for system in systems))
    together = [_panel(systems, "", values, keys) for values in axes]
    if "" in groups or max(len(panel.cells) for panel in together) <= MOST_LINES:
        return together
    split = [_panel(systems, group, values, keys) for group in groups for values in axes]
    return [panel for panel in split if panel.cells or panel.axes == axes[0]]


def _panel(systems: Sequence[SystemSummary], group: str, values: Axes, keys: Sequence[str]) -> Panel:
    mine = tuple(index for index, system in enumerate(systems) if group in ("", _group(system)))
    found = {}
    for index in mine:
        cells = [cell for cell in systems[index].cells if panel_of(cell.axes, keys) == values]
        if cells:
            found[index] = tuple(sorted(cells, key=lambda cell: cell.length))
    return Panel(group, values, found, mine)


def _group(system: SystemSummary) -> str:
    """The part of a system's name before the first comma; empty if there is none."""
    first, comma, _ = system.name.partition(", ")
    return first if comma else ""
