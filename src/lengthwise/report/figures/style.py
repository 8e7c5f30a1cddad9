"""Defines the colours, sizes and matplotlib settings of all figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


@contextmanager
def page_style(salt: str) -> Iterator[None]:
    """Use the settings of all figures while the context is active; ``salt`` makes the ids of a figure unique."""
    import matplotlib

    settings: Any = {
        "svg.fonttype": "none",
        "pdf.fonttype": 42,  # TrueType: some journals refuse matplotlib's Type 3
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
