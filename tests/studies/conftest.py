"""The recipes of the studies register when their files are imported."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

for _file in sorted((Path(__file__).parents[2] / "studies").glob("*/*.py")):
    if "RECIPES.register" in _file.read_text(encoding="utf-8") or "@lw.study" in _file.read_text(encoding="utf-8"):
        import_module(_file.stem)
