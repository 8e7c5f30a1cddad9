"""Defines the figure class of the report, which writes SVG, PDF and PNG and gives its points texts."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from markupsafe import escape
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from lengthwise.core.files import replacing
from lengthwise.report.figures.style import page_style

METADATA = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None, "Producer": None}, "png": {}}
"""Without dates, the same data give the same bytes."""


class Drawing(Figure):
    """A matplotlib figure with a description ``alt``, and a text for each point of its marked lines in ``tips``."""

    def __init__(self, width: float, height: float, salt: str, alt: str) -> None:
        super().__init__(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.05))
        FigureCanvasSVG(self)
        self.salt, self.alt = salt, alt
        self.tips: dict[str, list[str]] = {}

    def tip_id(self, texts: Sequence[str]) -> str:
        """The ``gid`` for a line whose markers get these ``texts``, one per point."""
        name = f"tips-{len(self.tips)}"
        self.tips[name] = list(texts)
        return name

    def svg(self) -> str:
        """The ``<svg>`` element, which scales to the width of its container; texts of points are ``<title>``."""
        text = self._saved("svg").decode()
        element = text[text.index("<svg") :]
        width = self.get_figwidth() * 96
        opening = (
            f'<svg role="img" aria-label="{escape(self.alt)}" style="width:100%;height:auto;max-width:{width:.0f}px" '
        )
        for name, tips in self.tips.items():
            element = _with_titles(element, name, tips)
        # The page sets the font.
        return element.replace("<svg ", opening, 1).replace("'DejaVu Sans', ", "").replace("DejaVu Sans, ", "")

    def _repr_html_(self) -> str:
        return self.svg()

    def write(self, folder: Path, name: str) -> list[Path]:
        """Write ``name.svg``, ``name.pdf`` and ``name.png`` (200 dpi); raises `LengthwiseError` if it can't."""
        paths = []
        for kind in METADATA:
            path = folder / f"{name}.{kind}"
            with replacing(path) as temporary:
                temporary.write_bytes(self._saved(kind))
            paths.append(path)
        return paths

    def _saved(self, kind: str) -> bytes:
        buffer = io.BytesIO()
        with page_style(self.salt), warnings.catch_warnings():
            # A browser has glyphs that matplotlib's font lacks.
            warnings.filterwarnings("ignore", message="Glyph")
            warnings.filterwarnings("ignore", message="constrained_layout not applied")
            transparent = kind == "svg"
            self.savefig(buffer, format=kind, dpi=200, transparent=transparent, metadata=METADATA[kind])
        return buffer.getvalue()


def _with_titles(svg: str, name: str, tips: Sequence[str]) -> str:
    """Put a ``<title>`` into the first markers after the group ``name``."""
    head, found, tail = svg.partition(f'<g id="{name}">')
    texts = iter(tips)
    filled = re.sub(
        r"(<use [^>]*)/>", lambda use: f"{use[1]}><title>{escape(next(texts))}</title></use>", tail, count=len(tips)
    )
    return head + found + filled
