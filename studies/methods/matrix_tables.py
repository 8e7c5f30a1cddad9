"""Compute the tables and the picture of *which method where* from `studies/methods/results/method-matrix`."""

from __future__ import annotations

from math import log2
from statistics import median

from matplotlib.colors import LinearSegmentedColormap
from method_matrix import LONGEST, method_matrix
from table_parts import markdown, results_of

import lengthwise as lw

Far = dict[tuple[str, str], list[int | None]]
"""By task and method: how far each seed goes; None for a seed that did not fit."""


def which_method_where() -> dict[str, str]:
    """The matrix of medians, and a table with every seed for each task."""
    found = cells()
    far = reached(found)
    tasks, names = in_order(far)
    rows = [(f"`{name}`", *(entry(far.get((task, name))) for task in tasks)) for name in names]
    tables = {"matrix": markdown(("method", *tasks), rows)}
    for task in tasks:
        own = sorted((name for name in names if (task, name) in found), key=lambda name: -shown(far[task, name]))
        rows = [(f"`{name}`", *seeds(found[task, name], far[task, name])) for name in own]
        tables[task] = markdown(("method", "fitted", "in distribution", "reach of each seed"), rows)
    return tables


def method_matrix_picture() -> str:
    """How far each method carries each task, as a grid of colours with the median in each cell."""
    far = reached(cells())
    tasks, names = in_order(far)
    colours = LinearSegmentedColormap.from_list("reach", ["#f3f6fa", "#9ecae1", "#2171b5", "#08306b"])
    with lw.report.figures.new_figure(
        9, 5.2, alt=f"Length reached at 95 %, median of three seeds trained on up to {LONGEST}; dot: not fitted"
    ) as figure:
        plot = figure.subplots()
        for column, task in enumerate(tasks):
            for line, name in enumerate(names):
                seen = far.get((task, name))
                if seen is None:
                    continue
                text = entry(seen)
                strength = log2(max(1, shown(seen) / LONGEST)) / log2(64 / LONGEST) if text != "unfitted" else 0.0
                fill = "white" if text == "unfitted" else colours(strength)
                plot.fill([column, column + 1, column + 1, column], [line, line, line + 1, line + 1], color=fill, lw=0)
                ink = (
                    lw.report.figures.QUIET
                    if text == "unfitted"
                    else ("white" if strength > 0.45 else lw.report.figures.INK)
                )
                text = "·" if text == "unfitted" else text
                plot.text(column + 0.5, line + 0.5, text, ha="center", va="center", color=ink, fontsize=9)
        plot.set_xticks([i + 0.5 for i in range(len(tasks))], tasks, rotation=35, ha="right")
        plot.set_yticks([i + 0.5 for i in range(len(names))], names)
        plot.tick_params(labelcolor=lw.report.figures.INK, length=0, labelsize=9)
        plot.set_xlim(0, len(tasks))
        plot.set_ylim(len(names), 0)
        plot.grid(visible=False)
        return figure.svg()


def cells() -> dict[tuple[str, str], list[lw.report.summary.SeedResult]]:
    """The results by task and method, in the order of the recipe; what has not been run is missing."""
    results = results_of("method-matrix")
    found = {}
    for job in method_matrix("standard").jobs:
        runs = sorted((run for run in results if run.system == job.name), key=lambda run: run.seed)
        if runs:
            task, _, method = job.name.rpartition(", ")
            found[task, method] = runs
    return found


def reached(found: dict[tuple[str, str], list[lw.report.summary.SeedResult]]) -> Far:
    """The longest tested length of each seed up to which 95 % are right."""
    return {
        cell: [lw.core.rank.reach(lw.core.rank.rates_by_length(run)) if run.fitted else None for run in runs]
        for cell, runs in found.items()
    }


def in_order(far: Far) -> tuple[list[str], list[str]]:
    """The tasks as the recipe has them, and the methods by how much farther than training they go over all tasks."""
    tasks, names = (list(dict.fromkeys(cell[part] for cell in far)) for part in (0, 1))

    def factor(name: str) -> float:
        own = [log2(max(LONGEST, shown(far[task, name])) / LONGEST) for task in tasks if (task, name) in far]
        return sum(own) / len(own)

    return tasks, sorted(names, key=lambda name: -factor(name))


def shown(far: list[int | None]) -> float:
    """The median over seeds, where an unfitted one counts as 0."""
    return median([length or 0 for length in far])


def entry(far: list[int | None] | None) -> str:
    """A cell: the median, *unfitted* where most seeds did not fit, and nothing where there is no such pair."""
    if far is None:
        return ""
    return f"{shown(far):g}" if sum(length is not None for length in far) * 2 > len(far) else "unfitted"


def seeds(runs: list[lw.report.summary.SeedResult], far: list[int | None]) -> tuple[str, str, str]:
    """Fitted seeds, each seed's share in distribution, and how far each goes."""
    inside = " ".join(f"{run.in_distribution.rate():.3f}" for run in runs)
    lengths = " ".join("–" if length is None else str(length) for length in far)
    return f"{sum(run.fitted for run in runs)} of {len(runs)}", inside, lengths
