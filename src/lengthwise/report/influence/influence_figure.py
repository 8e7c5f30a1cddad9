"""Figures of influential tokens: a scatter per k (as Golowich et al. 2025, figure 4), R_k by selector, spans, masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lengthwise.report.figures.svg import COLOURS, INK, LINE, MARKERS, QUIET, new_figure, page_style, to_svg
from lengthwise.report.influence.influence_result import NAMES, InfluenceResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

MAIN, OTHER = COLOURS[0], COLOURS[1]
INKS = {"null": COLOURS[6], "beyond_null": INK}
COLUMNS = 3
MOST_POINTS = 1500
"""More in one panel are drawn as an image: every point of an SVG is an element."""
CONTROLS = ("random", "last-k", "null")
"""Drawn dashed."""


def scatter_figure(result: InfluenceResult) -> str:
    """One panel per k: x = L_short − L_sparse(k), y = L_short − L_long, a point per target, in nats.

    Filled points are the best selector's on the scored model itself, hollow ones were chosen by the other model. On
    the dashed diagonal the k tokens give as much as the whole block.
    """
    ks = result.ks
    columns = min(COLUMNS, len(ks))
    rows = -(-len(ks) // columns)
    main = result.best
    y = result.short - result.long
    names = [name for name in (main, "cross") if name in result.chosen]
    ends = [*y, *(result.gained(name, k) for name in names for k in ks)]
    low, high = min(np.min(end) for end in ends), max(np.max(end) for end in ends)
    room = 0.04 * (high - low) or 1.0
    limits = float(low - room), float(high + room)
    with page_style("influence-scatter" + result.title):
        figure = new_figure(3.35 * columns + 0.3, 3.3 * rows + 0.5)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for plot in grid.flat[len(ks) :]:
            plot.set_visible(False)
        for index, (plot, k) in enumerate(zip(grid.flat, ks, strict=False)):
            _scatter(plot, result, names, y, k, limits)
            if index + columns >= len(ks):
                plot.set_xlabel(f"nats from k tokens of {result.block}")
                plot.tick_params(labelbottom=True)
        for plot in grid[:, 0]:
            plot.set_ylabel(f"nats from all {result.block}")
        handles = list({h.get_label(): h for h in grid[0, 0].get_legend_handles_labels()[0]}.values())
        figure.legend(handles=handles, loc="outside lower left", ncols=len(handles), frameon=False)
        return to_svg(figure, "Gain from k influential tokens against gain from the whole block, one point per target")


def _scatter(
    plot: Plot, result: InfluenceResult, names: Sequence[str], y: np.ndarray, k: int, limits: tuple[float, float]
) -> None:
    plot.set_xlim(limits)
    plot.set_ylim(limits)
    plot.set_aspect("equal", adjustable="box")
    plot.plot(limits, limits, color=QUIET, lw=1, ls=(0, (4, 3)), label="y = x", zorder=1)
    for name in reversed(names):
        own = name != "cross"
        plot.scatter(
            result.gained(name, k), y, s=13, color=MAIN if own else "none", edgecolors="none" if own else OTHER,
            linewidths=0.8, alpha=0.55 if own else 0.6, label=_label(result, name), zorder=3 if own else 2,
            rasterized=len(y) > MOST_POINTS,
        )  # fmt: skip
    cell = result.cells[names[0]].get(k)
    if cell is not None and cell.slope is not None:
        ends = np.asarray(limits)
        line = cell.slope * ends + (cell.intercept or 0.0)
        plot.plot(ends, line, color=MAIN, lw=1.6, label="fitted line", zorder=4)
    lines = [_note(result, name, k) for name in names]
    plot.text(
        0.97, 0.03, "\n".join(lines), transform=plot.transAxes, ha="right", va="bottom", fontsize=8.5, color=INK,
        bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5}, zorder=5,
    )  # fmt: skip
    plot.set_title(f"k = {k}", loc="left", fontsize=11, color=INK, fontweight="bold")


def _label(result: InfluenceResult, name: str) -> str:
    return "chosen by the other model" if name == "cross" else f"chosen by the model itself ({NAMES[result.best]})"


def _note(result: InfluenceResult, name: str, k: int) -> str:
    cell = result.cells[name].get(k)
    who = "other model" if name == "cross" else "itself"
    if cell is None or cell.recovered is None:
        return f"{who}: no gain to recover"
    slope = "" if cell.slope is None else f", slope {cell.slope:.2f}"
    return f"{who}: R = {cell.recovered:.2f}{slope}"


def recovered_figure(result: InfluenceResult) -> str:
    """R_k over k, one line per selector with its 95 % interval; the controls and the null are dashed."""
    names = [name for name in NAMES if name in result.cells]
    names += [name for name in result.cells if name not in names]
    with page_style("influence-recovered" + result.title):
        figure = new_figure(8.8, 4.2)
        plot = figure.subplots()
        for place, name in enumerate(names):
            found = [(k, cell) for k, cell in sorted(result.cells[name].items()) if cell.recovered is not None]
            if not found:
                continue
            # Beside each other, so that intervals do not cover each other.
            at = [k * 2 ** (0.055 * (place - (len(names) - 1) / 2)) for k, _ in found]
            values = [cell.recovered or 0.0 for _, cell in found]
            colour = INKS.get(name, COLOURS[place % (len(COLOURS) - 1)])
            plot.plot(
                at, values, MARKERS[place % len(MARKERS)], ls="--" if name in CONTROLS else "-", color=colour, ms=4.5,
                lw=2.6 if name == "beyond_null" else 1.4, label=NAMES.get(name, name),
                mfc="white" if name in CONTROLS else colour,
            )  # fmt: skip
            for x, (_, cell) in zip(at, found, strict=True):
                if cell.low is not None and cell.high is not None:
                    plot.plot([x, x], [cell.low, cell.high], color=colour, lw=1, alpha=0.8)
        plot.axhline(1, color=QUIET, lw=1, ls=(0, (4, 3)))
        plot.axhline(0, color=QUIET, lw=0.8)
        plot.set_xscale("log", base=2)
        plot.set_xticks(result.ks, [str(k) for k in result.ks])
        plot.minorticks_off()
        plot.set_xlabel(f"k, tokens of the block of {result.block} made visible")
        plot.set_ylabel("fraction of the gain recovered, $R_k$")
        if plot.get_legend_handles_labels()[0]:
            plot.legend(frameon=False, fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return to_svg(figure, "Fraction of the long context's gain recovered, by number of tokens and selection rule")


def spans_figure(result: InfluenceResult) -> str:
    """How far back the chosen tokens are: the best selector's at the largest k, against any token of the block."""
    first, last = result.recent + 1, result.recent + result.block
    edges = np.linspace(first, last + 1, min(16, result.block) + 1)
    widths = np.diff(edges)
    with page_style("influence-spans" + result.title):
        figure = new_figure(7.6, 3.2)
        plot = figure.subplots()
        for k, style in zip(dict.fromkeys((result.ks[0], result.ks[-1])), ("-", "--"), strict=False):
            spans = result.spans(result.best, k)
            counts = np.histogram(spans, edges)[0]
            share = counts / len(spans) / widths
            colour = MAIN if style == "-" else OTHER
            plot.stairs(share, edges, color=colour, lw=1.6, ls=style, label=f"k = {k}", fill=False)
        plot.axhline(1 / result.block, color=QUIET, lw=1, ls=(0, (2, 3)), label="all equally often")
        plot.set_xlim(first, last + 1)
        plot.set_ylim(bottom=0)
        plot.set_xlabel("tokens back from the target")
        plot.set_ylabel("share per token")
        plot.legend(frameon=False, fontsize=8.5)
        return to_svg(figure, "How far back the chosen tokens are")


