"""What was measured of a target, and how often verdicts of a kind held."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from lengthwise.core.config import canonical_json
from lengthwise.measured.cells import MeasuredCell, cells
from lengthwise.positions.system import SYSTEMS, PositionSystem
from lengthwise.prediction.verdict import Contradiction, Verdict

CUT = 0.70
"""Below this median exact match at the longest test, a fitted system did not generalize, as in the blind study."""
DECIDING = (101, 150)
"""The lengths by which a cell under the frozen ladder is decided."""
OLD_TABLE, FROZEN = "huang", "blind-published"
"""The study of the searched table, and that of published tasks under the frozen ladder."""
BEFOREHAND = ("golowich-assignment", "golowich-parity", "golowich-sparse-parity")
"""Studies with settings that were fixed beforehand."""
SHOWN = (
    *BEFOREHAND,
    *("variable-assignment", "parity-scratchpad", "sparse-parity", "addition", "coupled-arithmetic", OLD_TABLE),
)
"""The studies whose systems are shown beside the ladder's."""
ABLATIONS = ("ppc-ablations", "golowich-ablations", "training-length", "one-model")
"""Studies that take parts of a position system away, or train to short lengths on purpose: no evidence against it."""
NOTES = {
    OLD_TABLE: "settings searched with results seen, studies/huang/README.md",
    FROZEN: "one ladder of settings for all tasks, studies/blind/README.md",
    **dict.fromkeys(BEFOREHAND, "settings fixed beforehand"),
}
"""How the settings of a study were chosen, where that says how far to trust it."""
IDENTITY = ("language", "ask", "symbols", "scratchpad", "operands", "base")
"""Settings of a task that make it another task."""


@dataclass(frozen=True)
class Row:
    """One system at its longest test: label and median accuracy of each test of that length."""

    cell: MeasuredCell
    label: str
    length: int
    medians: tuple[tuple[str, float], ...]

    @property
    def highest(self) -> float:
        """The largest median."""
        return max(median for _, median in self.medians)

    @property
    def note(self) -> list[str]:
        """How the settings were chosen."""
        return [NOTES[self.cell.study]] if self.cell.study in NOTES else []

    @property
    def line(self) -> str:
        """The row for a reader."""
        cell = self.cell
        found = "".join(f", {label} {median:.2f}" for label, median in self.medians)
        source = ", ".join([*self.note, f"commit {cell.commit}"])
        return f"{self.label}: fitted {sum(cell.fitted)} of {len(cell.seeds)}{found}  ({source})"


def measured(task: Mapping[str, Any]) -> tuple[str, ...]:
    """One line per system that was trained on a task: the number of fitted seeds, and median accuracy by length.

    ``task`` is the task's configuration.
    """
    return tuple(row.line for row in shown_rows() if same_task(row.cell.task, task))


