"""Holds the figures of a page, inserts them into HTML and writes them as files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.report.figures.svg import themed

if TYPE_CHECKING:
    from markupsafe import Markup

    from lengthwise.report.figures.drawing import Drawing


@dataclass(frozen=True)
class Picture:
    """One figure in a wide and, if it has one, in a narrow version; ``name`` is that of its files."""

    name: str
    wide: Drawing
    narrow: Drawing | None = None

    def html(self) -> Markup:
        """Both versions, of which the style sheet shows one; without a narrow version, a narrow page scrolls."""
        from markupsafe import Markup

        if self.narrow is None:
            return Markup(f'<div class="scroll">{themed(self.wide.svg())}</div>')
        return Markup(
            f'<div class="wide">{themed(self.wide.svg())}</div><div class="narrow">{themed(self.narrow.svg())}</div>'
        )


def write_pictures(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """Write each figure as SVG, PDF and PNG; returns the paths. Raises `LengthwiseError` if a file can't be written."""
    names: dict[str, int] = {}
    paths = []
    for picture in pictures:
        name = re.sub(r"[^a-z0-9]+", "-", picture.name.lower()).strip("-")[:80] or "figure"
        names[name] = names.get(name, 0) + 1
        paths += picture.wide.write(folder, name if names[name] == 1 else f"{name}-{names[name]}")
    return paths
