"""The pictures of an explanation: curve, automaton, heads, and failing strings with arcs."""

from __future__ import annotations

from math import cos, pi, sin
from typing import TYPE_CHECKING

import numpy as np

from lengthwise.explanation.automaton import Automaton
from lengthwise.explanation.failures import Failure, Failures
from lengthwise.explanation.model import Accuracy
from lengthwise.explanation.verdict import Verdict
from lengthwise.report.figures import COLOURS, INK, QUIET, Drawing, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STATES = 12
"""Larger automata are not drawn."""
MOST_DRAWN, BESIDE = 60, 2
"""Of a failing string with more tokens, those with arcs are drawn, and so many on either side of each."""


def curve(accuracy: Accuracy, failures: Failures) -> Drawing:
    """Accuracy against length, of random and of edited strings."""
    with new_figure(8.0, 3.2, "curve", "Accuracy against length") as figure:
        axes = figure.add_subplot()
        rows = [row for row in failures.rows if row.random.n]
        axes.axvspan(0, accuracy.train, color="#eef2f6", label="training lengths")
        axes.plot(
            [r.length for r in rows], [r.random.value for r in rows], "o-", color=COLOURS[0], label="random strings"
        )
        hard = [r for r in failures.rows if r.hard.n]
        if hard:
            axes.plot([r.length for r in hard], [r.hard.value for r in hard], "s--", color=COLOURS[1],
                      label="edited strings")  # fmt: skip
        verdict = Verdict(failures.rows, accuracy.train).of("random")
        for n, style, what in ((verdict.held, "--", "right to"), (verdict.broken(), ":", "break from")):
            if n is not None and verdict.learned:
                axes.axvline(n, ls=style, lw=1, color=QUIET, label=f"random strings {what} {n}", zorder=0)
        moved = failures.moved
        if moved is not None:
            groups = ((moved.inside, "P", "that training showed", 2), (moved.beyond, "X", f"above {moved.known}", 3))
            for arms, mark, which, colour in groups:
                at = moved.length + rows[-1].length / 60 * (colour * 2 - 5)
                if arms:
                    axes.plot([at] * len(arms), [arm.right / moved.n for arm in arms], mark, ms=8, ls="none",
                              color=COLOURS[colour],
                              label=f"length {moved.length}, ids\nshifted to those\n{which}")  # fmt: skip
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlim(left=0)
        axes.set_xlabel("length")
        axes.set_ylabel("share of strings that are right")
        figure.legend(frameon=False, loc="outside right upper")
        return figure


def draw_automaton(automaton: Automaton) -> Drawing | None:
    """The states on a circle from the start on, accepting ones with a double line, the dead state left out.

    None for one that is large or not exact.
    """
    if not automaton.complete or len(automaton.delta) > MOST_STATES:
        return None
    dfa = automaton.dfa
    states = [state for state in range(dfa.size) if dfa.live[state]] or [0]
    place = {state: (sin(2 * pi * n / len(states)), cos(2 * pi * n / len(states))) for n, state in enumerate(states)}
    with new_figure(4.4, 4.0, "automaton", "The automaton of the model") as figure:
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.set_xlim(-1.6, 1.6)
        axes.set_ylim(-1.6, 1.6)
        for source in states:
            by_target: dict[int, list[str]] = {}
            for symbol, target in zip(dfa.alphabet, dfa.delta[source], strict=True):
                by_target.setdefault(target, []).append(symbol)
            for target, symbols in by_target.items():
                if target in place:
                    _edge(axes, place[source], place[target], ",".join(symbols))
        for state, (x, y) in place.items():
            axes.plot(x, y, "o", ms=26, mfc="#ffffff", mec=INK, mew=1.6 if state == 0 else 1.0, zorder=3)
            if dfa.accepting[state]:
                axes.plot(x, y, "o", ms=21, mfc="none", mec=INK, zorder=4)
            axes.text(x, y, str(state), ha="center", va="center", zorder=5)
        return figure


