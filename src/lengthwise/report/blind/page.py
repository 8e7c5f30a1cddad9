"""The page of a blind study: every seed, the counts, our predictor beside its rivals, and every cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lengthwise.report.blind.figure import COLOURS, blind_figure

BINS = ("51-100", "101-150", "151-300")
CELL_HEADS = ("language", "expression", "positions", "predicted", "status", "rung", "fitted", *BINS, "prediction")


def blind_page(values: Mapping[str, Any], title: str) -> str:
    """One self-contained HTML page from the table's JSON values."""
    rows = values["cells"]
    run = [row for row in rows if row["status"] != "not run"]
    undone = len(rows) - len(run)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p><b>{escape(headline(values))}</b></p>",
        f"<p>{undone} of {len(rows)} cells are not run yet.</p>" if undone else "",
        f"<p>Preregistration SHA-256: <code>{values['preregistration']}</code></p>",
        blind_figure(run, values["cut"]) if run else "",
        f"<p><b style='color:{COLOURS['yes']}'>green</b>: predicted yes. <b style='color:{COLOURS['no']}'>red</b>: "
        "predicted no (no guarantee). One dot per seed, on 101–150 symbols, the lower one of uniform and adversarial "
        "words; hollow: the seed did not fit, or the cell is undecided. Bar: the median that decides. Dotted: the cut.",
        "<h2>Cells by prediction</h2>",
        _table(
            ["predicted", "cells", "decided", "right", "not fitted", "not run"],
            [[name, *counts.values()] for name, counts in values["counts"].items()],
        ),
        "<h2>Predictors on the same cells</h2>",
        _table(*predictors(values)),
        "<h2>Other cuts</h2>",
        _table(
            ["cut", "cells", "right", "balanced accuracy"],
            [[cut, v["cells"], v["right"], _shown(v["balanced_accuracy"])] for cut, v in values["cuts"].items()],
        ),
        "<h2>Other bins and words</h2>",
        _table(
            ["bin and words", "cells", "right", "balanced accuracy"],
            [[n, v["cells"], v["right"], _shown(v["balanced_accuracy"])] for n, v in values["by_words"].items()],
        ),
        "<h2>Every cell</h2>",
        cell_table(rows),
    ]
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{PAGE_STYLE}</style>"
    return head + "<main>" + "\n".join(parts) + "</main></html>\n"


def headline(values: Mapping[str, Any]) -> str:
    """Our balanced accuracy and the best rival's in one sentence."""
    ours, rivals = values["balanced_accuracy"], values["rivals"]
    decided = sum(row["status"] == "decided" for row in values["cells"])
    text = f"{values['ours']['right']} of {values['ours']['cells']} decided cells as predicted ({decided} decided)"
    known = {name: value for name, value in rivals.items() if value is not None}
    if ours is None or not known:
        return text + "; no balanced accuracy yet: it needs cells that generalize and cells that do not."
    best = max(known, key=lambda name: known[name])
    order = "above" if ours > known[best] else "not above"
    return f"{text}; balanced accuracy {ours:.3f}, {order} the best rival's ({best}: {known[best]:.3f})."


def predictors(values: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Heads and rows of the table of predictors."""
    heads = ["predictor", "cells", "right", "balanced accuracy", "95 % over languages", "AUC", "only ours right",
             "only it right", "p (McNemar)"]  # fmt: skip
    lines = [["ours", *_predictor(values["ours"]), "–", "–", "–", "–"]]
    for name, found in values["rival_details"].items():
        test = found["mcnemar"]
        lines.append(
            [name, *_predictor(found), _shown(found["auc"]), test["only_ours"], test["only_rival"], f"{test['p']:.2g}"]
        )
    return heads, lines


def cell_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Every cell, one row each."""
    return _table(CELL_HEADS, [cell(row) for row in rows])


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


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = ["<table><tr>" + "".join(f"<th>{escape(head)}" for head in heads)]
    lines += ["<tr>" + "".join(f"<td>{escape(str(value))}" for value in row) for row in rows]
    return "\n".join(lines) + "</table>"


PAGE_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1d2733;margin:0}"
    "main{max-width:80rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}"
    "td,th{padding:.2rem .7rem;border-bottom:1px solid #d5dae0;text-align:left}svg{margin:1rem 0;max-width:100%}"
    "code{overflow-wrap:anywhere}"
)
