"""Draws the gallery: ``python docs/gallery.py`` runs its scripts and writes figures, thumbnails and the page.

A script is a file of ``docs/gallery`` that leaves a matplotlib figure in ``figure``; its docstring is the caption.
"""

from __future__ import annotations

import ast
import io
import os
import runpy
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().with_suffix("")
ROOT = FOLDER.parents[1]
ORDER = ("arcs", "reach", "sparsity", "forecast", "fragments", "accuracy", "own_axes", "evidence")
THUMBNAIL = 360
"""Width in pixels."""
COLOURS = 128
"""Of a thumbnail, which is a third as large then."""
HEAD = """# Gallery

Each picture is drawn by the few lines below it, from the root of a clone. Click on it for the figure itself;
`figure.savefig("figure.pdf")` writes it for print. `python docs/gallery.py` draws all of them again.
"""


def drawn(script: Path) -> Any:
    """The figure of a script, which runs in the root of the repository."""
    import matplotlib

    matplotlib.use("Agg")
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        return runpy.run_path(str(script))["figure"]
    finally:
        os.chdir(before)


def page() -> str:
    """The text of the page, from the scripts alone."""
    parts = [HEAD]
    for name in ORDER:
        code = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        caption = ast.get_docstring(ast.parse(code)) or ""
        lines = code.split('"""', 2)[2].strip()
        title = name.replace("_", " ").capitalize()
        picture = f"[![{caption}](gallery/{name}.png)](gallery/{name}.svg)"
        parts.append(f"## {title}\n\n{caption}\n\n{picture}\n\n```python\n{lines}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Draw every figure with its thumbnail, and write the page."""
    import matplotlib
    from PIL import Image

    from lengthwise.report.figures import shorter

    for name in ORDER:
        figure = drawn(FOLDER / f"{name}.py")
        svg = io.StringIO()
        with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
            figure.savefig(svg, format="svg", metadata={"Date": None})
        # Without blanks at the ends of lines, which git complains about.
        text = "\n".join(line.rstrip() for line in shorter(svg.getvalue()).splitlines())
        (FOLDER / f"{name}.svg").write_text(text + "\n", encoding="utf-8")
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=THUMBNAIL / figure.get_figwidth() * 2)
        Image.open(png).convert("RGB").quantize(COLOURS).save(FOLDER / f"{name}.png", optimize=True)
        print(name, file=sys.stderr)
    (FOLDER.parent / "gallery.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
