"""The blind study as a figure: one dot per seed, languages side by side, one panel per encoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lengthwise.report.figures.style import INK, QUIET, page_style
from lengthwise.report.figures.svg import new_figure, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

Row = Mapping[str, Any]

COLOURS = {"yes": "#009e73", "no": "#d55e00", "unknown": "#66717e"}
"""Of what was predicted; people with any common colour blindness can tell them apart."""
SPREAD = 0.11
"""Horizontal distance between the dots of neighbouring seeds, in units of one language."""


def blind_figure(rows: Sequence[Row], cut: float, name: str = "101-150") -> str:
    """SVG: accuracy of every seed in one bin, the lower one of uniform and adversarial words.

    Filled dots are fitted seeds of decided cells; hollow ones are all others. A bar is the median that decides.
    """
    encodings = list(dict.fromkeys(str(row["encoding"]) for row in rows))
    languages = list(dict.fromkeys(str(row["language"]) for row in rows))
    with page_style("blind" + "".join(languages)):
        figure = new_figure(max(0.24 * len(languages), 5), 2.6 * len(encodings) + 0.8)
        grid = figure.subplots(len(encodings), 1, sharex=True, squeeze=False)
        for plot, encoding in zip(grid.flat, encodings, strict=True):
            _panel(plot, [row for row in rows if row["encoding"] == encoding], languages, cut, name)
            plot.set_ylabel(f"{encoding}\naccuracy")
        grid.flat[-1].set_xticks(
            range(len(languages)), [text.replace("$", r"\$") for text in languages], rotation=90, fontsize=7
        )
        return to_svg(figure, f"Accuracy on {name} symbols of every seed; colour tells the prediction")


def _panel(plot: Plot, rows: Sequence[Row], languages: Sequence[str], cut: float, name: str) -> None:
    plot.set_ylim(-0.06, 1.06)
    plot.set_xlim(-0.7, len(languages) - 0.3)
    plot.axhline(cut, color=QUIET, lw=0.8, ls=":")
    for row in rows:
        place, colour = languages.index(str(row["language"])), COLOURS[row["predicted"]]
        decided = row["status"] == "decided"
        for index, seed in enumerate(row["seeds"]):
            rates = [found["rate"] for found in seed["sets"].get(name, {}).values()]
            if not rates:
                continue
            x = place + SPREAD * (index - (len(row["seeds"]) - 1) / 2)
            face = colour if decided and seed["fitted"] else "white"
            plot.plot([x], [min(rates)], "o", ms=3.2, mec=colour, mfc=face, mew=0.7, clip_on=False)
        if row["score"] is not None:
            plot.plot([place - 0.35, place + 0.35], [row["score"]] * 2, color=INK, lw=1)
