"""Pages of comparisons, audits and verifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lengthwise.core.table import Table
from lengthwise.prediction.example import title_of
from lengthwise.report.figures import NARROW, Picture, draw_audit, draw_blind, draw_comparison
from lengthwise.report.html import render_page

SWEEPS = {
    "problem": "the problem itself",
    "length": "length of the text alone",
    "distance": "distance of what matters alone",
    "number": "number of words that matter alone",
    "distractors": "distractors alone",
}
"""What varies in each sweep, in words."""


def audit_page(result: Mapping[str, Any]) -> str:
    """The page of a result of `lengthwise.audit.run.run_audit`, as HTML text."""
    apart = [name for name in result["cells"][0]["counts"] if name not in ("right", "wrong")]
    return render_page(
        "audit.html",
        title=f"Audit of {result['model']['name']} on {result['task']['name']}",
        result=result,
        sweeps=SWEEPS,
        apart=[name for name in apart if any(cell["counts"][name] for cell in result["cells"])],
        figure=Picture("audit", draw_audit(result["cells"]), draw_audit(result["cells"], NARROW)),
    )


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


def comparison_page(values: Mapping[str, Any]) -> str:
    """The page of a ``comparison.json``, as HTML text."""
    wide, narrow = draw_comparison(values), draw_comparison(values, NARROW)
    return render_page(
        "comparison.html",
        title=f"Position systems on {title_of(values['name'])}",
        shown=comparison_table(values),
        figure=Picture("comparison", wide, narrow) if wide else None,
        commands=[(row["system"], command_of(row["copy"])) for row in values["systems"] if row["copy"] is not None],
        provenance=f"Commit {values['commit']}, {values['machine'].get('processor', 'unknown processor')}, "
        f"{values['time'][:16].replace('T', ' ')} UTC, budget {values['budget_seconds']:.0f} s.",
    )


BINS = ("51-100", "101-150", "151-300")
CELL_HEADS = ("language", "expression", "positions", "predicted", "status", "rung", "fitted", *BINS, "prediction")


def picture(rows: Sequence[Mapping[str, Any]], cut: float) -> Picture | None:
    """The figure of all cells that were run, in both widths; None if there is none."""
    run = [row for row in rows if row["seeds"]]
    return Picture("blind", draw_blind(run, cut), draw_blind(run, cut, NARROW)) if run else None


def cell(row: Mapping[str, Any]) -> list[Any]:
    """One cell as a row: the scores of all seeds in each bin, the lower one of both sets of words."""
    numbers = []
    for name in BINS:
        rates = [[found["rate"] for found in seed["sets"].get(name, {}).values()] for seed in row["seeds"]]
        numbers.append(" ".join(f"{min(found):.2f}" for found in rates if found) or "–")
    verdict = {True: "right", False: "wrong", None: "undecided"}[row["right"]]
    fitted = f"{row['fitted']} of {len(row['seeds'])}" if row["seeds"] else "–"
    return [row["language"], row["expression"], row["encoding"], row["predicted"], row["status"],
            row["rung"] or "–", fitted, *numbers, verdict]  # fmt: skip


RULE = (
    "Trained on 1–50 symbols, five seeds per rung of the ladder of the blind study; the first rung with four fitted "
    "seeds speaks. A cell is decided on 101–150 symbols, on the lower accuracy of uniform and adversarial words: "
    "predicted yes is right if the median of the fitted seeds is at least 0.70, predicted no if it is below. No means "
    "no guarantee: no program exists. Cells that did not fit, or were not run, are neither right nor wrong."
)


def verification_page(rows: Sequence[Mapping[str, Any]], title: str, reasons: Sequence[str], cut: float = 0.70) -> str:
    """One self-contained HTML page."""
    return render_page(
        "verification.html",
        title=title,
        reasons=reasons,
        reliability=[f"{row['encoding']}: {row['reliability']}." for row in rows],
        figure=picture(rows, cut),
        cells=(CELL_HEADS, [cell(row) for row in rows]),
        rule=RULE,
    )
