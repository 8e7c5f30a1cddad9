"""Makes figures and converts them to SVG text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from lengthwise.report.figures.style import ROLES, page_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lengthwise.report.figures.drawing import Drawing

LONGEST_NAME = 60


@contextmanager
def new_figure(width: float, height: float, salt: str = "", alt: str = "") -> Iterator[Drawing]:
    """An empty figure of this size in inches, outside pyplot, to be drawn in the `page_style` of ``salt``.

    ``alt`` describes it to screen readers.
    """
    from lengthwise.report.figures.drawing import Drawing

    with page_style(salt):
        yield Drawing(width, height, salt, alt)


def to_svg(figure: Drawing, label: str) -> str:
    """The ``<svg>`` element of a figure, with ``label`` for screen readers."""
    figure.alt = label
    return figure.svg()


def themed(svg: str) -> str:
    """The same element for a page: with CSS variables for the colours of `ROLES`, and without unused ids."""
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    # A page holds several figures, so ids that nothing refers to would repeat.
    svg = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)
    # The page sets the font.
    svg = re.sub(r" font-family: [^;\"]*;", "", svg)
    pattern = "|".join(ROLES)
    return re.sub(rf"({pattern})(?![0-9a-f])", lambda found: f"var(--{ROLES[found[1]]},{found[1]})", svg)


def log_axis(plot: Axes, which: Literal["x", "y"], ticks: Sequence[float] | None = None, base: int = 10) -> None:
    """Make an axis logarithmic, with plain numbers at ``ticks`` or at matplotlib's choice of powers."""
    axis = plot.xaxis if which == "x" else plot.yaxis
    (plot.set_xscale if which == "x" else plot.set_yscale)("log", base=base)
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(lambda value, _: "")
    if ticks is not None:
        axis.set_ticks(ticks, minor=False)
        axis.set_ticks([], minor=True)


def short_name(name: str, width: int) -> str:
    """A name of at most `LONGEST_NAME` characters, on lines of about ``width`` characters."""
    whole = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    cut = whole if len(whole) <= LONGEST_NAME else whole[: LONGEST_NAME - 1] + "…"
    lines = [""]
    for part in re.findall(r"[^\s_=]+[_=]*\s*|\S\s*", cut):
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines) or "–"
