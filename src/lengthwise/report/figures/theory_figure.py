"""The figure of planted-theory: error against length by learner, against k by sample size, and how an error grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lengthwise.report.figures.svg import COLOURS, INK, MARKERS, QUIET, new_figure, page_style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

Row = Mapping[str, Any]


def theory_figure(rows: Sequence[Row]) -> str:
    """Three panels side by side; those without rows stay empty."""
    with page_style("planted-theory"):
        figure = new_figure(12.5, 4.0)
        first, second, third = figure.subplots(1, 3)
        _length_panel(first, [row for row in rows if row["figure"] == "length"])
        _k_panel(second, [row for row in rows if row["figure"] == "k"])
        _growth_panel(third, [row for row in rows if row["figure"] == "growth"])
        return to_svg(figure, "Error of exact learners against length and against k, and the growth of a small error")


def _length_panel(plot: Plot, rows: Sequence[Row]) -> None:
    """One line per learner with the range of the repeats; lines that lie on each other are told by their markers."""
    for place, row in enumerate(rows):
        lengths = [int(n) for n in row["error"]]
        errors = list(row["error"].values())
        colour = COLOURS[place % len(COLOURS)]
        low, high = zip(*row["spread"], strict=True)
        plot.fill_between(lengths, low, high, color=colour, alpha=0.15, lw=0)
        # Markers of decreasing size keep the three lines at zero apart.
        plot.plot(
            lengths, errors, MARKERS[place % len(MARKERS)] + "-", color=colour, label=row["learner"], lw=1.6,
            ms=9 - 1.2 * place, mfc="none", mew=1.6,
        )  # fmt: skip
    if rows:
        shortest = min(int(n) for row in rows for n in row["error"])
        _log_lengths(plot, rows)
        plot.set_xlabel(f"length (trained up to {shortest})")
        plot.legend(frameon=False, fontsize=8, loc="center right", bbox_to_anchor=(1.0, 0.4))
    plot.set_ylabel("share of wrong answers")
    plot.set_title("k = 2, which learner", loc="left", fontsize=11, color=INK)


def _k_panel(plot: Plot, rows: Sequence[Row]) -> None:
    """Error at the longest length against the number of training strings, one line per k."""
    for place, k in enumerate(sorted({row["k"] for row in rows})):
        mine = sorted((row for row in rows if row["k"] == k), key=lambda row: row["trained_on"])
        longest = max(mine[0]["error"], key=int)
        colour = COLOURS[place % len(COLOURS)]
        strings = [row["trained_on"] for row in mine]
        at = list(mine[0]["error"]).index(longest)
        low, high = zip(*(row["spread"][at] for row in mine), strict=True)
        plot.fill_between(strings, low, high, color=colour, alpha=0.15, lw=0)
        plot.plot(
            strings, [row["error"][longest] for row in mine], MARKERS[place % len(MARKERS)] + "-", color=colour,
            label=f"k = {k}", lw=1.6, ms=5,
        )  # fmt: skip
        plot.set_title(f"local, at length {longest}", loc="left", fontsize=11, color=INK)
    if rows:
        plot.set_xscale("log")
        plot.legend(frameon=False, fontsize=8)
    plot.set_xlabel("training strings")


def _growth_panel(plot: Plot, rows: Sequence[Row]) -> None:
    """Mean error of heads trained by gradient, the heuristic (dashed), Theorem B (dotted); both axes logarithmic."""
    for place, row in enumerate(rows):
        colour = COLOURS[place % len(COLOURS)]
        lengths = [int(n) for n in row["error"]]
        plot.plot(
            lengths, list(row["error"].values()), MARKERS[place % len(MARKERS)] + "-", color=colour,
            label=f"k = {row['k']}", ms=5,
        )  # fmt: skip
        plot.plot(lengths, row["heuristic"], "--", color=colour, lw=1)
        plot.plot(lengths, row["bound"], ":", color=colour, lw=1.2)
    if rows:
        plot.set_yscale("log")
        _log_lengths(plot, rows)
        plot.plot([], [], "--", color=QUIET, lw=1, label="heuristic")
        plot.plot([], [], ":", color=QUIET, lw=1.2, label="Theorem B")
        plot.axhline(1.0, color=QUIET, lw=0.8)
        plot.legend(frameon=False, fontsize=8)
    plot.set_xlabel("length (trained at the first)")
    plot.set_ylabel("mean mass off the label")
    plot.set_title("a small error grows", loc="left", fontsize=11, color=INK)


def _log_lengths(plot: Plot, rows: Sequence[Row]) -> None:
    lengths = sorted({int(n) for row in rows for n in row["error"]})
    plot.set_xscale("log")
    plot.set_xticks(lengths[:: 2 if len(lengths) > 6 else 1], minor=False)
    plot.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    plot.minorticks_off()
