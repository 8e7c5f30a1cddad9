"""Figures of the studies after Huang et al. 2025."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import lengthwise as lw

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot


StudyRow = Mapping[str, Any]


StudyRows = Sequence[Mapping[str, Any]]


def learner_figure(rows: StudyRows) -> lw.report.figures.Drawing:
    """One line per target: R of the learned transformer over n; filled markers stand for no error up to n."""
    with lw.report.figures.new_figure(
        7.6, 4.2, "idealized-learner", "Regularizer over n for the seven targets of the idealized learner"
    ) as figure:
        axes = figure.subplots()
        for index, row in enumerate(rows):
            choices = row["choices"]
            colour = lw.report.figures.COLOURS[index % len(lw.report.figures.COLOURS)]
            settled = row["settled_from"]
            label = f"{row['target']} ({'never settles' if settled is None else f'settled from n = {settled}'})"
            ns, values = [choice["n"] for choice in choices], [choice["regularizer"] for choice in choices]
            axes.plot(ns, values, color=colour, label=label, linewidth=1.6)
            for choice in choices:
                right = choice["errors"] == 0 and choice["program"] is not None
                axes.plot(
                    choice["n"],
                    choice["regularizer"],
                    lw.report.figures.MARKERS[index % len(lw.report.figures.MARKERS)],
                    color=colour,
                    markersize=5,
                    markerfacecolor=colour if right else lw.report.figures.PAPER,
                )
        lw.report.figures.log_axis(axes, "y")
        axes.set_xlabel("n (agrees up to length n/2)")
        axes.set_ylabel("R of the learned transformer, logarithmic")
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return figure


def growth_figure(rows: StudyRows) -> lw.report.figures.Drawing:
    """One line per network, both axes logarithmic; programs solid, networks for parity dashed."""
    with lw.report.figures.new_figure(
        7.0, 3.8, "regularizer-growth", "Regularizer over the context: constant for programs, growing for parity"
    ) as figure:
        axes = figure.subplots()
        for index, row in enumerate(rows):
            contexts = [int(context) for context in row["R"]]
            axes.plot(
                contexts,
                list(row["R"].values()),
                lw.report.figures.MARKERS[index % len(lw.report.figures.MARKERS)],
                linestyle="-" if row["one_program"] else "--",
                color=lw.report.figures.COLOURS[index % len(lw.report.figures.COLOURS)],
                label=row["network"],
                markersize=4,
            )
        lw.report.figures.log_axis(axes, "x", sorted({float(context) for row in rows for context in row["R"]}), base=2)
        lw.report.figures.log_axis(axes, "y")
        axes.set_xlabel("context N, logarithmic")
        axes.set_ylabel("R, logarithmic")
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return figure


def products_figure(rows: StudyRows) -> lw.report.figures.Drawing:
    """Mean squared error on windows of 150, ours and published, by relation and width."""
    widths = sorted({row["width"] for row in rows})
    with lw.report.figures.new_figure(
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
                axes.plot(_floor(row["errors"][longest]), line, "o", color=lw.report.figures.COLOURS[0], label="ours")
                axes.plot(
                    _floor(row["published"][longest]),
                    line,
                    "D",
                    color=lw.report.figures.QUIET,
                    mfc=lw.report.figures.PAPER,
                    label="published",
                )
            axes.axvline(4.0, color=lw.report.figures.QUIET, linewidth=0.8, linestyle=":")
            lw.report.figures.log_axis(axes, "x")
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


VERDICT_COLOURS = {
    "yes": lw.report.figures.COLOURS[2],
    "no": lw.report.figures.COLOURS[1],
    "unknown": lw.report.figures.COLOURS[6],
}


STYLES = {"nope": ("o", "-"), "ape": ("s", "-")}


CUT = 0.70


def bins_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The bins of all rows, such as ``51-100``, in increasing order."""
    bins = {name for row in rows for part in ("median", "published") for name in row.get(part) or {}}
    return sorted(bins, key=lambda name: [int(number) for number in name.split("-")])


def draw_agreement(
    rows: Sequence[Mapping[str, Any]], width: float = lw.report.figures.WIDE
) -> lw.report.figures.Drawing:
    """One plot per task: lines by encoding, ours filled and solid, published hollow and dotted."""
    tasks = list(dict.fromkeys(str(row["task"]) for row in rows))
    small = width < 2 * lw.report.figures.NARROW
    columns = min(2 if small else 4, len(tasks))
    lines = -(-len(tasks) // columns)
    salt = f"agreement {width} {' '.join(tasks)}"
    with lw.report.figures.new_figure(
        width, 1.9 * lines + 0.6, salt, "Accuracy by bin of lengths for each task and encoding"
    ) as figure:
        grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
        for plot in grid.flat[len(tasks) :]:
            plot.set_visible(False)
        for plot, task in zip(grid.flat, tasks, strict=False):
            plot.tick_params(labelsize=7 if small else 8)
            _panel(figure, plot, task, [row for row in rows if row["task"] == task])
        for plot in grid[:, 0]:
            plot.set_ylabel("exact match", fontsize=7.5 if small else 9)
        return figure


def _panel(figure: lw.report.figures.Drawing, plot: Plot, task: str, rows: Sequence[Mapping[str, Any]]) -> None:
    bins = bins_of(rows)
    plot.set_title(lw.report.figures.short_name(task, 24), fontsize=8.5)
    plot.set_ylim(-0.06, 1.06)
    plot.set_xlim(-0.4, max(len(bins), 1) - 0.6)
    plot.axhline(CUT, color=lw.report.figures.QUIET, lw=0.8, ls=":")
    plot.set_xticks(range(len(bins)), bins)
    missing = []
    for row in rows:
        colour = VERDICT_COLOURS[row["predicted"]]
        marker, style = STYLES.get(row["encoding"], ("^", "--"))
        for part, whose, face, line in (
            ("published", "published", lw.report.figures.PAPER, (0, (1, 2))), ("median", "ours", colour, style),
        ):  # fmt: skip
            values = {name: value for name, value in (row.get(part) or {}).items() if name in bins}
            at = [bins.index(name) for name in values]
            if not values:
                continue
            tips = [f"{task}, {row['encoding']}, {whose}, {name}: {value:.3f}" for name, value in values.items()]
            plot.plot(
                at,
                list(values.values()),
                color=colour,
                marker=marker,
                mfc=face,
                ls=line,
                ms=5,
                lw=1.5 if part == "median" else 1,
                clip_on=False,
                gid=figure.tip_id(tips),
            )
        if row["status"] != "fitted":
            missing.append(f"{row['encoding']}: {row['status']}")
    if missing:
        note = plot.text(
            0.5,
            0.5,
            "\n".join(missing),
            transform=plot.transAxes,
            ha="center",
            va="center",
            color=lw.report.figures.QUIET,
        )
        note.set_fontsize(8)
        note.set_in_layout(False)
