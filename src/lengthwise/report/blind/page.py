"""The page of a blind study: every seed, the counts, our predictor beside its rivals, and every cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lengthwise.report.blind.figure import draw_blind
from lengthwise.report.figures.style import NARROW
from lengthwise.report.html import render_page
from lengthwise.report.pictures import Picture

BINS = ("51-100", "101-150", "151-300")
CELL_HEADS = ("language", "expression", "positions", "predicted", "status", "rung", "fitted", *BINS, "prediction")


def blind_page(values: Mapping[str, Any], title: str) -> str:
    """One self-contained HTML page from the table's JSON values."""
    rows = values["cells"]
    shown = [
        {"cut": cut, "cells": found["cells"], "right": found["right"], "balanced": found["balanced_accuracy"]}
        for cut, found in (*values["cuts"].items(), *values["by_words"].items())
    ]
    heads, lines = predictors(values)
    return render_page(
        "blind.html",
        title=title,
        headline=headline(values),
        digest=values["preregistration"],
        undone=sum(row["status"] == "not run" for row in rows),
        rows=rows,
        figure=picture(rows, values["cut"]),
        counts=values["counts"],
        predictors=(heads, lines),
        cuts=shown[: len(values["cuts"])],
        words=shown[len(values["cuts"]) :],
        cells=(CELL_HEADS, [cell(row) for row in rows]),
    )


def picture(rows: Sequence[Mapping[str, Any]], cut: float) -> Picture | None:
    """The figure of all cells that were run, in both widths; None if there is none."""
    run = [row for row in rows if row["seeds"]]
    return Picture("blind", draw_blind(run, cut), draw_blind(run, cut, NARROW)) if run else None


def headline(values: Mapping[str, Any]) -> str:
    """Our balanced accuracy and the best rival's in one sentence."""
    ours, rivals = values["balanced_accuracy"], values["rivals"]
    decided = sum(row["status"] == "decided" for row in values["cells"])
    # The ladder was chosen with results of the published tasks seen, so these are no predictions.
    came_out = "as theory says" if values["table"] == "published" else "as predicted"
    text = f"{values['ours']['right']} of {values['ours']['cells']} decided cells {came_out} ({decided} decided)"
    known = {name: value for name, value in rivals.items() if value is not None}
    if ours is None or not known:
        return text + "; no balanced accuracy yet: it needs cells that generalize and cells that do not."
    best = max(known, key=lambda name: known[name])
    order = "above" if ours > known[best] else "not above"
    return f"{text}; balanced accuracy {ours:.3f}, {order} the best rival's ({best}: {known[best]:.3f})."


def predictors(values: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Heads and rows of the table of predictors."""
    heads = ["predictor", "cells", "right", "balanced accuracy", "95 % over languages", "AUC", "only ours right",
             "only it right", "p (McNemar)", "p over languages"]  # fmt: skip
    lines = [["ours", *_predictor(values["ours"]), *["–"] * 5]]
    for name, found in values["rival_details"].items():
        test = found["mcnemar"]
        probabilities = [f"{test[which]:.2g}" for which in ("p", "p_languages")]
        lines.append(
            [name, *_predictor(found), _shown(found["auc"]), test["only_ours"], test["only_rival"], *probabilities]
        )
    return heads, lines


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


def _predictor(found: Mapping[str, Any]) -> list[Any]:
    interval = found["balanced_accuracy_interval"]
    shown = "–" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"
    return [found["cells"], found["right"], _shown(found["balanced_accuracy"]), shown]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