def masks_figure(context: int = 8, recent: int = 2, chosen: Sequence[int] = (2, 4)) -> str:
    """Who may be attended to in L_short, L_sparse and L_long: a toy window, as Golowich et al. 2025, figure 5.

    ``chosen`` counts tokens from 1. The last row is the query that predicts the target.
    """
    recents = set(range(context - recent + 1, context + 1))
    panels = (
        ("$L_{short}$", f"the last {recent}", recents),
        ("$L_{short,sparse}$", f"and k = {len(chosen)} chosen tokens", recents | set(chosen)),
        ("$L_{long}$", f"all {context}", set(range(1, context + 1))),
    )
    with page_style("influence-masks"):
        figure = new_figure(9.6, 3.8)
        for plot, (title, text, visible) in zip(figure.subplots(1, 3), panels, strict=True):
            _mask(plot, context, visible, set(chosen) if "sparse" in title else set())
            plot.set_title(f"{title}: {text}", loc="left", fontsize=11, color=INK)
        return to_svg(figure, "Three masks: the last tokens only, these and k chosen ones, all")


def _mask(plot: Plot, context: int, visible: set[int], picked: set[int]) -> None:
    from matplotlib.patches import Rectangle

    for query in range(1, context + 1):
        for key in range(1, query + 1):
            # A masked token hides from everyone behind it, and still sees itself: what it computes reaches nobody.
            seen = key in visible or key == query
            colour = OTHER if key in picked else MAIN
            faint = query not in visible
            face = colour if seen else "white"
            plot.add_patch(
                Rectangle(
                    (key - 0.44, query - 0.44), 0.88, 0.88, fc=face, ec=LINE if not seen else "none", lw=0.8,
                    alpha=0.2 if seen and faint else 0.9 if seen else 1.0,
                )
            )  # fmt: skip
    plot.set_xlim(0.4, context + 0.6)
    plot.set_ylim(context + 0.6, 0.4)
    plot.set_aspect("equal")
    plot.grid(False)
    plot.set_xticks(range(1, context + 1))
    plot.set_yticks([1, context])
    plot.set_xlabel("attended to (key)")
    plot.set_ylabel("query")
    for side in ("left", "bottom"):
        plot.spines[side].set_visible(False)
