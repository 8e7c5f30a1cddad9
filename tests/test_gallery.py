"""The gallery: its page is what its scripts say, and every figure has a small thumbnail.

The scripts run as the blocks of the page (test_documentation.py).
"""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "gallery"
MOST_EACH, MOST_IN_ALL = 100_000, 1_000_000
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def gallery() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "gallery.py"))


def test_the_page_is_what_its_scripts_say(gallery: dict[str, Any]) -> None:
    assert (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8") == gallery["page"](), "python docs/gallery.py"


def test_every_script_is_shown_and_leaves_a_figure(gallery: dict[str, Any]) -> None:
    assert sorted(gallery["ORDER"]) == sorted(path.stem for path in FOLDER.glob("*.py"))
    for name in gallery["ORDER"]:
        tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
        assert ast.get_docstring(tree)
        assert any(isinstance(node, ast.Name) and node.id == "figure" for node in ast.walk(tree))


def test_thumbnails_and_figures_exist_and_are_small(gallery: dict[str, Any]) -> None:
    sizes = []
    for name in gallery["ORDER"]:
        thumbnail, figure = FOLDER / f"{name}.png", FOLDER / f"{name}.svg"
        assert thumbnail.read_bytes().startswith(PNG)
        assert "<svg" in figure.read_text(encoding="utf-8")
        sizes.append(thumbnail.stat().st_size)
    assert max(sizes) < MOST_EACH
    assert sum(sizes) < MOST_IN_ALL
    assert len(list(FOLDER.iterdir())) == 3 * len(sizes) + (FOLDER / "__pycache__").exists()


def test_a_script_draws_the_figure_that_is_kept(gallery: dict[str, Any]) -> None:
    figure = gallery["drawn"](FOLDER / "reach.py")
    (plot,) = figure.axes
    assert [line.get_label() for line in plot.lines] == ["sequential ids", "coupled ids"]
    assert list(plot.lines[1].get_ydata()) == [1] * 5


def test_the_explorer_of_the_site_is_the_static_page(monkeypatch: pytest.MonkeyPatch) -> None:
    import lengthwise.api.explore as explore

    assert len({*explore.TEN}) == 10
    monkeypatch.setattr(explore, "TEN", ("copy",))
    html = runpy.run_path(str(ROOT / "docs" / "hook.py"))["explorer"]()
    assert '"live":false,"targets":["copy"]' in html
