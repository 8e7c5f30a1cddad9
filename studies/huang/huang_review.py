"""The table of the 25 tasks read critically: every seed, other cuts, undecided cells, and settings that were replaced.

`review` reads result files only, current and superseded ones, and returns the tables of studies/huang/README.md.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import agreement
from huang import cell_name
from huang_cells import PUBLISHED_ENCODINGS
from huang_table import build_table

import lengthwise as lw

CellRow = Mapping[str, Any]
CellResults = Mapping[str, Any]

CUTS = (0.5, 0.7, 0.9, 0.95)
LAST, BEFORE = "101-150", "51-100"


@dataclass(frozen=True)
class ReviewTable:
    """A title, column heads and rows of text."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """The table as on the page, without its title."""
        lines = (self.heads, ("---",) * len(self.heads), *self.rows)
        return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def review(folder: Path) -> list[ReviewTable]:
    """All tables, from the result files in ``folder`` and its ``superseded`` folder.

    Raises `LengthwiseError` if there are no results of the recipe, or a result file is damaged.
    """
    lw.core.errors.require(
        folder.is_dir(),
        f"no folder {folder}; make results with `lengthwise run studies/huang/huang.py:huang --preset standard`",
    )
    rows = [row for row in build_table([folder]) if row["encoding"] in PUBLISHED_ENCODINGS]
    current = _latest(lw.core.result_file.result_files(folder))
    lw.core.errors.require(
        any(row["seeds"] for row in rows),
        f"no results of recipe huang in {folder}; see `lengthwise run studies/huang/huang.py:huang`",
    )
    replaced = [path for commit in superseded_commits(folder) for path in lw.core.result_file.result_files(commit)]
    ever = _latest([*replaced, *lw.core.result_file.result_files(folder)])
    return [
        by_class(rows),
        by_cut(rows),
        by_group(rows, current),
        by_settings(rows, current),
        by_configuration(rows, ever),
        by_commit(folder, rows),
        by_words(rows),
        by_seed(rows, current),
    ]


def seeds_at_the_end(folder: Path) -> list[tuple[CellRow, list[float]]]:
    """Every cell of the table with the accuracy of each fitted seed in the last bin."""
    rows = [row for row in build_table([folder]) if row["encoding"] in PUBLISHED_ENCODINGS]
    results = _latest(lw.core.result_file.result_files(folder))
    return [(row, [value for value in _seeds(_speaking(row, results), LAST) if value >= 0]) for row in rows]


def by_class(rows: Sequence[CellRow]) -> ReviewTable:
    """Cells by what theory says: at or above the cut, below it, undecided."""
    lines = []
    for answer in ("yes", "no"):
        own = [row for row in rows if row["predicted"] == answer]
        decided = [row for row in own if row["right"] is not None]
        high = sum(row["median"][LAST] >= agreement.CUT for row in decided)
        lines.append((answer, *map(str, (len(own), len(decided), high, len(decided) - high, len(own) - len(decided)))))
    heads = ("theory", "cells", "decided", f"median ≥ {agreement.CUT:.2f}", "below", "undecided")
    return ReviewTable("Cells by what theory says", heads, tuple(lines))


def by_cut(rows: Sequence[CellRow]) -> ReviewTable:
    """Cells that are compatible with theory, at other cuts than the fixed one."""
    lines = []
    for cut in CUTS:
        right = {
            answer: [(row["median"][LAST] >= cut) == (answer == "yes") for row in rows if _decided(row, answer)]
            for answer in ("yes", "no")
        }
        both = [good for found in right.values() for good in found]
        balanced = statistics.mean(map(statistics.mean, right.values())) if all(right.values()) else None
        counts = [f"{sum(found)} of {len(found)}" for found in (right["yes"], right["no"], both)]
        lines.append((f"{cut:.2f}", *counts, "–" if balanced is None else f"{balanced:.2f}"))
    heads = ("cut", "theory yes", "theory no", "together", "balanced accuracy")
    return ReviewTable("The cut varied", heads, tuple(lines))


def by_group(rows: Sequence[CellRow], results: Mapping[str, Sequence[CellResults]]) -> ReviewTable:
    """Seeds one by one: how many of the fitted ones are at the cut or above."""
    lines = []
    for answer in ("yes", "no"):
        values = [
            value
            for row in rows
            if _decided(row, answer)
            for value in _seeds(_speaking(row, results), LAST)
            if value >= 0
        ]
        split = [row for row in rows if _decided(row, answer) and _both_sides(_seeds(_speaking(row, results), LAST))]
        lines.append((answer, str(len(values)), str(sum(value >= agreement.CUT for value in values)), _names(split)))
    heads = ("theory", "fitted seeds", f"of these ≥ {agreement.CUT:.2f}", "cells with seeds on both sides")
    return ReviewTable("Single seeds of the decided cells", heads, tuple(lines))


def by_settings(rows: Sequence[CellRow], results: Mapping[str, Sequence[CellResults]]) -> ReviewTable:
    """What the settings of the decided cells were, by what theory says of the language with and without positions."""
    answers = {(row["task"], row["encoding"]): row["predicted"] for row in rows}
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["right"] is not None:
            both = f"{answers[row['task'], 'nope']}/{answers[row['task'], 'ape']}"
            groups.setdefault((both, row["encoding"], row["predicted"]), []).append(
                _speaking(row, results)[0]["experiment"]
            )
    lines = []
    for (both, encoding, _), experiments in sorted(groups.items(), reverse=True):
        models = [experiment["model"] for experiment in experiments]
        lines.append((
            both, encoding, str(len(models)),
            str(sum(experiment["training"].get("weight_decay", 0.01) >= 1 for experiment in experiments)),
            str(sum(model.get("log_length") is not None for model in models)),
            str(sum(model.get("norm") == "peri" for model in models)),
            _range(model["layers"] for model in models),
            _range(experiment["training"]["steps"] for experiment in experiments),
        ))  # fmt: skip
    heads = ("theory: NoPE/APE", "positions", "cells", "decay 1", "log-length", "Peri-LN", "layers", "steps")
    return ReviewTable("Settings of the decided cells", heads, tuple(lines))


def by_configuration(rows: Sequence[CellRow], results: Mapping[str, Sequence[CellResults]]) -> ReviewTable:
    """The cells of which some fitted configurations are above the cut and some below, replaced ones included."""
    lines = []
    for row in rows:
        found = []
        for runs in agreement.configurations(results.get(cell_name(row["task"], row["encoding"]), [])):
            outcome = agreement.cell(row["task"], row["encoding"], row["predicted"], runs)
            if outcome["right"] is not None:
                found.append((outcome["median"][LAST], outcome["fitted"], outcome["seeds"]))
        if found and _both_sides([median for median, _, _ in found]):
            shown = ", ".join(f"{median:.2f} ({fitted} of {seeds})" for median, fitted, seeds in sorted(found))
            said = row["median"].get(LAST)
            lines.append((row["task"], row["encoding"], row["predicted"], shown, f"{said:.2f}"))
    heads = ("language", "positions", "theory", "median of each configuration (seeds fitted)", "in the table")
    return ReviewTable("Cells whose outcome depends on the configuration", heads, tuple(lines))


def by_words(rows: Sequence[CellRow]) -> ReviewTable:
    """Adversarial against uniform words, where both were measured: medians of the fitted seeds."""
    lines = [
        (
            row["task"],
            row["encoding"],
            *(f"{row[kind][name]:.2f}" for name in (BEFORE, LAST) for kind in ("median", "standard")),
        )
        for row in rows
        if row.get("standard")
    ]
    heads = (
        "language",
        "positions",
        *(f"{kind}, {name}" for name in (BEFORE, LAST) for kind in ("adversarial", "uniform")),
    )
    return ReviewTable("Adversarial and uniform words", heads, tuple(lines))


def by_commit(folder: Path, rows: Sequence[CellRow]) -> ReviewTable:
    """The counts of every table that was ever committed, oldest first, and of today's."""
    commits = [commit for commit in superseded_commits(folder) if (commit / "table.json").exists()]
    lines = []
    for name, old in [
        *((commit.name, lw.core.files.read_json(commit / "table.json")) for commit in commits),
        ("today", rows),
    ]:
        counts = agreement.confusion([row for row in old if row["encoding"] in PUBLISHED_ENCODINGS])
        right = [counts["yes right"] + counts["no right"], counts["yes right"], counts["no right"]]
        wrong = [counts["yes wrong"] + counts["no wrong"], counts["yes wrong"], counts["no wrong"]]
        lines.append((name, *(f"{good} of {good + bad}" for good, bad in zip(right, wrong, strict=True))))
    heads = ("commit", "compatible, of decided", "theory yes", "theory no")
    return ReviewTable("Every table that was committed", heads, tuple(lines))


