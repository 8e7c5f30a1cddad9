"""What was measured of a target, and how often verdicts of a kind held."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lengthwise.core.files import read_json
from lengthwise.positions.system import PositionSystem
from lengthwise.prediction.verdict import Contradiction, Verdict

CUT = 0.70
"""Below this median exact match at the longest test, a fitted system did not generalize, as in the blind study."""
OLD_TABLE, FROZEN = "huang", "blind"
"""The recipe of the searched table, and the name of the frozen ladder here."""
BEFOREHAND = ("golowich-assignment", "golowich-parity", "golowich-sparse-parity")
"""Recipes with settings that were fixed beforehand."""
NOTES = {
    OLD_TABLE: "settings searched with results seen, studies/huang/README.md",
    FROZEN: "one ladder of settings for all tasks, studies/blind/README.md",
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
    scheme = system.registered_scheme, system.random_start
    return scheme == (row["scheme"], row["random_start"]) and row["encoding"] == system.encoding


def below(row: Mapping[str, Any]) -> bool:
    """Whether every median of a measured system at its longest test is below `CUT`."""
    return all(cell["median"] < CUT for cell in row["cells"])


@lru_cache(maxsize=1)
def _contents() -> dict[str, list[dict[str, Any]]]:
    path = files("lengthwise.prediction").joinpath("measured.json")
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"systems": [], "positions": []}


FILE = Path(str(files("lengthwise.prediction"))) / "reliability.json"


@lru_cache(maxsize=1)
def measured_reliability() -> Mapping[str, Any]:
    """By encoding and verdict: cells of a study, decided ones, and those that came out so.

    ``reliability`` is that of the blind study; ``next_symbols`` that of the second study, whose verdicts are on next
    symbols; ``other_positions`` that of RoPE and ALiBi on twelve more languages.
    """
    return read_json(FILE, what="measured reliability")


def reliability_line(measured: Mapping[str, Any], encoding: str, answer: str, next_symbols: str | None = None) -> str:
    """How often such a verdict held in the blind study, or on twelve more languages; empty where neither has one.

    ``next_symbols`` is the verdict on next symbols; how often it held comes from the second study, if that has the
    encoding.
    """
    if other := measured["other_positions"].get(encoding, {}).get(answer):
        return f"{answer} held in {_counted(other)} of twelve more languages"
    first = measured["reliability"].get(encoding, {}).get(answer)
    second = measured["next_symbols"].get(encoding, {}).get(next_symbols)
    line = f"{answer} held in {_counted(first)} of the blind study" if first else ""
    if line and second:
        line += f"; {next_symbols} for next symbols in {_counted(second)} of the second study"
    return line


def reliability_lines(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """A line for each verdict whose kind was measured; where there is none, one line on the whole blind study."""
    measured = measured_reliability()
    lines = {v.system: reliability_line(measured, v.system, v.answer, v.next_symbols) for v in verdicts}
    return tuple(f"{system}: {line}" for system, line in lines.items() if line) or (_over_all(measured["reliability"]),)


def _over_all(measured: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    counts = [counts for by_answer in measured.values() for counts in by_answer.values()]
    total = {name: sum(count[name] for count in counts) for name in ("cells", "decided", "right", "not run")}
    held = f"held in {_counted(total)} of the blind study"
    return f"no such verdict was measured; those with learned positions or none {held}"


def _counted(counts: Mapping[str, int]) -> str:
    missing = f" and {counts['not run']} not run" if counts["not run"] else ""
    return f"{counts['right']} of {counts['decided']} decided cells ({counts['cells']} in all{missing})"
