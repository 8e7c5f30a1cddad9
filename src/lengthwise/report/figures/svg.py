"""Defines the style of all figures and converts a figure to SVG text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lengthwise.report.figures.drawing import Drawing

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
"""The palette of Okabe and Ito (2008), which stays distinguishable under all common forms of colour blindness."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, QUIET, LINE = "#1d2733", "#5d6875", "#d5dae0"
PAPER, GRID, BAND, FAINT, TINT = "#ffffff", "#eceff2", "#eef2f6", "#b9c2cc", "#fbe9dd"
ROLES = {
    **{colour: f"c{index}" for index, colour in enumerate(COLOURS)},
    INK: "ink", QUIET: "quiet", LINE: "line", PAPER: "paper", GRID: "grid", BAND: "band", FAINT: "faint", TINT: "tint",
}  # fmt: skip
"""The CSS variable of a page's style sheet that replaces each colour, so that figures follow dark mode."""
WIDE, NARROW = 10.0, 3.6
"""Widths of a figure in inches: on a screen of 900 CSS pixels or more, and on a telephone."""
LONGEST_NAME = 60


@contextmanager
def page_style(salt: str) -> Iterator[None]:
    """Use the settings of all figures while the context is active; ``salt`` makes the ids of a figure unique."""
    import matplotlib

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "text.parse_math": False,
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": INK,
        "axes.edgecolor": LINE,
        "axes.labelcolor": QUIET,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.titlecolor": INK,
        "grid.color": GRID,
        "legend.frameon": False,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "xtick.minor.size": 0,
        "ytick.minor.size": 0,
    }
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float, height: float, salt: str = "", alt: str = "") -> Drawing:
    """An empty figure of this size in inches, outside pyplot; ``alt`` describes it to screen readers."""
    from lengthwise.report.figures.drawing import Drawing

    return Drawing(width, height, salt, alt)


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
