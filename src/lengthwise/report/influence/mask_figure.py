"""Draws the masks of the measurement, and the distances of the chosen tokens from their targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lengthwise.report.figures.style import COLOURS, LINE, NARROW, PAPER, QUIET, WIDE
from lengthwise.report.figures.svg import new_figure
from lengthwise.report.influence.influence_result import InfluenceResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

    from lengthwise.report.figures.drawing import Drawing

MAIN, OTHER = COLOURS[0], COLOURS[1]


def draw_spans(result: InfluenceResult, width: float = WIDE) -> Drawing:
    """The distribution of distances of the best rule's tokens, at the smallest and the largest k."""
    first, last = result.recent + 1, result.recent + result.block
    edges = np.linspace(first, last + 1, min(16, result.block) + 1)
    size = 7.5 if width < 2 * NARROW else 9.5
    salt, alt = f"influence distances {result.title} {width}", "Distances of the chosen tokens from the target"
    with new_figure(width, 3.2, salt, alt) as figure:
        plot = figure.subplots()
        for k, style in zip(dict.fromkeys((result.ks[0], result.ks[-1])), ("-", "--"), strict=False):
            spans = result.spans(result.best, k)
            share = np.histogram(spans, edges)[0] / len(spans) / np.diff(edges)
            plot.stairs(share, edges, color=MAIN if style == "-" else OTHER, lw=1.6, ls=style, label=f"k = {k}")
        plot.axhline(1 / result.block, color=QUIET, lw=1, ls=(0, (2, 3)), label="uniform choice")
        plot.set_xlim(first, last + 1)
        plot.set_ylim(bottom=0)
        plot.tick_params(labelsize=size)
        plot.set_xlabel("distance from the target, tokens", fontsize=size)
        plot.set_ylabel("share per token", fontsize=size)
        figure.legend(loc="outside lower left", ncols=3, fontsize=size)
        return figure


def draw_masks(width: float = WIDE, context: int = 8, recent: int = 2, chosen: Sequence[int] = (2, 4)) -> Drawing:
    """Which keys each query attends to under L_short, L_sparse and L_long, as figure 5 of Golowich et al. 2025.

    ``chosen`` are positions from 1. The last row is the query that predicts the target.
    """
    recents = set(range(context - recent + 1, context + 1))
    panels = (
        (f"L_short: the last {recent}", recents, set()),
        (f"L_sparse: and k = {len(chosen)} chosen", recents | set(chosen), set(chosen)),
        (f"L_long: all {context}", set(range(1, context + 1)), set()),
    )
    small = width < 2 * NARROW
    salt, alt = f"influence masks {width}", "Three masks: the last tokens only, these and k chosen ones, all"
    with new_figure(width, 9.0 if small else 3.8, salt, alt) as figure:
        grid = figure.subplots(3, 1) if small else figure.subplots(1, 3)
        for plot, (title, visible, picked) in zip(grid, panels, strict=True):
            _mask(plot, context, visible, picked, 8 if small else 9.5)
            plot.set_title(title, fontsize=9.5 if small else 11)
        return figure


def _mask(plot: Plot, context: int, visible: set[int], picked: set[int], size: float) -> None:
    from matplotlib.patches import Rectangle

    for query in range(1, context + 1):
        for key in range(1, query + 1):
            # A masked token attends to itself, but no other query attends to it.
            seen = key in visible or key == query
            opacity = 0.2 if seen and query not in visible else 0.9 if seen else 1.0
            colour = OTHER if key in picked else MAIN
            plot.add_patch(
                Rectangle(
                    (key - 0.44, query - 0.44), 0.88, 0.88, fc=colour if seen else PAPER, lw=0.8,
                    ec="none" if seen else LINE, alpha=opacity,
                )
            )  # fmt: skip
    plot.set_xlim(0.4, context + 0.6)
    plot.set_ylim(context + 0.6, 0.4)
    plot.set_aspect("equal")
    plot.grid(False)
    plot.set_xticks(range(1, context + 1))
    plot.set_yticks([1, context])
    plot.tick_params(labelsize=size)
    plot.set_xlabel("key", fontsize=size)
    plot.set_ylabel("query", fontsize=size)
    plot.spines[["left", "bottom"]].set_visible(False)
