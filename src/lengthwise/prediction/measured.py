"""Reads the medians of the committed results, which the package ships as ``measured.json``."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from lengthwise.prediction.systems import PositionSystem

CUT = 0.70
"""Below this median exact match at the longest test, a fitted system did not generalize, as in the blind study."""


def measured(task: str) -> tuple[str, ...]:
    """One line per system that was trained on ``task``: the number of fitted seeds, and median accuracy by length."""
    return tuple(
        f"{row['system']}: fitted {row['fitted']} of {row['seeds']}"
        + "".join(f", {cell['label']} {cell['median']:.2f}" for cell in row["cells"])
        + f"  (commit {row['commit']})"
        for row in _rows()
        if row["task"] == task
    )


def conflict(task: str, system: PositionSystem) -> str:
    """The measurements against a *yes* for this position system; empty if there are none.

    One counts if most of its seeds fitted and every median at its longest test is below `CUT`.
    """
    against = [row for row in _rows() if row["task"] == task and _of(row, system) and _contradicts(row)]
    return "; ".join(
        f"{row['system']}, {row['fitted']} of {row['seeds']} seeds fitted: at most "
        f"{max(cell['median'] for cell in row['cells']):.2f} at length {row['cells'][0]['length']}"
        for row in against
    )


def _of(row: dict[str, Any], system: PositionSystem) -> bool:
    scheme = system.scheme["name"], bool(system.scheme.get("random_start", False))
    return scheme == (row["scheme"], row["random_start"]) and row["encoding"] == system.encoding


def _contradicts(row: dict[str, Any]) -> bool:
    return 2 * row["fitted"] > row["seeds"] and bool(row["cells"]) and all(c["median"] < CUT for c in row["cells"])


@lru_cache(maxsize=1)
def _rows() -> list[dict[str, Any]]:
    path = files("lengthwise.prediction").joinpath("measured.json")
    return json.loads(path.read_text(encoding="utf-8"))["systems"] if path.is_file() else []
