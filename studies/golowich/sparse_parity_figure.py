"""The figure of sparse parity: accuracy against k on long strings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import lengthwise as lw

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot


POSITIONS = {"nope": "", "rope": ", RoPE"}
"""Names of encodings beside K_train."""


def sparse_parity_figure(systems: Sequence[lw.report.summary.SystemSummary]) -> str:
    """All systems with balanced tests as SVG; lines are solid for k ≤ K_train and dashed beyond.

    Raises `LengthwiseError` if there is none.
    """
    drawn = {_position(system): system for system in systems if system.experiment["task"].get("balanced")}
    lw.core.errors.require(
        bool(drawn),
        "no sparse parity with balanced tests; run "
        "`lengthwise run studies/golowich/sparse_parity.py:sparse_parity --preset standard`",
    )
    columns = sorted({column for column, _ in drawn}, key=lambda column: (column[1] != "nope", column))
    rows = sorted({span for _, span in drawn}, key=lambda span: (span is not None, span))
    ks = sorted({k for system in drawn.values() for k in system.experiment["task"]["k_test"]})
    with lw.report.figures.new_figure(
        2.3 * len(columns) + 0.8,
        2.5 * len(rows) + 0.6,
        alt="Accuracy of sparse parity against length, by number of marked bits",
    ) as figure:
        grid = figure.subplots(len(rows), len(columns), sharex=True, sharey=True, squeeze=False)
        for row, span in enumerate(rows):
            for column, (k_train, encoding) in enumerate(columns):
                plot = grid[row, column]
                system = drawn.get(((k_train, encoding), span))
                if row == 0:
                    name = f"K_train = {k_train}{POSITIONS.get(encoding, f', {encoding}')}"
                    plot.set_title(name)
                if system is None:
                    plot.text(0.5, 0.6, "not run", transform=plot.transAxes, ha="center", color=lw.report.figures.QUIET)
                else:
                    _parity_panel(plot, system, k_train, ks)
            where = "anywhere" if span is None else f"within {span}"
            grid[row, 0].set_ylabel(f"marks {where}\nexact match")
        for plot in grid[-1]:
            plot.set_xlabel("length, logarithmic")
        _legend(figure, ks)
        return figure.svg()


def _position(system: lw.report.summary.SystemSummary) -> tuple[tuple[int, str], int | None]:
    task = system.experiment["task"]
    return (int(task["k_max"]), str(system.experiment["encoding"]["name"])), task["span"]


def _parity_panel(plot: Plot, system: lw.report.summary.SystemSummary, k_train: int, ks: Sequence[int]) -> None:
    """One line per k: the median of the fitted seeds, and the range of all of them."""
    by_k: dict[int, list[lw.report.summary.Cell]] = {}
    for cell in sorted(system.cells, key=lambda cell: cell.length):
        axes = dict(cell.axes)
        if axes.get("min_ones") == 0:
            by_k.setdefault(axes["k"], []).append(cell)
    plot.axhline(0.5, color=lw.report.figures.QUIET, lw=1, ls=(0, (2, 3)))
    plot.set_ylim(-0.04, 1.08)
    plot.set_yticks([0, 0.5, 1])
    if not by_k:
        plot.text(0.5, 0.6, "not fitted", transform=plot.transAxes, ha="center", color=lw.report.figures.QUIET)
        return
    for k, cells in by_k.items():
        lengths, seen, colour = (
            [cell.length for cell in cells],
            k <= k_train,
            lw.report.figures.COLOURS[ks.index(k) % len(lw.report.figures.COLOURS)],
        )
        rates = [sorted(score.correct["exact_match"] / score.n for score in cell.scores) for cell in cells]
        plot.fill_between(lengths, [r[0] for r in rates], [r[-1] for r in rates], color=colour, alpha=0.12, lw=0)
        medians = [found.median for cell in cells if (found := cell.estimate())]
        plot.plot(
            lengths,
            medians,
            lw.report.figures.MARKERS[ks.index(k) % len(lw.report.figures.MARKERS)],
            ls="-" if seen else "--",
            color=colour,
            mfc=colour if seen else lw.report.figures.PAPER,
            ms=4.5,
            lw=1.6 if seen else 1.1,
            clip_on=False,
        )
    lw.report.figures.log_axis(plot, "x", sorted({float(cell.length) for cells in by_k.values() for cell in cells}))


def _legend(figure: object, ks: Sequence[int]) -> None:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    assert isinstance(figure, Figure)
    handles = [
        Line2D(
            [],
            [],
            color=lw.report.figures.COLOURS[i % len(lw.report.figures.COLOURS)],
            marker=lw.report.figures.MARKERS[i % len(lw.report.figures.MARKERS)],
            ms=4.5,
            label=f"k = {k}",
        )
        for i, k in enumerate(ks)
    ]
    handles.append(
        Line2D(
            [],
            [],
            color=lw.report.figures.QUIET,
            ls="--",
            marker="o",
            mfc=lw.report.figures.PAPER,
            ms=4.5,
            label="k > K_train",
        )
    )
    handles.append(Line2D([], [], color=lw.report.figures.QUIET, lw=1, ls=(0, (2, 3)), label="chance"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


if __name__ == "__main__":
    found = lw.report.summary.load([Path(sys.argv[1])])
    lw.core.files.write_text(Path(sys.argv[2]), sparse_parity_figure(lw.report.summary.summarize(found)))
