"""Figures as SVG text for a page: no files, no global state, the same bytes for the same data."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
"""Okabe and Ito's colours, which people with any common colour blindness can tell apart."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, QUIET, LINE = "#1d2733", "#66717e", "#d5dae0"


@contextmanager
def page_style(salt: str) -> Iterator[None]:
    """Matplotlib's settings for figures inside the page; ``salt`` keeps the ids of two figures apart."""
    import matplotlib

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": INK,
        "axes.edgecolor": LINE,
        "axes.labelcolor": QUIET,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#eceff2",
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
    }
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure in inches, without pyplot and its global list of figures."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def to_svg(figure: Figure, label: str) -> str:
    """The ``<svg>`` element, scaled to the width of the page, with ``label`` for screen readers."""
    from markupsafe import escape

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    element = text[text.index("<svg") :]
    width = figure.get_figwidth() * 96
    opening = f'<svg role="img" aria-label="{escape(label)}" style="width:100%;height:auto;max-width:{width:.0f}px" '
    # The page sets the font, so the figure's text matches the text around it.
    return element.replace("<svg ", opening, 1).replace("'DejaVu Sans', ", "").replace("DejaVu Sans, ", "")
