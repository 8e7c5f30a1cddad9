"""Draws the figures of studies: R over n of the idealized learner, R over the context, errors of position products."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import UnknownNameError
from lengthwise.report.figures.style import COLOURS, MARKERS, PAPER, QUIET
from lengthwise.report.figures.svg import log_axis, new_figure
from lengthwise.report.figures.theory_figure import draw_theory

if TYPE_CHECKING:
    from lengthwise.report.figures.drawing import Drawing

StudyRows = Sequence[Mapping[str, Any]]


def draw_study(study: str, rows: StudyRows) -> Drawing:
    """The figure of a study's rows; raises `UnknownNameError` for a study without a figure."""
    if study not in STUDY_FIGURES:
        raise UnknownNameError("figure", study, STUDY_FIGURES)
    return STUDY_FIGURES[study](rows)


def learner_figure(rows: StudyRows) -> Drawing:
    """One line per target: R of the learned transformer over n; filled markers stand for no error up to n."""
    with new_figure(
        7.6, 4.2, "idealized-learner", "Regularizer over n for the seven targets of the idealized learner"
    ) as figure:
        axes = figure.subplots()
        for index, row in enumerate(rows):
            choices = row["choices"]
            colour = COLOURS[index % len(COLOURS)]
            settled = row["settled_from"]
            label = f"{row['target']} ({'never settles' if settled is None else f'settled from n = {settled}'})"
            ns, values = [choice["n"] for choice in choices], [choice["regularizer"] for choice in choices]
            axes.plot(ns, values, color=colour, label=label, linewidth=1.6)
            for choice in choices:
                right = choice["errors"] == 0 and choice["program"] is not None
                axes.plot(
                    choice["n"], choice["regularizer"], MARKERS[index % len(MARKERS)], color=colour, markersize=5,
                    markerfacecolor=colour if right else PAPER,
                )  # fmt: skip
        log_axis(axes, "y")
        axes.set_xlabel("n (agrees up to length n/2)")
        axes.set_ylabel("R of the learned transformer, logarithmic")
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return figure


def growth_figure(rows: StudyRows) -> Drawing:
    """One line per network, both axes logarithmic; programs solid, networks for parity dashed."""
    with new_figure(
        7.0, 3.8, "regularizer-growth", "Regularizer over the context: constant for programs, growing for parity"
    ) as figure:
        axes = figure.subplots()
        for index, row in enumerate(rows):
            contexts = [int(context) for context in row["R"]]
            axes.plot(
                contexts, list(row["R"].values()), MARKERS[index % len(MARKERS)],
                linestyle="-" if row["one_program"] else "--", color=COLOURS[index % len(COLOURS)],
                label=row["network"], markersize=4,
            )  # fmt: skip
        log_axis(axes, "x", sorted({float(context) for row in rows for context in row["R"]}), base=2)
        log_axis(axes, "y")
        axes.set_xlabel("context N, logarithmic")
        axes.set_ylabel("R, logarithmic")
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return figure


def products_figure(rows: StudyRows) -> Drawing:
    """Mean squared error on windows of 150, ours and published, by relation and width."""
    widths = sorted({row["width"] for row in rows})
    with new_figure(
        7.6,
        1.2 + 0.4 * len(rows) / len(widths),
        "positional-products",
        "Errors of products of learned positions on windows of 150 positions",
    ) as figure:
        for column, width in enumerate(widths):
            axes = figure.add_subplot(1, len(widths), column + 1)
            mine = [row for row in rows if row["width"] == width]
            for line, row in enumerate(reversed(mine)):
                longest = max(row["errors"], key=int)
                axes.plot(_floor(row["errors"][longest]), line, "o", color=COLOURS[0], label="ours")
                axes.plot(_floor(row["published"][longest]), line, "D", color=QUIET, mfc=PAPER, label="published")
            axes.axvline(4.0, color=QUIET, linewidth=0.8, linestyle=":")
            log_axis(axes, "x")
            axes.set_yticks(range(len(mine)))
            names = [f"{row['relation']} ({row['kind']})" for row in reversed(mine)]
            axes.set_yticklabels(names if column == 0 else [])
            axes.set_title(f"d = {width}", fontsize=10)
            axes.set_xlabel("error, logarithmic")
            if column == len(widths) - 1:
                handles, labels = axes.get_legend_handles_labels()
                axes.legend(handles[:2], labels[:2], fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        return figure


def _floor(value: float) -> float:
    """At least 1e-6, the left end of the axis."""
    return value if value > 1e-6 and math.isfinite(value) else 1e-6


STUDY_FIGURES: dict[str, Callable[[StudyRows], Drawing]] = {
    "idealized-learner": learner_figure,
    "regularizer-growth": growth_figure,
    "positional-products": products_figure,
    "planted-theory": draw_theory,
}
