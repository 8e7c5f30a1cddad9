"""Every kind of page: its figures without a browser, and the whole page in one, wide and narrow, light and dark."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pytest
from browser import BROWSER, TEXTS, measure_all
from made_up_pages import PAGES
from test_figures import LEAST
from test_page import Checker
from text_boxes import problems

from lengthwise.report.figures import NARROW, WIDE

WIDTHS = (1280, 390)
LEAST_PIXELS = 9
CONTRAST = 60
"""The least difference of brightness between a text and what is behind it, of 255."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {kind: make(tmp_path_factory.mktemp("page")) for kind, make in PAGES.items()}


@pytest.fixture(scope="module")
def measured(pages: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int, bool], Any]:
    """What a browser measured of each page, by kind, width and dark mode."""
    keys = [(kind, width) for kind in pages for width in WIDTHS]
    found = {}
    for dark in (False, True):
        values = measure_all([(pages[kind], width) for kind, width in keys], TEXTS,
                             tmp_path_factory.mktemp("browser"), dark=dark)  # fmt: skip
        found |= {(*key, dark): value for key, value in zip(keys, values, strict=True)}
    return found


@pytest.mark.parametrize("kind", PAGES)
def test_texts_of_figures_are_large_enough_whole_and_apart(pages: dict[str, str], kind: str) -> None:
    """The page shows a figure of class ``narrow`` at 350 pixels, and any other at 844 or more."""
    found = 0
    for part, svg in re.findall(r'<div class="(wide|narrow|scroll)">(<svg.*?</svg>)', pages[kind], flags=re.DOTALL):
        assert problems(svg, LEAST[NARROW if part == "narrow" else WIDE]) == [], part
        found += 1
    assert found or kind in ("passages", "study")


@pytest.mark.parametrize("kind", PAGES)
def test_pages_nest_adapt_to_telephones_and_dark_mode_and_load_nothing(pages: dict[str, str], kind: str) -> None:
    checker = Checker()
    checker.feed(pages[kind])
    assert checker.open == []
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [a for _, a in checker.tags]
    assert "prefers-color-scheme:dark" in pages[kind]
    assert not {"link", "img", "iframe"} & {tag for tag, _ in checker.tags}
    figures = " ".join(re.findall(r"<svg.*?</svg>", pages[kind], flags=re.DOTALL))
    assert re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", figures) == [], "every colour is a variable"


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", PAGES)
def test_every_text_can_be_read(measured: dict[tuple[str, int, bool], Any], kind: str, width: int, dark: bool) -> None:
    found = measured[kind, width, dark]
    assert "error" not in found, found
    assert found["scroll"] <= found["width"], "the page scrolls sideways"
    paper = brightness(found["paper"])
    assert (paper < 60) is dark
    for text in found["texts"]:
        assert text["size"] >= LEAST_PIXELS, text
        if text["svg"] < 0 and not text["behind"].startswith("rgba"):
            assert abs(brightness(text["colour"]) - brightness(text["behind"])) > CONTRAST, text
        left, top, right, bottom = text["owner"] or (0, -1e9, found["width"], 1e9)
        for box in text["boxes"] if text["svg"] >= 0 or not text["scrolls"] else []:
            assert box[0] >= left - 1, text
            assert box[1] >= top - 1, text
            assert box[2] <= right + 1, text
            assert box[3] <= bottom + 1, text
    for one, two in combinations([t for t in found["texts"] if t["svg"] >= 0], 2):
        if one["svg"] == two["svg"]:
            (a,), (b,) = one["boxes"], two["boxes"]
            # A browser's line box is taller than its letters.
            apart = min(a[2], b[2]) - max(a[0], b[0]) <= 1.5 or min(a[3], b[3]) - max(a[1], b[1]) <= 0.3 * (a[3] - a[1])
            assert apart, (one["text"], two["text"])


def brightness(colour: str) -> float:
    parts = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(parts) / 3


def test_the_audit_says_its_theory_once_and_names_no_side(pages: dict[str, str]) -> None:
    """On a telephone the panels of the figure stand below each other."""
    text = " ".join(re.sub(r"<svg.*?</svg>", "", pages["audit"], flags=re.DOTALL).split())
    assert text.count("no guarantee") == 1
    assert "on the right" not in text
