"""Draws the blind study: a row for each language, a dot for each seed, a plot for each encoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lengthwise.report.figures.style import COLOURS, INK, NARROW, PAPER, QUIET, WIDE
from lengthwise.report.figures.svg import new_figure, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

    from lengthwise.report.figures.drawing import Drawing

LanguageRow = Mapping[str, Any]

VERDICT_COLOURS = {"yes": COLOURS[2], "no": COLOURS[1], "unknown": QUIET}
"""Of what was predicted; people with any common colour blindness can tell them apart."""
SPREAD = 0.13
"""Vertical distance between the dots of neighbouring seeds, in rows."""


def draw_blind(rows: Sequence[LanguageRow], cut: float, width: float = WIDE, name: str = "101-150") -> Drawing:
    """Accuracy of every seed in one bin, the lower one of uniform and adversarial words.

    Filled dots are fitted seeds of decided cells; hollow ones are all others. A bar is the median that decides.
    """
    encodings = list(dict.fromkeys(str(row["encoding"]) for row in rows))
    languages = list(dict.fromkeys(str(row["language"]) for row in rows))
    small = width < 2 * NARROW
    labels = [short_name(text, 12 if small else 30) for text in languages]
    lines = max(label.count("\n") + 1 for label in labels)
    salt = f"blind {width} {' '.join(languages)}"
    alt = f"Accuracy on {name} symbols of every seed; colour tells the prediction"
    with new_figure(width, max(1.8, 0.9 + max(0.2, 0.16 * lines) * len(languages)), salt, alt) as figure:
        plots = figure.subplots(1, len(encodings), sharey=True, squeeze=False)[0]
        for plot, encoding in zip(plots, encodings, strict=True):
            plot.set_title(short_name(encoding, 20), fontsize=9)
            plot.tick_params(labelsize=7.5 if small else 8.5)
            plot.axvline(cut, color=QUIET, lw=0.8, ls=":")
            plot.grid(visible=False, axis="y")
            for row in rows:
                if str(row["encoding"]) == encoding:
                    _row(figure, plot, row, languages.index(str(row["language"])), name)
            plot.set_xlim(-0.05, 1.05)
            plot.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            plot.set_xlabel("accuracy", fontsize=8 if small else 9)
        plots[0].set_ylim(len(languages) - 0.4, -0.6)
        plots[0].set_yticks(range(len(languages)), labels, color=INK)
        return figure


def _row(figure: Drawing, plot: Plot, row: LanguageRow, line: int, name: str) -> None:
    """The dots of the seeds of one cell."""
    colour = VERDICT_COLOURS[row["predicted"]]
    for index, seed in enumerate(row["seeds"]):
        rates = [found["rate"] for found in seed["sets"].get(name, {}).values()]
        if not rates:
            continue
        height = line + SPREAD * (index - (len(row["seeds"]) - 1) / 2)
        face = colour if row["status"] == "decided" and seed["fitted"] else PAPER
        tip = f"{row['language']}, {row['encoding']}, seed {seed['seed']}: {min(rates):.3f}"
        plot.plot(
            [min(rates)], [height], "o", ms=3.4, mec=colour, mfc=face, mew=0.8, clip_on=False,
            gid=figure.tip_id([tip]),
        )  # fmt: skip
    if row["score"] is not None:
        plot.plot([row["score"]] * 2, [line - 0.4, line + 0.4], color=INK, lw=1)
