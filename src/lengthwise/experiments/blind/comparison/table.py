"""The table of a study, rebuilt from its files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lengthwise.experiments.blind.comparison import compare
from lengthwise.experiments.blind.comparison.rivals import Answers, CellMeasures, our_answers, rivals_of
from lengthwise.experiments.blind.comparison.scoring import CUT, CUTS, DECIDING, cell_row, cell_score, is_right
from lengthwise.experiments.blind.study import BlindStudy, check_files


def table(study: BlindStudy, name: str = "languages", encodings: Sequence[str] | None = None) -> dict[str, Any]:
    """All cells, our predictor and the rivals on the decided ones, as JSON values.

    Raises `LengthwiseError` if a result file is missing, was changed, or is of another study.
    """
    check_files(study)
    entries = study.entries(name)
    rows = [cell_row(study, name, entry, encoding) for entry in entries for encoding in encodings or study.encodings]
    measured = compare.outcomes(rows)
    ours, others = our_answers(rows), rivals_of(study)
    found = compare.accuracies(ours, measured)
    rivals = {rival.name: rival.answers(entries, rows) for rival in others}
    compared = {rival: compare.accuracies(answers, measured) for rival, answers in rivals.items()}
    return {
        "preregistration": study.sha256,
        "table": name,
        "complete": all(row["status"] != "not run" for row in rows),
        "cut": CUT,
        "cells": rows,
        "counts": counts(rows),
        "balanced_accuracy": found["balanced_accuracy"],
        "balanced_accuracy_interval": found["balanced_accuracy_interval"],
        "ours": found,
        "rivals": {rival: values["balanced_accuracy"] for rival, values in compared.items()},
        "rival_details": {
            rival.name: {
                **compared[rival.name],
                "text": rival.text,
                **compare.auc(rival.scores(entries, rows), measured),
                "mcnemar": compare.mcnemar(ours, rivals[rival.name], measured),
                "right_with_undecided_as_wrong": _strict(rivals[rival.name], measured, rows),
            }
            for rival in others
        },
        "ours_with_undecided_as_wrong": _strict(ours, measured, rows),
        "cuts": {str(cut): compare.accuracies(ours, compare.outcomes(rows, cut)) for cut in CUTS},
        "by_words": _by_words(rows, ours),
        "reliability": reliability(rows),
    }


def counts(rows: Sequence[CellMeasures]) -> dict[str, dict[str, int]]:
    """By predicted class: decided, right, not fitted and not run cells."""
    result: dict[str, dict[str, int]] = {}
    for row in rows:
        entry = result.setdefault(
            row["predicted"], dict.fromkeys(("cells", "decided", "right", "not fitted", "not run"), 0)
        )
        entry["cells"] += 1
        entry[row["status"]] += 1
        entry["right"] += row["right"] is True
    return result


def reliability(rows: Sequence[CellMeasures]) -> dict[str, dict[str, dict[str, int]]]:
    """By encoding and verdict: cells in all, decided ones, and how many of these came out as predicted."""
    result: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        entry = result.setdefault(row["encoding"], {}).setdefault(
            row["predicted"], {"cells": 0, "decided": 0, "right": 0, "not run": 0}
        )
        entry["cells"] += 1
        entry["decided"] += row["status"] == "decided"
        entry["right"] += row["right"] is True
        entry["not run"] += row["status"] == "not run"
    return result


def _strict(answers: Answers, measured: Mapping[tuple[str, str], bool], rows: Sequence[CellMeasures]) -> dict[str, int]:
    """Right cells among all that have been run, undecided ones counted as wrong."""
    run = [row for row in rows if row["status"] != "not run"]
    right = sum(answers[cell] == measured[cell] for cell in set(answers) & set(measured))
    return {"cells": len(run), "right": right}


def _by_words(rows: Sequence[CellMeasures], ours: Answers) -> dict[str, dict[str, Any]]:
    """Our predictor where another bin or another set of words decides."""
    result: dict[str, dict[str, Any]] = {}
    for name in ("51-100", DECIDING, "151-300"):
        for words in ("lower", "uniform", "adversarial"):
            scored = [
                {**row, "score": cell_score(row["seeds"], name, words) if row["status"] == "decided" else None}
                for row in rows
            ]
            found = compare.accuracies(ours, compare.outcomes(scored))
            right = sum(is_right(row["predicted"], row["score"], CUT) is True for row in scored)
            result[f"{name} {words}"] = {
                "cells": found["cells"], "right": right, "balanced_accuracy": found["balanced_accuracy"]
            }  # fmt: skip
    return result
