"""The command ``lengthwise agreement`` compares the verdicts with the measured results of the recipe ``huang``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import emit_json, err, out


def agreement(
    runs: Annotated[list[Path], typer.Argument(help="Folders that are searched for results of recipe huang.")],
    target: Annotated[Path, typer.Option("--out", help="Where table.json and report.html go.")] = Path("results/huang"),
    details: Annotated[
        bool, typer.Option("--review", help="Print, as Markdown, every seed, other cuts and replaced settings instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows and counts as JSON.")] = False,
) -> None:
    """Compare every verdict with what was measured: table, figure, confusion counts."""
    from lengthwise.workflows.agreement import SEARCHED, rebuild

    if details:
        from lengthwise.experiments.recipes.huang_review import review

        for table in (table for folder in runs for table in review(folder)):
            out().print(f"## {table.title}\n\n{table.markdown()}\n", markup=False, highlight=False, soft_wrap=True)
        return

    rows, counts = rebuild(runs, target)
    if as_json:
        emit_json({"counts": counts, "cells": rows})
        return
    from lengthwise.cli.verify_view import draw_rows

    draw_rows(out(), rows)
    out().print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    out().print(SEARCHED)
    err().print(f"wrote {target / 'table.json'} and {target / 'report.html'}")
