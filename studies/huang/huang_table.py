"""The table of the 25 tasks: verdicts, computed here and now, against the result files of the recipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import agreement
from huang import cell_name
from huang_cells import ALGORITHMIC, ENCODINGS, FORMAL, PUBLISHED_ENCODINGS, Range, task_of
from huang_published import PUBLISHED

import lengthwise as lw


@lru_cache(maxsize=512)
def predicted(task: lw.Task, encoding: str) -> str:
    """``yes``, ``no`` or ``unknown``: does a program in the fragment of these positions exist?"""
    return lw.prediction.predict.fragment_answer(task, encoding.partition("+")[0])


def build_table(folders: Iterable[Path]) -> list[agreement.Agreement]:
    """One row per cell, in the recipe's order; cells of the published encodings are there even if nothing was run.

    Results of other ranges of lengths (``--preset quick``, ``--set``) are left out. Raises `LengthwiseError` for a
    damaged result file, and for two of the same run that differ.
    """
    found: list[tuple[Path, lw.core.result_file.RunResult]] = []
    for path in sorted({file.resolve() for folder in folders for file in lw.core.result_file.result_files(folder)}):
        values = lw.core.files.read_json(path, what="result file")
        if isinstance(values, dict) and "kind" in values:
            continue  # not of a training run: a language model's, or of influential tokens
        result = lw.core.result_file.RunResult.of(values, f"result file {path}")
        if result.recipe == "huang" and _of_the_protocol(values):
            found.append((path, result))
    by_system: dict[str, list[dict[str, Any]]] = {}
    for _, result in lw.core.result_file.each_once(found):
        by_system.setdefault(result.system, []).append(result.to_json())
    rows: list[agreement.Agreement] = []
    for name in (*ALGORITHMIC, *FORMAL):
        task = task_of(name)
        for encoding in ENCODINGS:
            results = by_system.get(cell_name(name, encoding), [])
            if not results and encoding not in PUBLISHED_ENCODINGS:
                continue
            row = agreement.cell(name, encoding, predicted(task, encoding), results)
            published = PUBLISHED[name].get(encoding)
            if published is not None:
                row["published"] = {"51-100": published[0] / 100, "101-150": published[1] / 100}
            rows.append(row)
    return rows


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Confusion counts of the cells of the published table (APE and NoPE)."""
    return agreement.confusion([row for row in rows if row["encoding"] in PUBLISHED_ENCODINGS])


def _of_the_protocol(result: dict[str, Any]) -> bool:
    span, evaluation = Range(), result["experiment"].get("evaluation", {})
    return (
        result["experiment"]["training"]["max_length"] == span.trained
        and evaluation.get("bins") == [list(bounds) for bounds in span.bins]
        and evaluation.get("samples", 0) >= span.samples
        and evaluation.get("fit_threshold", 0) >= 0.995
    )
