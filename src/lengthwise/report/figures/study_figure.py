"""Figures of studies: R over n of the idealized learner, R over the context, extrapolation of position products."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lengthwise.core.errors import UnknownNameError
from lengthwise.report.figures.svg import COLOURS, MARKERS, QUIET, new_figure, page_style, to_svg
from lengthwise.report.figures.theory_figure import theory_figure

Result = Mapping[str, Any]


def study_figure(result: Result) -> str:
    """The SVG of a study's result; raises `UnknownNameError` for a study that has no figure."""
    name = result["study"]
    if name not in FIGURES:
        raise UnknownNameError("figure", name, FIGURES)
    return FIGURES[name](result["rows"])


def learner_figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line per target: R of the chosen transformer over n, filled markers where it makes no error up to n."""
    with page_style("idealized-learner"):
        figure = new_figure(7.6, 4.2)
        axes = figure.subplots()
        for place, row in enumerate(rows):
            choices = row["choices"]
            colour = COLOURS[place % len(COLOURS)]
            settled = row["settled_from"]
            label = f"{row['target']} ({'never settles' if settled is None else f'settled from n = {settled}'})"
            ns, values = [choice["n"] for choice in choices], [choice["regularizer"] for choice in choices]
            axes.plot(ns, values, color=colour, label=label, linewidth=1.6)
            for choice in choices:
                right = choice["errors"] == 0 and choice["program"] is not None
                axes.plot(
                    choice["n"], choice["regularizer"], MARKERS[place % len(MARKERS)], color=colour, markersize=5,
                    markerfacecolor=colour if right else "white",
                )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlabel("n (agrees up to length n/2)")
        axes.set_ylabel("R of the chosen transformer")
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return to_svg(figure, "Regularizer over n for the seven targets of the idealized learner")


def growth_figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line per network, both axes logarithmic; programs solid, networks for parity dashed."""
    with page_style("regularizer-growth"):
        figure = new_figure(7.0, 3.8)
        axes = figure.subplots()
        for place, row in enumerate(rows):
            contexts = [int(context) for context in row["R"]]
            axes.plot(
                contexts, list(row["R"].values()), MARKERS[place % len(MARKERS)],
                linestyle="-" if row["one_program"] else "--", color=COLOURS[place % len(COLOURS)],
                label=row["network"], markersize=4,
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("context N")
        axes.set_ylabel("R")
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return to_svg(figure, "Regularizer over the context: constant for programs, growing for parity")


def products_figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """Mean squared error on windows of 150, ours and published, by relation and width."""
    widths = sorted({row["width"] for row in rows})
    with page_style("positional-products"):
        figure = new_figure(7.6, 1.2 + 0.4 * len(rows) / len(widths))
        for place, width in enumerate(widths):
            axes = figure.add_subplot(1, len(widths), place + 1)
            mine = [row for row in rows if row["width"] == width]
            for line, row in enumerate(reversed(mine)):
                longest = max(row["errors"], key=int)
                axes.plot(_floor(row["errors"][longest]), line, "o", color=COLOURS[0], label="ours")
                axes.plot(_floor(row["published"][longest]), line, "D", color=QUIET, mfc="white", label="published")
            axes.axvline(4.0, color=QUIET, linewidth=0.8, linestyle=":")
            axes.set_xscale("log")
            axes.set_yticks(range(len(mine)))
            names = [f"{row['relation']} ({row['kind']})" for row in reversed(mine)]
            axes.set_yticklabels(names if place == 0 else [])
            axes.set_title(f"d = {width}", fontsize=10)
            axes.set_xlabel("error on windows of 150")
            if place == len(widths) - 1:
                handles, labels = axes.get_legend_handles_labels()
                axes.legend(handles[:2], labels[:2], frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        return to_svg(figure, "Errors of products of learned positions on windows of 150 positions")


def _floor(value: float) -> float:
    return value if value > 1e-6 and math.isfinite(value) else 1e-6


FIGURES: dict[str, Callable[[Sequence[Mapping[str, Any]]], str]] = {
    "idealized-learner": learner_figure,
    "regularizer-growth": growth_figure,
    "positional-products": products_figure,
    "planted-theory": theory_figure,
}
