"""Condenses the committed results to a few numbers per system, which `lengthwise predict` shows beside its verdicts.

``systems`` are the lines that it prints. ``positions`` count, for each task and position system, all settings that
fitted and those of them that failed at their longest test; this is what can contradict a verdict.

``python -m lengthwise.report.headline results src/lengthwise/prediction/measured.json`` writes them; a test compares
the file with ``results/``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lengthwise.core.config import canonical_json
from lengthwise.core.files import write_json
from lengthwise.prediction.measured import BEFOREHAND, OLD_TABLE, below, task_identity, trained_with
from lengthwise.prediction.systems import SYSTEMS
from lengthwise.report.blind.frozen_rows import frozen_rows
from lengthwise.report.result import load
from lengthwise.report.summary import SystemSummary, summarize

SHOWN = ("variable-assignment", "parity-scratchpad", "sparse-parity", "addition", "coupled-arithmetic", OLD_TABLE)
RECIPES = (*BEFOREHAND, *SHOWN)
"""The recipes whose systems are shown, those with settings fixed beforehand first; ablations are left out."""
ABLATIONS = ("ppc-ablations", "golowich-ablations")
"""Recipes that take parts of a position system away, and so say nothing against it."""


def headline_numbers(results: Path) -> dict[str, Any]:
    """Per system: task, seeds, fitted seeds, and the median exact match at the longest test, as JSON values.

    Of several configurations of a system, the one with the longest test counts. Of sparse parity, balanced tests count
    where they exist, for k up to K_train. Raises `LengthwiseError` as `load` does.
    """
    farthest: dict[tuple[str, str], SystemSummary] = {}
    rows: list[dict[str, Any]] = []
    for system in summarize(load([results])):
        if system.recipe not in ABLATIONS:
            rows.append(_row(system))
        # Settings of the old table are all shown, since they differ in outcome.
        key = system.recipe, system.label if system.recipe == OLD_TABLE else system.results[0].system
        if system.recipe in RECIPES and (key not in farthest or _reach(system) > _reach(farthest[key])):
            farthest[key] = system
    in_order = sorted(
        farthest.values(),
        key=lambda system: (system.recipe not in BEFOREHAND, int(system.experiment["task"].get("k_max", 0))),
    )
    ladder = frozen_rows(results)
    return {"systems": [*ladder, *map(_row, in_order)], "positions": _by_position([*rows, *ladder])}


def _by_position(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Per task and position system: settings in which most seeds fitted, how many are `below`, and the worst one."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        system = next((system for system in SYSTEMS if trained_with(row, system)), None)
        if system is not None and 2 * row["fitted"] > row["seeds"] and row["cells"]:
            place = {"task": row["task"], "positions": system.name}
            groups.setdefault(canonical_json(place), []).append({**row, **place})
    return [
        {
            **{key: members[0][key] for key in ("task", "positions")},
            "settings": len(members),
            "below": sum(map(below, members)),
            "worst": {
                **{key: worst[key] for key in ("recipe", "system", "seeds", "fitted")},
                "highest": max(cell["median"] for cell in worst["cells"]),
                "length": worst["cells"][0]["length"],
            },
        }
        for _, members in sorted(groups.items())
        for worst in [min(members, key=lambda row: max(cell["median"] for cell in row["cells"]))]
    ]


def _reach(system: SystemSummary) -> tuple[int, int]:
    """The longest test, then the number of tests."""
    return max((cell.length for cell in system.cells), default=0), len(system.cells)


def _row(system: SystemSummary) -> dict[str, Any]:
    cells, task = [], system.experiment["task"]
    name = system.label if system.recipe == OLD_TABLE else system.results[0].system
    for cell in system.cells:
        axes_of = dict(cell.axes)
        if task.get("balanced") and (axes_of.pop("min_ones", None) != 0 or axes_of["k"] > task["k_max"]):
            continue
        found = cell.estimate()
        if found is not None and cell.length >= system.max_length:
            bounds = axes_of.pop("low", None), axes_of.pop("high", None)
            axes = ", ".join(f"{key} {value}" for key, value in axes_of.items())
            lengths = f"{bounds[0]}–{bounds[1]}" if bounds[0] is not None else str(cell.length)
            label = f"length {lengths}" + (f" ({axes})" if axes else "")
            cells.append({"label": label, "length": cell.length, "median": round(found.median, 4)})
    longest = sorted({cell["length"] for cell in cells})[-1:]
    return {
        "task": task_identity(system.experiment["task"]),
        "recipe": system.recipe,
        "system": f"{name}, trained to {system.max_length}",
        "scheme": system.experiment["scheme"]["name"],
        "random_start": bool(system.experiment["scheme"].get("random_start", False)),
        "encoding": system.experiment["encoding"]["name"],
        "seeds": len(system.results),
        "fitted": len(system.fitted),
        "cells": [cell for cell in cells if cell["length"] in longest],
        "commit": system.results[0].commit,
    }


if __name__ == "__main__":
    write_json(Path(sys.argv[2]), headline_numbers(Path(sys.argv[1])))
