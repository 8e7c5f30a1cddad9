"""Figures of single studies."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import UnknownNameError, require
from lengthwise.core.files import write_text
from lengthwise.report.figures import (
    COLOURS,
    MARKERS,
    NARROW,
    PAPER,
    QUIET,
    WIDE,
    log_axis,
    new_figure,
    short_name,
    to_svg,
)
from lengthwise.report.summary import Cell, SystemSummary, load, summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

    from lengthwise.report.figures import Drawing


StudyRow = Mapping[str, Any]


def draw_theory(rows: Sequence[StudyRow]) -> Drawing:
    """Three panels side by side; panels without rows stay empty."""
    alt = "Error of exact learners against length and against k, and the growth of a small error"
    with new_figure(11.5, 4.0, "planted-theory", alt) as figure:
        first, second, third = figure.subplots(1, 3)
        _length_panel(first, [row for row in rows if row["figure"] == "length"])
        _k_panel(second, [row for row in rows if row["figure"] == "k"])
        _growth_panel(third, [row for row in rows if row["figure"] == "growth"])
        return figure


def _length_panel(plot: Plot, rows: Sequence[StudyRow]) -> None:
    """One line per learner with the range of the repeats."""
    for index, row in enumerate(rows):
        lengths = [int(n) for n in row["error"]]
        errors = list(row["error"].values())
        colour = COLOURS[index % len(COLOURS)]
        low, high = zip(*row["spread"], strict=True)
        plot.fill_between(lengths, low, high, color=colour, alpha=0.15, lw=0)
        # Markers of decreasing size distinguish the lines at zero.
        plot.plot(
            lengths, errors, MARKERS[index % len(MARKERS)] + "-", color=colour, label=row["learner"], lw=1.6,
            ms=9 - 1.2 * index, mfc="none", mew=1.6,
        )  # fmt: skip
    if rows:
        shortest = min(int(n) for row in rows for n in row["error"])
        _log_lengths(plot, rows)
        plot.set_xlabel(f"length, logarithmic (trained up to {shortest})")
        plot.legend(fontsize=8, loc="center right", bbox_to_anchor=(1.0, 0.4))
    plot.set_ylabel("share of wrong answers")
    plot.set_title("k = 2, which learner")


def _k_panel(plot: Plot, rows: Sequence[StudyRow]) -> None:
    """Error at the longest length against the number of training strings, one line per k."""
    for index, k in enumerate(sorted({row["k"] for row in rows})):
        mine = sorted((row for row in rows if row["k"] == k), key=lambda row: row["trained_on"])
        longest = max(mine[0]["error"], key=int)
        colour = COLOURS[index % len(COLOURS)]
        strings = [row["trained_on"] for row in mine]
        at = list(mine[0]["error"]).index(longest)
        low, high = zip(*(row["spread"][at] for row in mine), strict=True)
        plot.fill_between(strings, low, high, color=colour, alpha=0.15, lw=0)
        plot.plot(
            strings, [row["error"][longest] for row in mine], MARKERS[index % len(MARKERS)] + "-", color=colour,
            label=f"k = {k}", lw=1.6, ms=5,
        )  # fmt: skip
        plot.set_title(f"local, at length {longest}")
    if rows:
        log_axis(plot, "x")
        plot.legend(fontsize=8)
    plot.set_xlabel("training strings, logarithmic")


def _growth_panel(plot: Plot, rows: Sequence[StudyRow]) -> None:
    """Mean error of trained heads, the heuristic (dashed) and Theorem B (dotted); both axes logarithmic."""
    for index, row in enumerate(rows):
        colour = COLOURS[index % len(COLOURS)]
        lengths = [int(n) for n in row["error"]]
        plot.plot(
            lengths, list(row["error"].values()), MARKERS[index % len(MARKERS)] + "-", color=colour,
            label=f"k = {row['k']}", ms=5,
        )  # fmt: skip
        plot.plot(lengths, row["heuristic"], "--", color=colour, lw=1)
        plot.plot(lengths, row["bound"], ":", color=colour, lw=1.2)
    if rows:
        log_axis(plot, "y")
        _log_lengths(plot, rows)
        plot.plot([], [], "--", color=QUIET, lw=1, label="heuristic")
        plot.plot([], [], ":", color=QUIET, lw=1.2, label="Theorem B")
        plot.axhline(1.0, color=QUIET, lw=0.8)
        plot.legend(fontsize=8)
    plot.set_xlabel("length, logarithmic (trained at the first)")
    plot.set_ylabel("mean mass off the label, logarithmic")
    plot.set_title("a small error grows")


def _log_lengths(plot: Plot, rows: Sequence[StudyRow]) -> None:
    lengths = sorted({int(n) for row in rows for n in row["error"]})
    log_axis(plot, "x", [float(length) for length in lengths[:: 2 if len(lengths) > 6 else 1]])


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


VERDICT_COLOURS = {"yes": COLOURS[2], "no": COLOURS[1], "unknown": COLOURS[6]}
STYLES = {"nope": ("o", "-"), "ape": ("s", "-")}
CUT = 0.70


def bins_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The bins of all rows, such as ``51-100``, in increasing order."""
    bins = {name for row in rows for part in ("median", "published") for name in row.get(part) or {}}
    return sorted(bins, key=lambda name: [int(number) for number in name.split("-")])


