"""Accuracy against length in a terminal: a curve and numbers for each system, within 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from textwrap import wrap
from typing import Any

from lengthwise.core.statistics import Estimate
from lengthwise.core.table import WIDTH, Spread, rounded, shown
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.positions.system import other_names
from lengthwise.report.summary import (
    Panel,
    SystemSummary,
    chance_text,
    fit_share,
    fitted_counts,
    nearly_fits,
    over_seeds,
    panels,
    percent,
    trained_text,
)
from lengthwise.report.words import percent_down

BLOCKS = "▁▂▃▄▅▆▇█"


def curve(medians: Sequence[float | None]) -> str:
    """A block for each length, the higher the more strings are right; blank where none was tested."""
    return "".join(" " if one is None else BLOCKS[round(7 * one)] for one in medians)


def accuracy_text(systems: Sequence[SystemSummary]) -> str:
    """A caption, and for each panel a row for each system: its curve over all tested lengths, and numbers.

    Numbers at lengths from the middle are left out where 80 columns are too few; a line says so.
    """
    wanted = [panel for panel in panels(systems) if panel.cells or not any(system.fitted for system in systems)]
    caption = ["\n".join(wrap(_caption(systems), WIDTH))] if systems else []
    parts = ["\n".join([*[panel.title] * bool(panel.title), *_rows(panel, systems)]) for panel in wanted]
    return "\n\n".join([*caption, *(parts or [""])])


def _caption(systems: Sequence[SystemSummary]) -> str:
    several = max(len(system.fitted) for system in systems) > 1
    chance = chance_text(systems)
    said = (
        f"Exact match by length, {trained_text(systems)}: median of the fitted seeds"
        f"{' (lowest–highest)' * several}. Seeds that fitted: {fitted_counts(systems)}."
    )
    return said + f" {chance[:1].upper()}{chance[1:]}." * bool(chance)


def _rows(panel: Panel, systems: Sequence[SystemSummary]) -> list[str]:
    found = {
        i: {cell.length: over_seeds(cell.scores, brackets="range") for cell in cells}
        for i, cells in panel.cells.items()
    }
    lengths, mine = panel.lengths, [systems[i] for i in panel.systems]
    unfitted = {system.label: _unfitted(system) for system in mine if not system.fitted}
    rows = {
        systems[i].label: [
            curve([one.median if (one := cells.get(n)) else None for n in lengths]),
            *(_number(cells.get(n)) for n in lengths),
        ]
        for i, cells in found.items()
    }
    return _laid_out([f"{lengths[0]}…{lengths[-1]}" if lengths else "", *map(str, lengths)], rows, unfitted, 1)


def _laid_out(
    head: Sequence[str], rows: Mapping[str, Sequence[str]], rest: Mapping[str, str], before: int, after: int = 0
) -> list[str]:
    """Lines of 80 columns: cells for each of ``rows``, and text for each of the ``rest``.

    ``before`` columns and ``after`` ones are kept; of those between, the middle ones are left out for room.
    """
    wide, kept = max(map(len, ["system", *rows, *rest])), list(range(len(head)))
    cells = [["system", *head], *([name, *of] for name, of in rows.items())]
    while True:
        shown = [[line[0], *(line[1 + i] for i in kept)] for line in cells]
        widths = [wide, *(max(map(len, column)) for column in list(zip(*shown, strict=True))[1:])]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in (shown if rows else ())
        ]
        if max(map(len, lines), default=0) <= WIDTH or len(kept) <= before + after + 1:
            gone = ", ".join(head[i] for i in range(len(head)) if i not in kept)
            room, under = WIDTH - wide - 2, "\n" + " " * (wide + 2)
            return [
                *lines,
                *wrap(f"without room, so in the curves alone: {gone}" * bool(gone), WIDTH),
                *(f"{name.ljust(wide)}  {under.join(wrap(says, room))}" for name, says in rest.items()),
            ]
        del kept[before + (len(kept) - before - after - 1) // 2]


def ranking_text(values: Mapping[str, Any]) -> str:
    """The systems of a comparison, best first, a line each, and what the marks mean.

    A number is the median of the seeds that fit, in whole per cent, rounded down, so that 95 is right at 95 %.
    """
    tests, rows, rest, untrained = values["tests"], dict[str, list[str]](), dict[str, str](), list[str]()
    for row in values["systems"]:
        fitted = [seed for seed in row["seeds"] if seed["fitted"]]
        if not fitted:
            if says := not_fitted(row, values):
                rest[row["system"]] = says
            else:
                untrained.append(row["system"])
            continue
        rates = [[seed["exact_match"][str(n)] for seed in fitted] for n in tests]
        far = dict.fromkeys(str(seed["reach"] or "–") for seed in sorted(fitted, key=lambda seed: seed["reach"]))
        numbers = [str(int(100 * median(of) + 1e-9)) for of in rates]
        fit = f"{len(fitted)}/{len(row['seeds'])}"
        beyond = str(int(100 * row["mean_beyond"] + 1e-9))
        rows[row["system"]] = [curve([median(of) for of in rates]), fit, *numbers, beyond, " ".join(far)]
    legend = (
        f"fit: seeds right on {percent(EvaluationConfig.fit_threshold)} of strings up to length "
        f"{values['trained_to']}. Of these: curve and numbers (% right), the median; far "
        f"({percent(values['reach_at'])} up to there), each. Beyond: the mean of longer tests and all seeds."
    )
    lines = _laid_out(["curve", "fit", *map(str, tests), "beyond", "far"], rows, rest, 2, 2)
    left = [f"not trained yet: {', '.join(untrained)}"] if untrained else []
    return "\n".join(
        [*lines, *(line for text in (*left, legend * bool(rows), *other_names(rows)) for line in wrap(text, WIDTH))]
    )


def not_fitted(row: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """What is known of a system of a comparison without a fitted seed; empty where that is nothing."""
    rates = [seed["in_distribution"] for seed in row["seeds"]]
    tried = [rate for rate in row["tuning"] or () if rate is not None]
    if row["diverged"]:
        return "diverged"
    if not rates and not tried:
        return ""
    low, high = min(rates or tried), max(rates or tried)
    low, high = map(percent_down, (low, high))
    share = low if low == high else f"{low} to {high}"
    of = f" ({len(rates)} seeds)" * (len(rates) > 1)
    tries = "" if rates else f", setting {len(row['tuning'])} of {len(values['grid'])}"
    return f"not fitted yet: {share} right at training lengths{of}{tries}"


def _number(found: Estimate | None) -> str:
    return "–" if found is None else shown(Spread(found.median, found.low, found.high), 2)


def _unfitted(system: SystemSummary) -> str:
    said = f"not fitted: right on {100 * system.in_distribution.median:.4g} % of strings of training lengths"
    said += f", {share} required" if (share := fit_share([system])) else ""
    said += ", which is within sampling error" * nearly_fits(system)
    measured = ((cell.length, cell.estimate()) for cell in system.unfitted_cells)
    control = ", ".join(f"({rounded(found.median)}) at {length}" for length, found in measured if found)
    return f"{said}; measured as a control (unfitted_too): {control}" if control else said
