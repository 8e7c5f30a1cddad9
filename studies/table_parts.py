"""What the files that compute the tables of pages share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import lengthwise as lw

STUDIES = Path(__file__).resolve().parent


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *rows))


@cache
def results(recipe: str) -> Path:
    """Where the result files of a recipe are: ``results/RECIPE`` in the folder of its study."""
    (found,) = STUDIES.glob(f"*/results/{recipe}")
    return found


@cache
def results_of(recipe: str) -> tuple[lw.report.summary.SeedResult, ...]:
    """Every result of a recipe, read once."""
    return tuple(lw.report.summary.load([results(recipe)]))