def draw_agreement(rows: Sequence[Mapping[str, Any]], width: float = WIDE) -> Drawing:
    """One plot per task: lines by encoding, ours filled and solid, published hollow and dotted."""
    tasks = list(dict.fromkeys(str(row["task"]) for row in rows))
    small = width < 2 * NARROW
    columns = min(2 if small else 4, len(tasks))
    lines = -(-len(tasks) // columns)
    salt = f"agreement {width} {' '.join(tasks)}"
    with new_figure(width, 1.9 * lines + 0.6, salt, "Accuracy by bin of lengths for each task and encoding") as figure:
        grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
        for plot in grid.flat[len(tasks) :]:
            plot.set_visible(False)
        for plot, task in zip(grid.flat, tasks, strict=False):
            plot.tick_params(labelsize=7 if small else 8)
            _panel(figure, plot, task, [row for row in rows if row["task"] == task])
        for plot in grid[:, 0]:
            plot.set_ylabel("exact match", fontsize=7.5 if small else 9)
        return figure


def _panel(figure: Drawing, plot: Plot, task: str, rows: Sequence[Mapping[str, Any]]) -> None:
    bins = bins_of(rows)
    plot.set_title(short_name(task, 24), fontsize=8.5)
    plot.set_ylim(-0.06, 1.06)
    plot.set_xlim(-0.4, max(len(bins), 1) - 0.6)
    plot.axhline(CUT, color=QUIET, lw=0.8, ls=":")
    plot.set_xticks(range(len(bins)), bins)
    missing = []
    for row in rows:
        colour = VERDICT_COLOURS[row["predicted"]]
        marker, style = STYLES.get(row["encoding"], ("^", "--"))
        for part, whose, face, line in (
            ("published", "published", PAPER, (0, (1, 2))), ("median", "ours", colour, style),
        ):  # fmt: skip
            values = {name: value for name, value in (row.get(part) or {}).items() if name in bins}
            at = [bins.index(name) for name in values]
            if not values:
                continue
            tips = [f"{task}, {row['encoding']}, {whose}, {name}: {value:.3f}" for name, value in values.items()]
            plot.plot(
                at, list(values.values()), color=colour, marker=marker, mfc=face, ls=line, ms=5,
                lw=1.5 if part == "median" else 1, clip_on=False, gid=figure.tip_id(tips),
            )  # fmt: skip
        if row["status"] != "fitted":
            missing.append(f"{row['encoding']}: {row['status']}")
    if missing:
        note = plot.text(0.5, 0.5, "\n".join(missing), transform=plot.transAxes, ha="center", va="center", color=QUIET)
        note.set_fontsize(8)
        note.set_in_layout(False)


POSITIONS = {"nope": "", "rope": ", RoPE"}
"""Names of encodings beside K_train."""


def sparse_parity_figure(systems: Sequence[SystemSummary]) -> str:
    """All systems with balanced tests as SVG; lines are solid for k ≤ K_train and dashed beyond.

    Raises `LengthwiseError` if there is none.
    """
    drawn = {_position(system): system for system in systems if system.experiment["task"].get("balanced")}
    require(bool(drawn), "no sparse parity with balanced tests; run `lengthwise run sparse-parity --preset standard`")
    columns = sorted({column for column, _ in drawn}, key=lambda column: (column[1] != "nope", column))
    rows = sorted({span for _, span in drawn}, key=lambda span: (span is not None, span))
    ks = sorted({k for system in drawn.values() for k in system.experiment["task"]["k_test"]})
    with new_figure(2.3 * len(columns) + 0.8, 2.5 * len(rows) + 0.6) as figure:
        grid = figure.subplots(len(rows), len(columns), sharex=True, sharey=True, squeeze=False)
        for row, span in enumerate(rows):
            for column, (k_train, encoding) in enumerate(columns):
                plot = grid[row, column]
                system = drawn.get(((k_train, encoding), span))
                if row == 0:
                    name = f"K_train = {k_train}{POSITIONS.get(encoding, f', {encoding}')}"
                    plot.set_title(name)
                if system is None:
                    plot.text(0.5, 0.6, "not run", transform=plot.transAxes, ha="center", color=QUIET)
                else:
                    _parity_panel(plot, system, k_train, ks)
            where = "anywhere" if span is None else f"within {span}"
            grid[row, 0].set_ylabel(f"marks {where}\nexact match")
        for plot in grid[-1]:
            plot.set_xlabel("length, logarithmic")
        _legend(figure, ks)
        return to_svg(figure, "Accuracy of sparse parity against length, by number of marked bits")


def _position(system: SystemSummary) -> tuple[tuple[int, str], int | None]:
    task = system.experiment["task"]
    return (int(task["k_max"]), str(system.experiment["encoding"]["name"])), task["span"]


def _parity_panel(plot: Plot, system: SystemSummary, k_train: int, ks: Sequence[int]) -> None:
    """One line per k: the median of the fitted seeds, and the range of all of them."""
    by_k: dict[int, list[Cell]] = {}
    for cell in sorted(system.cells, key=lambda cell: cell.length):
        axes = dict(cell.axes)
        if axes.get("min_ones") == 0:
            by_k.setdefault(axes["k"], []).append(cell)
    plot.axhline(0.5, color=QUIET, lw=1, ls=(0, (2, 3)))
    plot.set_ylim(-0.04, 1.08)
    plot.set_yticks([0, 0.5, 1])
    if not by_k:
        plot.text(0.5, 0.6, "not fitted", transform=plot.transAxes, ha="center", color=QUIET)
        return
    for k, cells in by_k.items():
        lengths, seen, colour = [cell.length for cell in cells], k <= k_train, COLOURS[ks.index(k) % len(COLOURS)]
        rates = [sorted(score.correct["exact_match"] / score.n for score in cell.scores) for cell in cells]
        plot.fill_between(lengths, [r[0] for r in rates], [r[-1] for r in rates], color=colour, alpha=0.12, lw=0)
        medians = [found.median for cell in cells if (found := cell.estimate())]
        plot.plot(
            lengths, medians, MARKERS[ks.index(k) % len(MARKERS)], ls="-" if seen else "--", color=colour,
            mfc=colour if seen else PAPER, ms=4.5, lw=1.6 if seen else 1.1, clip_on=False,
        )  # fmt: skip
    log_axis(plot, "x", sorted({float(cell.length) for cells in by_k.values() for cell in cells}))


def _legend(figure: object, ks: Sequence[int]) -> None:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    assert isinstance(figure, Figure)
    handles = [
        Line2D([], [], color=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)], ms=4.5, label=f"k = {k}")
        for i, k in enumerate(ks)
    ]
    handles.append(Line2D([], [], color=QUIET, ls="--", marker="o", mfc=PAPER, ms=4.5, label="k > K_train"))
    handles.append(Line2D([], [], color=QUIET, lw=1, ls=(0, (2, 3)), label="chance"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


if __name__ == "__main__":
    write_text(Path(sys.argv[2]), sparse_parity_figure(summarize(load([Path(sys.argv[1])]))))
