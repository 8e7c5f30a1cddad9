"""Accuracy against length in a terminal: a curve and numbers for each system, within 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

from lengthwise.core.statistics import Estimate
from lengthwise.core.table import WIDTH, Spread, shown
from lengthwise.report.summary import (
    Panel,
    SystemSummary,
    chance_text,
    fit_share,
    fitted_counts,
    over_seeds,
    panels,
    trained_text,
)

BLOCKS = "▁▂▃▄▅▆▇█"


def curve(medians: Sequence[float | None]) -> str:
    """A block for each length, the higher the more strings are right; blank where none was tested."""
    return "".join(" " if one is None else BLOCKS[round(7 * one)] for one in medians)


def accuracy_text(systems: Sequence[SystemSummary], others: Mapping[str, str] | None = None) -> str:
    """A caption, and for each panel a row for each system: its curve over all tested lengths, and numbers.

    Numbers at lengths from the middle are left out where 80 columns are too few; a line says so. ``others`` are the
    rows of systems without a result.
    """
    wanted = [panel for panel in panels(systems) if panel.cells or not any(system.fitted for system in systems)]
    parts = ["\n".join(wrap(_caption(systems), WIDTH))] if systems else []
    for at, panel in enumerate(wanted or [None]):
        title = [panel.title] if panel is not None and panel.title else []
        parts.append("\n".join([*title, *_rows(panel, systems, (others or {}) if at == 0 else {})]))
    return "\n\n".join(parts)


def _caption(systems: Sequence[SystemSummary]) -> str:
    several = max(len(system.fitted) for system in systems) > 1
    chance = chance_text(systems)
    said = (
        f"Exact match by length, {trained_text(systems)}: median of the fitted seeds"
        f"{' (lowest–highest)' * several}. Seeds that fitted: {fitted_counts(systems)}."
    )
    return said + f" {chance[:1].upper()}{chance[1:]}." * bool(chance)


def _rows(panel: Panel | None, systems: Sequence[SystemSummary], others: Mapping[str, str]) -> list[str]:
    found = {
        i: {cell.length: over_seeds(cell.scores, brackets="range") for cell in cells}
        for i, cells in (panel.cells.items() if panel is not None else ())
    }
    lengths = panel.lengths if panel is not None else []
    mine = [systems[i] for i in panel.systems] if panel is not None else []
    unfitted = {system.label: _unfitted(system) for system in mine if not system.fitted} | dict(others)
    wide = max((len(name) for name in [*unfitted, *(systems[i].label for i in found)]), default=0)
    kept = list(lengths)
    while True:
        head = ["system", f"{lengths[0]}…{lengths[-1]}" if lengths else "", *map(str, kept)]
        rows = [
            [systems[i].label, curve([one.median if (one := cells.get(n)) else None for n in lengths]),
             *(_number(cells.get(n)) for n in kept)]
            for i, cells in found.items()
        ]  # fmt: skip
        widths = [
            max(wide, len(head[0])),
            *(max(map(len, column)) for column in list(zip(head, *rows, strict=True))[1:]),
        ]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in ([head, *rows] if rows else ())
        ]
        if max(map(len, lines), default=0) <= WIDTH or len(kept) < 2:
            gone = ", ".join(str(length) for length in lengths if length not in kept)
            room, under = WIDTH - widths[0] - 2, "\n" + " " * (widths[0] + 2)
            return [
                *lines,
                *wrap(f"without room, so in the curves alone: {gone}" * bool(gone), WIDTH),
                *(f"{name.ljust(widths[0])}  {under.join(wrap(says, room))}" for name, says in unfitted.items()),
            ]
        del kept[(len(kept) - 1) // 2]


def _number(found: Estimate | None) -> str:
    return "–" if found is None else shown(Spread(found.median, found.low, found.high), 2)


def _unfitted(system: SystemSummary) -> str:
    """What is known of a system without a fitted seed."""
    said = f"not fitted: right on {100 * system.in_distribution.median:.4g} % of strings of training lengths"
    said += f", {share} required" if (share := fit_share([system])) else ""
    measured = ((cell.length, cell.estimate()) for cell in system.unfitted_cells)
    control = ", ".join(f"({found.median:.3f}) at {length}" for length, found in measured if found)
    return f"{said}; measured as a control (unfitted_too): {control}" if control else said
