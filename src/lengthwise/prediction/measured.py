"""Reads the medians of the committed results, which the package ships as ``measured.json``."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any


def measured(task: str) -> tuple[str, ...]:
    """One line per system that was trained on ``task``: the number of fitted seeds, and median accuracy by length."""
    return tuple(
        f"{row['system']}: fitted {row['fitted']} of {row['seeds']}"
        + "".join(f", {cell['label']} {cell['median']:.2f}" for cell in row["cells"])
        + f"  (commit {row['commit']})"
        for row in _rows()
        if row["task"] == task
    )


@lru_cache(maxsize=1)
def _rows() -> list[dict[str, Any]]:
    path = files("lengthwise.prediction").joinpath("measured.json")
    return json.loads(path.read_text(encoding="utf-8"))["systems"] if path.is_file() else []