def with_conflicts(verdicts: Iterable[Verdict], task: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """The verdicts on a task, each *yes* with the measurements against it; ``task`` is the task's configuration.

    A setting counts if most of its seeds fitted, and is against a *yes* if every median at its longest test is below
    `CUT`.
    """
    return tuple(replace(v, conflict=_conflict(v.system, task)) if v.answer == "yes" else v for v in verdicts)


def _conflict(system: str, task: Mapping[str, Any]) -> Contradiction | None:
    """Of the first task of this identity in which a setting failed."""
    for (_, name), rows in by_position(task["name"]).items():
        below = sum(row.highest < CUT for row in rows)
        if below and name == system and same_task(rows[0].cell.task, task):
            worst = min(rows, key=lambda row: row.highest)
            return Contradiction(below, len(rows), worst.highest, worst.length, _sentence(worst, below, len(rows)))
    return None


def _sentence(worst: Row, below: int, settings: int) -> str:
    fitted = f"{sum(worst.cell.fitted)} of {len(worst.cell.seeds)} seeds fitted"
    number = f"at most {worst.highest:.2f} at length {worst.length}"
    count = "" if settings == 1 else f"{below} of {settings} settings below {CUT:.2f}, "
    return ", ".join([f"{count}{number} ({worst.label}, {fitted})", *worst.note])


def task_identity(task: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that make a task another one; sizes, such as ``letters``, are left out."""
    return {key: task[key] for key in ("name", *IDENTITY) if task.get(key) is not None}


def same_task(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two configurations are of one task, as far as both name the settings of its identity."""
    first, second = task_identity(one), task_identity(other)
    return all(first[key] == second[key] for key in first.keys() & second.keys())


def trained_with(cell: MeasuredCell, system: PositionSystem) -> bool:
    """Whether the scheme and the encoding of a cell are those of a position system."""
    if system.registered_scheme != cell.scheme or system.random_start != cell.random_start:
        return False
    return cell.encoding_name == system.encoding


@lru_cache(maxsize=1)
def shown_rows() -> tuple[Row, ...]:
    """The rows for a reader: the ladder's, then those of `SHOWN`, settings that were fixed beforehand first.

    Of several configurations of a system, the one with the longest test counts, apart from `OLD_TABLE`, whose settings
    differ in outcome.
    """
    farthest: dict[tuple[str, str], MeasuredCell] = {}
    for cell in cells():
        key = cell.study, f"{cell.system} {cell.variant}" if cell.study == OLD_TABLE else cell.system
        if cell.study in SHOWN and (key not in farthest or _reach(cell) > _reach(farthest[key])):
            farthest[key] = cell
    order = {study: number for number, study in enumerate(SHOWN)}
    chosen = sorted(
        farthest.values(),
        key=lambda cell: (cell.study not in BEFOREHAND, int(cell.task.get("k_max", 0)), order[cell.study]),
    )
    return (*(_ladder_row(cell) for cell in cells() if cell.study == FROZEN), *map(_row, chosen))


@lru_cache
def by_position(task: str = "") -> dict[tuple[str, str], list[Row]]:
    """By task and position system: all settings in which most seeds fitted, or those of tasks of one name."""
    groups: dict[tuple[str, str], list[Row]] = {}
    found = [cell for cell in cells() if task in ("", cell.task["name"])]
    others = [_row(cell) for cell in found if cell.rung is None and cell.study not in ABLATIONS]
    for row in (*others, *(_ladder_row(cell) for cell in found if cell.study == FROZEN)):
        system = next((system for system in SYSTEMS if trained_with(row.cell, system)), None)
        if system is not None and row.medians and 2 * sum(row.cell.fitted) > len(row.cell.seeds):
            groups.setdefault((canonical_json(task_identity(row.cell.task)), system.known_as), []).append(row)
    return dict(sorted(groups.items()))


def _reach(cell: MeasuredCell) -> tuple[int, int]:
    """The longest test, then the number of tests."""
    tests = [t for t in cell.tests if t.median(cell.fitted) is not None]
    return max((t.high for t in tests), default=0), len(tests)


def _ladder_row(cell: MeasuredCell) -> Row:
    """One cell under the frozen ladder; one that is not decided has no accuracy."""
    score = cell.accuracy(*DECIDING)
    label = f"{cell.name}, {cell.system}, rung {cell.rung}, trained to {cell.train}"
    found = () if score is None else ((f"length {DECIDING[0]}–{DECIDING[1]}", round(score, 4)),)
    return Row(cell, label, DECIDING[1], found)


def _row(cell: MeasuredCell) -> Row:
    """One system of a study at its longest test beyond training.

    Of sparse parity, balanced tests count where they exist, for k up to K_train.
    """
    groups: dict[tuple[int, int, str], list[float]] = {}
    for test in cell.tests:
        axes = dict(test.axes)
        if cell.task.get("balanced") and (axes.pop("min_ones", None) != 0 or axes["k"] > cell.task["k_max"]):
            continue
        found = [a for a, fit in zip(test.accuracy, cell.fitted, strict=True) if fit and a is not None]
        if found and test.high >= cell.train:
            text = ", ".join(f"{key} {value}" for key, value in axes.items())
            groups.setdefault((test.low, test.high, text), []).extend(found)
    longest = max((high for _, high, _ in groups), default=0)
    medians = []
    for (low, high, text), found in groups.items():
        if high == longest:
            lengths = f"length {low}–{high}" if low < high else f"length {high}"
            medians.append((lengths + (f" ({text})" if text else ""), round(statistics.median(found), 4)))
    name = f"{cell.system} ({cell.variant})" if cell.study == OLD_TABLE and cell.variant else cell.system
    return Row(cell, f"{name}, trained to {cell.train}", longest, tuple(medians))


STUDIES = {"reliability": "blind", "next_symbols": "blind-next", "other_positions": "variants"}
"""The studies whose verdicts were written down before training."""
OTHER_POSITIONS = ("rope", "alibi")
"""The systems of the study of other positions; its variants of learned positions have no verdict of their own."""


@lru_cache(maxsize=1)
def measured_reliability() -> Mapping[str, Any]:
    """By encoding and verdict: cells of a study, decided ones, and those that came out so.

    ``reliability`` is that of the blind study; ``next_symbols`` that of the second study, whose verdicts are on next
    symbols; ``other_positions`` that of RoPE and ALiBi on twelve more languages.
    """
    found: dict[str, dict[str, dict[str, dict[str, int]]]] = {name: {} for name in STUDIES}
    for name, study in STUDIES.items():
        for cell in cells():
            if cell.study != study or (name == "other_positions" and cell.system not in OTHER_POSITIONS):
                continue
            empty = {"cells": 0, "decided": 0, "right": 0}
            counts = found[name].setdefault(cell.system, {}).setdefault(cell.predicted, empty)
            score = cell.accuracy(*DECIDING)
            counts["cells"] += 1
            counts["decided"] += score is not None
            counts["right"] += score is not None and (score >= CUT) == (cell.predicted == "yes")
    return found


def reliability_line(measured: Mapping[str, Any], encoding: str, answer: str, next_symbols: str | None = None) -> str:
    """How often such a verdict held in the blind study, or on twelve more languages; empty where neither has one.

    ``next_symbols`` is the verdict on next symbols; how often it held comes from the second study, if that has the
    encoding.
    """
    if other := measured["other_positions"].get(encoding, {}).get(answer):
        return f"a {answer} on membership was true of {_counted(other, 'study of twelve more')}"
    first = measured["reliability"].get(encoding, {}).get(answer)
    second = measured["next_symbols"].get(encoding, {}).get(next_symbols)
    line = f"a {answer} on membership was true of {_counted(first, 'blind study')}" if first else ""
    if line and second:
        line += f"; a {next_symbols} on next symbols of {_counted(second, 'second study')}"
    return line


def _counted(counts: Mapping[str, int], study: str) -> str:
    """How often a verdict held, and on what: other languages, and another cut, than those of a forecast."""
    return f"{counts['right']} of {counts['decided']} other languages that fit (of {counts['cells']}; {study})"
