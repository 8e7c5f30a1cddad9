"""The pictures of an explanation: curve and automaton."""

from __future__ import annotations

from math import cos, pi, sin
from typing import TYPE_CHECKING

from lengthwise.explanation.automaton import Automaton
from lengthwise.explanation.failures import Failures
from lengthwise.explanation.model import Accuracy
from lengthwise.explanation.verdict import Verdict
from lengthwise.report.figures import COLOURS, INK, QUIET, Drawing, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STATES = 12
"""Larger automata are not drawn."""


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
