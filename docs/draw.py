"""Draw the pictures of the documentation from committed results and from the tasks: ``python docs/draw.py``.

Each picture is one function, named after its file in ``docs/img``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from lengthwise.experiments.agreement import CUT
from lengthwise.experiments.recipes.huang_review import seeds_at_the_end
from lengthwise.report.figures.svg import INK, QUIET, new_figure, page_style, to_svg

ROOT = Path(__file__).resolve().parents[1]
RESULTS, IMAGES = ROOT / "results", ROOT / "docs" / "img"
YES, NO = "#009e73", "#d55e00"
SYSTEMS = {"nope": "NoPE", "ape": "APE"}


def huang_seeds() -> str:
    """One dot per fitted seed of the 25 tasks, by what theory says and by encoding."""
    cells = seeds_at_the_end(RESULTS / "huang")
    groups = [(answer, encoding) for answer in ("yes", "no") for encoding in ("nope", "ape")]
    with page_style("huang seeds"):
        figure = new_figure(8, 3)
        plot = figure.subplots()
        for line, (answer, encoding) in enumerate(groups):
            own = [(row, values) for row, values in cells if (row["predicted"], row["encoding"]) == (answer, encoding)]
            values = sorted(value for row, found in own if row["right"] is not None for value in found)
            colour = YES if answer == "yes" else NO
            for value, height in spread(values, line):
                plot.plot(value, height, "o", ms=4, color=colour, alpha=0.75, mew=0, clip_on=False)
            undecided = sum(row["right"] is None for row, _ in own)
            text = f"{len(own) - undecided} cells" + (f", {undecided} undecided" if undecided else "")
            plot.text(1.04, line, text, va="center", color=QUIET, fontsize=9)
        plot.axvline(CUT, color=QUIET, lw=1, ls=":")
        plot.text(CUT, -0.62, f"cut {CUT:.2f}", ha="center", color=QUIET, fontsize=9)
        plot.set_yticks(range(4), [f"theory {answer}, {SYSTEMS[encoding]}" for answer, encoding in groups])
        plot.tick_params(axis="y", labelcolor=INK)
        plot.set_ylim(3.5, -0.75)
        plot.set_xlim(-0.02, 1.02)
        plot.grid(axis="y", visible=False)
        plot.set_xlabel("share of strings of length 101 to 150 that are right, one dot per fitted seed")
        return to_svg(figure, "Accuracy on lengths 101 to 150 by verdict and encoding, one dot per seed")


def spread(values: list[float], line: int) -> list[tuple[float, float]]:
    """Points of one line of dots; dots that would cover each other move up and down in turns."""
    points: list[tuple[float, float]] = []
    near: list[float] = []
    for value in values:
        near = [other for other in near if value - other < 0.012]
        step = len(near)
        height = line + (0.035 * ((step + 1) // 2) * (1 if step % 2 else -1))
        points.append((value, max(line - 0.42, min(line + 0.42, height))))
        near.append(value)
    return points


PICTURES: tuple[Callable[[], str], ...] = (huang_seeds,)


def as_file(svg: str) -> str:
    """A standalone file with a white background, so that it is readable on a dark page, too."""
    body = svg[svg.index(">") + 1 :]
    return svg[: svg.index(">") + 1] + '\n <rect width="100%" height="100%" fill="white"/>' + body


def main(names: list[str]) -> None:
    """Draw the pictures of these names, or all."""
    for picture in PICTURES:
        if not names or picture.__name__ in names:
            (IMAGES / f"{picture.__name__}.svg").write_text(as_file(picture()), encoding="utf-8")
            print(f"docs/img/{picture.__name__}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