def superseded_commits(folder: Path) -> list[Path]:
    """The folders of replaced results, one per commit that had added them, oldest first."""
    order = folder / lw.core.result_file.SUPERSEDED / "commits.txt"
    lines = order.read_text(encoding="utf-8").splitlines() if order.exists() else []
    return [order.parent / line.split()[0] for line in lines]


def by_seed(rows: Sequence[CellRow], results: Mapping[str, Sequence[CellResults]]) -> ReviewTable:
    """Every cell with every seed of the configuration that speaks for it; a dash is a seed that did not fit."""
    lines = []
    for row in rows:
        runs = _speaking(row, results)
        lines.append((
            row["task"], row["encoding"], row["predicted"], f"{row['fitted']} of {row['seeds']}", str(row["tried"]),
            *(_shown(_seeds(runs, name)) for name in (BEFORE, LAST)),
            {True: "yes", False: "**no**", None: "undecided"}[row["right"]],
        ))  # fmt: skip
    heads = ("task", "positions", "theory", "fitted", "configurations", BEFORE, LAST, "compatible")
    return ReviewTable("Every cell and every seed", heads, tuple(lines))


def _latest(paths: Iterable[Path]) -> dict[str, list[CellResults]]:
    """By system: one result per configuration and seed, the last one given."""
    runs: dict[tuple[str, str, int], CellResults] = {}
    for path in paths:
        values = lw.core.files.read_json(path, what="result file")
        if isinstance(values, dict) and values.get("recipe") != "huang":
            continue
        lw.core.result_file.RunResult.of(values, f"result file {path}")
        result = values
        runs[result["system"], lw.core.config.canonical_json(result["experiment"]), result["seed"]] = result
    found: dict[str, list[CellResults]] = {}
    for (system, _, _), result in sorted(runs.items()):
        found.setdefault(system, []).append(result)
    return found


