"""One example's dependencies, drawn twice: tokens laid out by their plain ids, and by their coupled ids.

What it shows: the same arrows are long in one picture and short in the other.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lengthwise.report.example import Example
from lengthwise.report.figures.svg import INK, LINE, QUIET, new_figure, page_style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

ACCENT, TINT = "#d55e00", "#fbe9dd"
MOST_TOKENS = 72
"""A longer sequence would be too small to read."""

Point = tuple[float, float]


def dependency_figure(shown: Example) -> str:
    """SVG of two panels; one scored token and its parents are picked out, the other arrows are faint."""
    focus = _focus(shown)
    tokens = len(shown.tokens)
    places = [token.places[0] for token in shown.tokens]
    stacks = max(Counter(places).values())
    plain = [(float(t), 0.0) for t in range(tokens)]
    with page_style("arcs" + shown.task.name):
        figure = new_figure(10, 2.5 + (0.45 * min(stacks, 14) + 1.0 if any(places) else 0))
        if any(places):
            top, bottom = figure.subplots(2, 1, height_ratios=[2.3, 0.42 * min(stacks, 14) + 0.9])
            _draw(bottom, shown, _stacked(places), focus, arcs=False)
            _caption(bottom, "coupled ids: tokens that share a place share an id (a column)", shown, focus, places=True)
        else:
            top = figure.subplots()
        _draw(top, shown, plain, focus, arcs=True)
        _caption(top, "plain ids: every token its own", shown, focus, places=False)
        return to_svg(figure, "Dependencies of one example under plain and coupled position ids")


def _focus(shown: Example) -> int:
    """The scored token to pick out: most parents, and of those the one in the middle."""
    most = max(len(token.parents) for token in shown.scored)
    best = [token.position for token in shown.scored if len(token.parents) == most]
    return best[len(best) // 2]


def _stacked(places: list[int]) -> list[Point]:
    """Column = place, row = how many tokens of that place came before."""
    seen: Counter[int] = Counter()
    points = []
    for place in places:
        points.append((float(place), -float(seen[place])))
        seen[place] += 1
    return points


def _caption(plot: Plot, text: str, shown: Example, focus: int, *, places: bool) -> None:
    away = shown.reach(shown.tokens[focus], places=places)
    unit = "id" if away == 1 else "ids"
    plot.set_title(f"{text} — farthest parent {away} {unit} away", loc="left", fontsize=10, color=INK, pad=12)


def _draw(plot: Plot, shown: Example, points: list[Point], focus: int, *, arcs: bool) -> None:
    plot.grid(False)
    plot.set_yticks([])
    plot.spines["left"].set_visible(False)
    plot.spines["bottom"].set_visible(False)
    low, high = min(y for _, y in points), max(y for _, y in points)
    right = max(x for x, _ in points)
    tallest = 0.0
    for token in sorted(shown.scored, key=lambda token: token.position == focus):
        for parent in token.parents:
            tallest = max(
                tallest, _arrow(plot, points[parent], points[token.position], token.position == focus, arcs, right)
            )
    picked = {focus, *shown.tokens[focus].parents}
    size = 10 if len(points) <= 40 else 8
    for token, (x, y) in zip(shown.tokens, points, strict=True):
        edge = ACCENT if token.position in picked else LINE
        face = ACCENT if token.position == focus else TINT if token.position in picked else "white"
        ink = "white" if token.position == focus else INK if token.scored or token.position in picked else QUIET
        label = token.text.strip("<>")
        box = {"boxstyle": "round,pad=0.28", "fc": face, "ec": edge, "lw": 0.9}
        weight = "bold" if token.scored else "normal"
        plot.text(
            x, y, label, ha="center", va="center", fontsize=size, color=ink, bbox=box, fontweight=weight, zorder=4
        )
    plot.set_xlim(-0.8, right + 0.8)
    plot.set_ylim(low - 0.6, max(high + 0.6, tallest + 0.3))
    step = max(1, int(right) // 24)
    plot.set_xticks(range(0, int(right) + 1, step))
    plot.tick_params(labelsize=8)
    plot.set_xlabel("position id", fontsize=9)


def _arrow(plot: Plot, start: Point, end: Point, picked: bool, arcs: bool, reach: float) -> float:
    """Draw one dependency; returns how high it reaches."""
    from matplotlib.patches import FancyArrowPatch

    distance = abs(end[0] - start[0])
    height = 0.4 + 2.6 * distance / reach if arcs else 0.0
    colour, width, order = (ACCENT, 1.6, 3) if picked else ("#b9c2cc", 0.7, 1)
    if arcs:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        lift = 0.35
        corners = [(start[0], lift), (start[0], height * 1.33), (end[0], height * 1.33), (end[0], lift)]
        curve = Path(corners, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        plot.add_patch(PathPatch(curve, fill=False, ec=colour, lw=width, zorder=order))
    else:
        bend = "arc3,rad=0.25" if start[0] == end[0] else "arc3,rad=0.08"
        arrow = FancyArrowPatch(
            start, end, connectionstyle=bend, arrowstyle="-", color=colour, lw=width, zorder=order, shrinkA=8, shrinkB=8
        )
        plot.add_patch(arrow)
    return height
