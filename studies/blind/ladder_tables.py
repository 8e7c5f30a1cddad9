"""Tables of a list of languages on the frozen ladder: every cell, and counts for each position system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import comparison
from table_parts import results

import lengthwise as lw

LADDER = ("language", "positions", "theory", "rung", "fitted", "101–150, each seed", "as theory says")
LISTS = {"ten-expressions": ("nope", "ape"), "variants": ("rope", "alibi", "ape-no-qk-norm", "ape+reg")}
"""The lists of languages of the page, and the position systems that were trained on each."""
COUNTS = ("positions", "cells", "decided", "*yes*, as theory says", "*no*, as theory says", "undecided *yes*, *no*")


@cache
def of_list(folder: str) -> Mapping[str, Any]:
    """The table of ``results/FOLDER/study``, made from its files."""
    return comparison.table(lw.experiments.blind.study.read_study(results(folder) / "study"), encodings=LISTS[folder])


def cells(folder: str) -> list[dict[str, Any]]:
    """The cells of ``results/FOLDER/study``."""
    return of_list(folder)["cells"]


def ladder(folder: str) -> list[Sequence[str]]:
    """Each cell: every seed on 101–150 symbols."""
    return [cell_row_text(row) for row in cells(folder)]


def cell_row_text(row: Mapping[str, Any]) -> Sequence[str]:
    """One cell of a blind study as a row of `LADDER`."""
    rates = [[words["rate"] for words in seed["sets"].get("101-150", {}).values()] for seed in row["seeds"]]
    shown = " ".join(f"{min(found):.2f}" if found else "–" for found in rates)
    agrees = {True: "yes", False: "**no**", None: "undecided"}[row["right"]]
    # A name such as blind-01 says nothing of the language.
    name = row["language"] if row["language"] == row["expression"] else f"{row['language']} {row['expression']}"
    text = name.replace("*", "\\*").replace("|", "\\|")
    fitted = f"{row['fitted']} of {len(row['seeds'])}"
    return [text, row["encoding"], row["predicted"], str(row["rung"]), fitted, shown, agrees]


def counts(folder: str) -> list[Sequence[str]]:
    """For each position system: cells, decided ones, and how many behave as theory says, by its verdict."""
    found = cells(folder)
    rows = []
    for encoding in dict.fromkeys(row["encoding"] for row in found):
        mine = [row for row in found if row["encoding"] == encoding]
        decided = [row for row in mine if row["right"] is not None]
        shares, left = [], []
        for verdict in ("yes", "no"):
            of_verdict = [row for row in decided if row["predicted"] == verdict]
            shares.append(f"{sum(row['right'] for row in of_verdict)} of {len(of_verdict)}")
            left.append(str(sum(row["predicted"] == verdict and row["right"] is None for row in mine)))
        rows.append([encoding, str(len(mine)), str(len(decided)), *shares, ", ".join(left)])
    return rows
