"""Condenses the committed results to a few numbers per system, which `lengthwise predict` shows beside its verdicts.

``python -m lengthwise.report.headline results src/lengthwise/prediction/measured.json`` writes them; a test compares
the file with ``results/``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lengthwise.core.files import write_json
from lengthwise.report.result import load
from lengthwise.report.summary import SystemSummary, summarize

RECIPES = ("variable-assignment", "parity-scratchpad", "sparse-parity", "addition", "coupled-arithmetic")
"""The recipes whose systems are shown; ablations and searches are left out."""


def headline_numbers(results: Path) -> dict[str, Any]:
    """Per system: task, seeds, fitted seeds, and the median exact match at the longest test, as JSON values.

    Of several configurations of a system, the one with the longest test counts. Of sparse parity, balanced tests count
    where they exist, for k up to K_train. Raises `LengthwiseError` as `load` does.
    """
    farthest: dict[tuple[str, str], SystemSummary] = {}
    for system in summarize(load([results])):
        key = system.recipe, system.results[0].system
        if system.recipe in RECIPES and (key not in farthest or _reach(system) > _reach(farthest[key])):
            farthest[key] = system
    in_order = sorted(farthest.values(), key=lambda system: int(system.experiment["task"].get("k_max", 0)))
    return {"systems": [_row(system) for system in in_order]}


def _reach(system: SystemSummary) -> tuple[int, int]:
    """The longest test, then the number of tests."""
    return max((cell.length for cell in system.cells), default=0), len(system.cells)


def _row(system: SystemSummary) -> dict[str, Any]:
    cells, task = [], system.experiment["task"]
    for cell in system.cells:
        axes_of = dict(cell.axes)
        if task.get("balanced") and (axes_of.pop("min_ones", None) != 0 or axes_of["k"] > task["k_max"]):
            continue
        found = cell.estimate()
        if found is not None and cell.length >= system.max_length:
            axes = ", ".join(f"{key} {value}" for key, value in axes_of.items())
            label = f"length {cell.length}" + (f" ({axes})" if axes else "")
            cells.append({"label": label, "length": cell.length, "median": round(found.median, 4)})
    longest = sorted({cell["length"] for cell in cells})[-1:]
    return {
        "task": system.experiment["task"]["name"],
        "system": f"{system.results[0].system}, trained to {system.max_length}",
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
