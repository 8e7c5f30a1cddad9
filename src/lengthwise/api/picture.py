"""A figure that shows itself in a notebook and saves itself to a file."""

from __future__ import annotations

from pathlib import Path

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_text


class Picture:
    """A figure as SVG text."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"a figure ({len(self.svg) // 1024 + 1} KiB of SVG); a notebook draws it, .save('figure.svg') keeps it"

    def save(self, path: str | Path) -> Path:
        """Write the figure to an ``.svg`` file; raises `LengthwiseError` for another ending or an unwritable folder."""
        target = Path(path)
        if target.suffix != ".svg":
            raise LengthwiseError(
                f"a figure is saved as .svg, got {target.name!r}; `lengthwise report --figures` has others"
            )
        write_text(target, '<?xml version="1.0" encoding="utf-8"?>\n' + self.svg)
        return target
