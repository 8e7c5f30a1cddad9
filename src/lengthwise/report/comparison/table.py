"""The ranked table of a comparison, and the notes that belong below it; from ``comparison.json``, without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lengthwise.core.table import Table
from lengthwise.prediction.shown_task.stored_task import title_of

COLUMNS = ("system", "reaches", "each seed", "in distr.", "theory", "k", "span", "setting")


def comparison_table(values: Mapping[str, Any]) -> Table:
    """One row per system, best first: median reach, every seed's, the verdict, sparsity, span and the setting."""
    rows = tuple(_row(row) for row in values["systems"])
    caption = (
        f"{title_of(values['name'])}: longest length with at least {values['reach_at']:.0%} exact match, "
        f"trained up to {values['trained_to']}, {values['steps']} steps each"
    )
    return Table(COLUMNS, rows, caption=caption, notes=tuple(notes_of(values)))


def _row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    seeds = row["seeds"]
    each = " ".join(str(seed["reach"]) if seed["fitted"] else "×" for seed in seeds)
    rates = sorted(seed["in_distribution"] for seed in seeds)
    reach = row["reach"] if row["fitted"] else ("diverged" if row["diverged"] else "unfitted" if seeds else "not run")
    return (
        row["system"],
        reach,
        each or None,
        f"{rates[(len(rates) - 1) // 2]:.3f}" if rates else None,
        row["verdict"],
        _growth(row["sparsity"]),
        _growth(row["span"]),
        row["setting"],
    )


def command_of(copy: Mapping[str, Any]) -> str:
    """Python that trains a system again."""
    options = ", ".join(f"{key}={value!r}" for key, value in copy.items() if key != "task")
    return f"lw.Experiment({copy['task']!r}, {options})"


def _growth(numbers: list[int] | None) -> str | None:
    """One number where all are equal, otherwise the first and the last."""
    if not numbers:
        return None
    return str(numbers[0]) if len(set(numbers)) == 1 else f"{numbers[0]}…{numbers[-1]}"


def notes_of(values: Mapping[str, Any]) -> list[str]:
    """What a reader must know: which seeds did not fit, what is missing, and how the settings were chosen."""
    rows = values["systems"]
    notes = [
        f"the median is over all {values['seeds']} seeds; tested lengths: {', '.join(map(str, values['tests']))}; "
        "settings are chosen by the fit on training lengths alone"
    ]
    unfitted = [
        f"{row['system']} ({len(row['seeds']) - row['fitted']} of {len(row['seeds'])})"
        for row in rows
        if row["fitted"] < len(row["seeds"])
    ]
    if unfitted:
        notes.append(f"× is not fitted, which counts as 0 and says nothing about length: {', '.join(unfitted)}")
    silent = [row["system"] for row in rows if row["verdict"] is None]
    if silent:
        notes.append(f"no theorem covers {', '.join(silent)}")
    lengths = next((row["structure_lengths"] for row in rows if row["structure_lengths"]), None)
    if lengths:
        notes.append(f"k and span: sparsity and span at lengths {lengths[0]} to {lengths[-1]}")
    missing = [f"{row['system']} ({row['missing']})" for row in rows if row["missing"] and not row["diverged"]]
    if missing:
        notes.append(f"seeds that the budget did not reach: {', '.join(missing)}; the same command goes on from here")
    differ = values["top_and_bottom_differ_in_every_seed"]
    if differ is not None:
        notes.append(
            "the first and the last fitted system differ in every seed"
            if differ
            else "the seeds of the first and the last fitted system overlap: this ranking may be noise"
        )
    return notes
