"""The figure of planted theory: error of exact learners, and its growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import lengthwise as lw

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot


StudyRow = Mapping[str, Any]


def draw_theory(rows: Sequence[StudyRow]) -> lw.report.figures.Drawing:
    """Three panels side by side; panels without rows stay empty."""
    alt = "Error of exact learners against length and against k, and the growth of a small error"
    with lw.report.figures.new_figure(11.5, 4.0, "planted-theory", alt) as figure:
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
        colour = lw.report.figures.COLOURS[index % len(lw.report.figures.COLOURS)]
        low, high = zip(*row["spread"], strict=True)
        plot.fill_between(lengths, low, high, color=colour, alpha=0.15, lw=0)
        # Markers of decreasing size distinguish the lines at zero.
        plot.plot(
            lengths,
            errors,
            lw.report.figures.MARKERS[index % len(lw.report.figures.MARKERS)] + "-",
            color=colour,
            label=row["learner"],
            lw=1.6,
            ms=9 - 1.2 * index,
            mfc="none",
            mew=1.6,
        )
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
        colour = lw.report.figures.COLOURS[index % len(lw.report.figures.COLOURS)]
        strings = [row["trained_on"] for row in mine]
        at = list(mine[0]["error"]).index(longest)
        low, high = zip(*(row["spread"][at] for row in mine), strict=True)
        plot.fill_between(strings, low, high, color=colour, alpha=0.15, lw=0)
        plot.plot(
            strings,
            [row["error"][longest] for row in mine],
            lw.report.figures.MARKERS[index % len(lw.report.figures.MARKERS)] + "-",
            color=colour,
            label=f"k = {k}",
            lw=1.6,
            ms=5,
        )
        plot.set_title(f"local, at length {longest}")
    if rows:
        lw.report.figures.log_axis(plot, "x")
        plot.legend(fontsize=8)
    plot.set_xlabel("training strings, logarithmic")


def _growth_panel(plot: Plot, rows: Sequence[StudyRow]) -> None:
    """Mean error of trained heads, the heuristic (dashed) and Theorem B (dotted); both axes logarithmic."""
    for index, row in enumerate(rows):
        colour = lw.report.figures.COLOURS[index % len(lw.report.figures.COLOURS)]
        lengths = [int(n) for n in row["error"]]
        plot.plot(
            lengths,
            list(row["error"].values()),
            lw.report.figures.MARKERS[index % len(lw.report.figures.MARKERS)] + "-",
            color=colour,
            label=f"k = {row['k']}",
            ms=5,
        )
        plot.plot(lengths, row["heuristic"], "--", color=colour, lw=1)
        plot.plot(lengths, row["bound"], ":", color=colour, lw=1.2)
    if rows:
        lw.report.figures.log_axis(plot, "y")
        _log_lengths(plot, rows)
        plot.plot([], [], "--", color=lw.report.figures.QUIET, lw=1, label="heuristic")
        plot.plot([], [], ":", color=lw.report.figures.QUIET, lw=1.2, label="Theorem B")
        plot.axhline(1.0, color=lw.report.figures.QUIET, lw=0.8)
        plot.legend(fontsize=8)
    plot.set_xlabel("length, logarithmic (trained at the first)")
    plot.set_ylabel("mean mass off the label, logarithmic")
    plot.set_title("a small error grows")


def _log_lengths(plot: Plot, rows: Sequence[StudyRow]) -> None:
    lengths = sorted({int(n) for row in rows for n in row["error"]})
    lw.report.figures.log_axis(plot, "x", [float(length) for length in lengths[:: 2 if len(lengths) > 6 else 1]])


StudyRows = Sequence[Mapping[str, Any]]
