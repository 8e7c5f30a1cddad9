"""What the frozen ladder of the blind study measured on the published tasks, as rows of `headline_numbers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lengthwise.core.files import read_json
from lengthwise.prediction.measured import FROZEN, task_identity
from lengthwise.prediction.systems import SYSTEMS

SHOWN, LONGEST, TRAINED = "101–150", 150, 50
"""The lengths by which a cell is decided, the longest of them, and the longest in training."""


def frozen_rows(results: Path) -> list[dict[str, Any]]:
    """One row per task and position system that has run; one that is not decided has no accuracy.

    Raises `LengthwiseError` if ``results/blind`` lacks a file.
    """
    study = results / "blind"
    tasks = {
        entry["name"]: entry["task"] for entry in read_json(study / "preregistration.json")["content"]["published"]
    }
    cells = read_json(study / "published-table.json")["cells"]
    return [_row(cell, tasks[cell["language"]]) for cell in cells if cell["status"] != "not run"]


def _row(cell: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    system = next(system for system in SYSTEMS if system.name == cell["encoding"])
    decided = cell["status"] == "decided"
    found = {"label": f"length {SHOWN}", "length": LONGEST, "median": cell["score"]}
    return {
        "task": task_identity(task),
        "recipe": FROZEN,
        "system": f"{cell['language']}, {system.name}, rung {cell['rung']}, trained to {TRAINED}",
        "scheme": system.scheme["name"],
        "random_start": bool(system.scheme.get("random_start", False)),
        "encoding": system.encoding,
        "seeds": len(cell["seeds"]),
        "fitted": cell["fitted"],
        "cells": [found] if decided else [],
        "commit": cell["commits"][-1],
    }