def _speaking(row: CellRow, results: Mapping[str, Sequence[CellResults]]) -> list[CellResults]:
    """The runs of the configuration that speaks for a cell, by seed."""
    return agreement.speaking(results.get(cell_name(row["task"], row["encoding"]), []))


def _seeds(runs: Sequence[CellResults], name: str) -> list[float]:
    """Whole-answer accuracy of each seed in a bin, −1 where it did not fit; adversarial words where there are such."""
    values = []
    for run in runs:
        scores = [score for score in run["scores"] if f"{score['axes'].get('low')}-{score['axes'].get('high')}" == name]
        scores.sort(key=lambda score: -score["axes"].get("adversarial", 0))
        fitted = run["fitted"] and scores
        values.append(scores[0]["correct"]["exact_match"] / scores[0]["n"] if fitted else -1.0)
    return values


def _decided(row: CellRow, answer: str) -> bool:
    return row["right"] is not None and row["predicted"] == answer


def _both_sides(values: Iterable[float]) -> bool:
    return len({value >= agreement.CUT for value in values if value >= 0}) == 2


def _shown(values: Iterable[float]) -> str:
    return " ".join(f"{value:.2f}" if value >= 0 else "–" for value in values)


def _names(rows: Sequence[CellRow]) -> str:
    return ", ".join(f"{row['task']} {row['encoding']}" for row in rows) or "none"


def _range(values: Iterable[int]) -> str:
    low, *rest = sorted(set(values))
    return f"{low:,} to {rest[-1]:,}" if rest else f"{low:,}"