def _edge(axes: Axes, source: tuple[float, float], target: tuple[float, float], label: str) -> None:
    (x, y), (u, v) = source, target
    if source == target:
        norm = max((x * x + y * y) ** 0.5, 1e-9)
        out = (x / norm or 0.0, y / norm or 1.0)
        axes.annotate("", (x + 0.12 * out[1], y - 0.12 * out[0]), (x - 0.12 * out[1], y + 0.12 * out[0]),
                      arrowprops={"arrowstyle": "->", "color": QUIET, "shrinkA": 12, "shrinkB": 12,
                                  "connectionstyle": "arc3,rad=-2.6"})  # fmt: skip
        axes.text(x + 0.48 * out[0], y + 0.48 * out[1], label, ha="center", va="center", color=COLOURS[0])
        return
    axes.annotate("", (u, v), (x, y), arrowprops={"arrowstyle": "->", "color": QUIET, "shrinkA": 15, "shrinkB": 15,
                                                  "connectionstyle": "arc3,rad=0.2"})  # fmt: skip
    axes.text((x + u) / 2 + 0.16 * (v - y), (y + v) / 2 - 0.16 * (u - x), label, ha="center", va="center",
              color=COLOURS[0])  # fmt: skip


def draw_failure(failure: Failure, number: int) -> Drawing | None:
    """Arcs from the wrong token to those that it follows from (above) and to what the blamed head looks at (below)."""
    if not (failure.parents or failure.attention):
        return None
    kept, longest = _drawn(failure), max(map(len, failure.tokens[1:-1]), default=1)
    # A gap is a column of its own.
    columns, size = dict[int, int](), 0
    for before, position in zip([-1, *kept], kept, strict=False):
        size += 1 + (position > before + 1)
        columns[position] = size - 1
    gaps = [columns[position] - 1 for position in kept if columns[position] and position - 1 not in columns]
    with new_figure(
        max(4.0, (0.1 + 0.08 * longest) * size + 1), 1.9, f"failure{number}", "Attention and parents"
    ) as figure:
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.set_xlim(-1, size)
        axes.set_ylim(-1.3, 1.3)
        for gap in gaps:
            axes.text(gap, 0, "…", ha="center", va="center", fontsize=8, color=QUIET)
        for position, column in columns.items():
            wrong, token = position == failure.position, failure.tokens[position]
            axes.text(column, 0, token, ha="center", va="center", fontsize=8, color=COLOURS[1] if wrong else INK,
                      fontweight="bold" if wrong else "normal")  # fmt: skip
        for parent in failure.parents:
            _arc(axes, columns[failure.position], columns[parent], 1, COLOURS[2], 1.0)
        for key, weight in failure.attention:
            _arc(axes, columns[failure.position], columns[key], -1, COLOURS[1], weight)
        axes.text(-0.9, 1.1, "what it follows from" if failure.parents else "", fontsize=8, color=COLOURS[2])
        axes.text(-0.9, -1.2, f"attention of {failure.head}" if failure.head else "", fontsize=8, color=COLOURS[1])
        return figure


def _drawn(failure: Failure) -> list[int]:
    """Positions of the tokens that are drawn: all of a short string; else the ends, and those with arcs."""
    size, ends = len(failure.tokens), [failure.position, *failure.parents, *(key for key, _ in failure.attention)]
    if size <= MOST_DRAWN:
        return list(range(size))
    near = {each for end in ends for each in range(end - BESIDE, end + BESIDE + 1)}
    return sorted(each for each in near | {0, size - 1} if 0 <= each < size)


def _arc(axes: Axes, one: int, other: int, side: int, colour: str, weight: float) -> None:
    t = np.linspace(0, np.pi, 40)
    middle, radius = (one + other) / 2, max(abs(one - other) / 2, 0.3)
    height = 0.2 + 0.6 * min(1.0, radius / 15)
    axes.plot(middle + radius * np.cos(t), side * (0.2 + height * np.sin(t)), color=colour, lw=0.5 + 2 * weight)
