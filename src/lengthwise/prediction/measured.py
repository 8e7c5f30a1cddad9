"""Reads the medians of the committed results, which the package ships as ``measured.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

from lengthwise.prediction.systems import PositionSystem
from lengthwise.prediction.verdict import Contradiction, Verdict

CUT = 0.70
"""Below this median exact match at the longest test, a fitted system did not generalize, as in the blind study."""
OLD_TABLE, FROZEN = "huang", "blind"
"""The recipe of the searched table, and the name of the frozen ladder here."""
BEFOREHAND = ("golowich-assignment", "golowich-parity", "golowich-sparse-parity")
"""Recipes with settings that were fixed beforehand."""
NOTES = {
    OLD_TABLE: "settings searched with results seen, docs/results/huang.md",
    FROZEN: "one ladder of settings for all tasks, docs/results/blind.md",
    **dict.fromkeys(BEFOREHAND, "settings fixed beforehand"),
}
"""How the settings of a recipe were chosen, where that says how far to trust it."""
IDENTITY = ("language", "ask", "symbols", "scratchpad", "operands", "base")
"""Settings of a task that make it another task."""


def measured(task: Mapping[str, Any]) -> tuple[str, ...]:
    """One line per system that was trained on a task: the number of fitted seeds, and median accuracy by length.

    ``task`` is the task's configuration.
    """
    return tuple(
        f"{row['system']}: fitted {row['fitted']} of {row['seeds']}"
        + "".join(f", {cell['label']} {cell['median']:.2f}" for cell in row["cells"])
        + f"  ({', '.join([*_note(row['recipe']), 'commit ' + row['commit']])})"
        for row in _contents()["systems"]
        if _agree(row["task"], task_identity(task))
    )


def with_conflicts(verdicts: Iterable[Verdict], task: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """The verdicts on a task, each *yes* with the measurements against it; ``task`` is the task's configuration.

    A setting counts if most of its seeds fitted, and is against a *yes* if every median at its longest test is below
    `CUT`.
    """
    return tuple(replace(v, conflict=_conflict(v.system, task)) if v.answer == "yes" else v for v in verdicts)


def _conflict(system: str, task: Mapping[str, Any]) -> Contradiction | None:
    for row in _contents()["positions"]:
        if row["below"] and row["positions"] == system and _agree(row["task"], task_identity(task)):
            worst = row["worst"]
            return Contradiction(row["below"], row["settings"], worst["highest"], worst["length"], _sentence(row))
    return None


def _sentence(row: Mapping[str, Any]) -> str:
    worst, number = row["worst"], f"at most {row['worst']['highest']:.2f} at length {row['worst']['length']}"
    seeds = f"{worst['fitted']} of {worst['seeds']} seeds fitted"
    count = f"{row['below']} of {row['settings']} settings below {CUT:.2f}, "
    found = ("" if row["settings"] == 1 else count) + f"{number} ({worst['system']}, {seeds})"
    return ", ".join([found, *_note(worst["recipe"])])


def _note(recipe: str) -> list[str]:
    return [NOTES[recipe]] if recipe in NOTES else []


def task_identity(task: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that make a task another one; sizes, such as ``letters``, are left out."""
    return {key: task[key] for key in ("name", *IDENTITY) if task.get(key) is not None}


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[key] == other[key] for key in one.keys() & other.keys())


def trained_with(row: Mapping[str, Any], system: PositionSystem) -> bool:
    """Whether the scheme and the encoding of a measured system are those of a position system."""
    scheme = system.scheme["name"], bool(system.scheme.get("random_start", False))
    return scheme == (row["scheme"], row["random_start"]) and row["encoding"] == system.encoding


def below(row: Mapping[str, Any]) -> bool:
    """Whether every median of a measured system at its longest test is below `CUT`."""
    return all(cell["median"] < CUT for cell in row["cells"])


@lru_cache(maxsize=1)
def _contents() -> dict[str, list[dict[str, Any]]]:
    path = files("lengthwise.prediction").joinpath("measured.json")
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"systems": [], "positions": []}
