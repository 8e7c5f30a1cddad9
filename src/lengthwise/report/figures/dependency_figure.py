"""Draws the dependencies of one example twice: with plain position ids and with coupled ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lengthwise.prediction.shown_task.task_example import TokenSequence
from lengthwise.report.figures.style import COLOURS, FAINT, INK, LINE, PAPER, QUIET, TINT, WIDE
from lengthwise.report.figures.svg import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

    from lengthwise.report.figures.drawing import Drawing

ACCENT = COLOURS[1]

Point = tuple[float, float]


def draw_dependencies(shown: TokenSequence, width: float = WIDE) -> Drawing:
    """One or two panels; one scored token and its parents are highlighted, the other dependencies are faint.

    Distances count from the token before the scored one, which has a dashed outline: there the model predicts it.
    """
    focus = _focus(shown)
    places = [token.places[0] for token in shown.tokens]
    rows = min(max(Counter(places).values()), 14)
    plain = [(float(t), 0.0) for t in range(len(shown.tokens))]
    salt = "dependencies" + shown.title
    alt = "Dependencies of one example under plain and coupled position ids"
    with new_figure(width, 2.5 + (0.45 * rows + 1.0 if any(places) else 0), salt, alt) as figure:
        if any(places):
            top, bottom = figure.subplots(2, 1, height_ratios=[2.3, 0.42 * rows + 0.9])
            _draw(bottom, shown, _stacked(places), focus, arcs=False)
            _title(bottom, "coupled ids: a column shares an id", shown, focus, places=True)
        else:
            top = figure.subplots()
        _draw(top, shown, plain, focus, arcs=True)
        _title(top, "plain ids: every token has its own", shown, focus, places=False)
        return figure


def _focus(shown: TokenSequence) -> int:
    """The scored token to highlight: among those with most parents, the middle one."""
    most = max(len(token.parents) for token in shown.scored)
    best = [token.position for token in shown.scored if len(token.parents) == most]
    return best[len(best) // 2]


def _stacked(places: list[int]) -> list[Point]:
    """Column = place, row = number of earlier tokens of that place."""
    seen: Counter[int] = Counter()
    points = []
    for place in places:
        points.append((float(place), -float(seen[place])))
        seen[place] += 1
    return points


def _title(plot: Plot, text: str, shown: TokenSequence, focus: int, *, places: bool) -> None:
    away = shown.reach(shown.tokens[focus], places=places)
    unit = "id" if away == 1 else "ids"
    plot.set_title(f"{text}; farthest parent: {away} {unit} from the predicting token (dashed)", fontsize=10, pad=12)


def _draw(plot: Plot, shown: TokenSequence, points: list[Point], focus: int, *, arcs: bool) -> None:
    """The dependencies as arcs or lines, and over them the tokens in boxes."""
    plot.grid(False)
    plot.set_yticks([])
    plot.spines[["left", "bottom"]].set_visible(False)
    low, high = min(y for _, y in points), max(y for _, y in points)
    right = max(max(x for x, _ in points), 1.0)
    tallest = 0.0
    for token in sorted(shown.scored, key=lambda token: token.position == focus):
        for parent in token.parents:
            ends, picked = (points[parent], points[token.position]), token.position == focus
            if arcs:
                tallest = max(tallest, _arc(plot, *ends, picked, right))
            else:
                _line(plot, *ends, picked)
    picked = {focus, *shown.tokens[focus].parents}
    for token, (x, y) in zip(shown.tokens, points, strict=True):
        predicting = token.position == focus - 1
        edge = ACCENT if token.position in picked else INK if predicting else LINE
        face = ACCENT if token.position == focus else TINT if token.position in picked else PAPER
        ink = PAPER if token.position == focus else INK if token.scored or token.position in picked else QUIET
        plot.text(
            x, y, token.text.strip("<>"), ha="center", va="center", fontsize=10 if len(points) <= 40 else 8, color=ink,
            bbox={"boxstyle": "round,pad=0.28", "fc": face, "ec": edge, "lw": 1.4 if predicting else 0.9,
                  "ls": (0, (2, 1.5)) if predicting else "-"},
            fontweight="bold" if token.scored else "normal", zorder=4,
        )  # fmt: skip
    plot.set_xlim(-0.8, right + 0.8)
    plot.set_ylim(low - 0.6, max(high + 0.6, tallest + 0.3))
    plot.set_xticks(range(0, int(right) + 1, max(1, int(right) // 24)))
    plot.tick_params(labelsize=8)
    plot.set_xlabel("position id", fontsize=9)


def _arc(plot: Plot, start: Point, end: Point, picked: bool, reach: float) -> float:
    """Draw an arc between two tokens; returns its height."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    colour, width, order = (ACCENT, 1.6, 3) if picked else (FAINT, 0.7, 1)
    height, lift = 0.4 + 2.6 * abs(end[0] - start[0]) / reach, 0.35
    corners = [(start[0], lift), (start[0], height * 1.33), (end[0], height * 1.33), (end[0], lift)]
    curve = Path(corners, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    plot.add_patch(PathPatch(curve, fill=False, ec=colour, lw=width, zorder=order))
    return height


def _line(plot: Plot, start: Point, end: Point, picked: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    colour, width, order = (ACCENT, 1.6, 3) if picked else (FAINT, 0.7, 1)
    bend = "arc3,rad=0.25" if start[0] == end[0] else "arc3,rad=0.08"
    plot.add_patch(
        FancyArrowPatch(
            start, end, connectionstyle=bend, arrowstyle="-", color=colour, lw=width, zorder=order, shrinkA=8, shrinkB=8
        )
    )
