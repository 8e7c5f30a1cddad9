"""The page in a real browser: text large enough, nothing cut, nothing overlapping, values on hover and tap."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from browser import BROWSER, TEXTS, measure
from made_up_influence import influence_result
from test_figures import mixed_results

from lengthwise.report.influence.influence_result import InfluenceResult
from lengthwise.report.page import render

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium")

HOVER = """(page, view) => {
  const point = [...page.querySelectorAll("svg [data-tip]")].find(p => p.getBoundingClientRect().width > 0);
  const box = point.getBoundingClientRect(), tip = page.getElementById("tip"), before = tip.hidden;
  const say = (kind, x, y) => point.ownerSVGElement.dispatchEvent(
    new view.PointerEvent(kind, {bubbles: true, clientX: x, clientY: y}));
  say("pointermove", box.x + 6, box.y + 4);
  const hover = [tip.hidden, tip.textContent];
  say("pointermove", box.x + 300, box.y + 300);
  const away = tip.hidden;
  say("pointerdown", box.x + 6, box.y + 4);
  const titles = page.querySelectorAll("svg use > title").length;
  return {before, hover, away, tap: [tip.hidden, tip.textContent], titles};
}"""


@pytest.fixture(scope="module")
def html() -> str:
    return render(mixed_results(), [InfluenceResult.of(influence_result())])


def brightness(colour: str) -> float:
    parts = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(parts) / 3


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_text_can_be_read(html: str, width: int, dark: bool, tmp_path: Path) -> None:
    found = measure(html, TEXTS, tmp_path, width=width, dark=dark)
    assert "error" not in found, found
    assert found["scroll"] <= found["width"], "the page does not scroll sideways"
    assert (brightness(found["paper"]) < 60) is dark
    texts = found["texts"]
    assert len([text for text in texts if text["svg"] >= 0]) > 80
    for text in texts:
        assert text["size"] >= 9, text
        assert abs(brightness(text["colour"]) - brightness(found["paper"])) > 60 or text["svg"] >= 0, text
        left, top, right, bottom = text["owner"] or (0, -1e9, found["width"], 1e9)
        for box in text["boxes"] if text["svg"] >= 0 or not text["scrolls"] else []:
            assert box[0] >= left - 1, text
            assert box[1] >= top - 1, text
            assert box[2] <= right + 1, text
            assert box[3] <= bottom + 1, text
    for one, two in combinations([t for t in texts if t["svg"] >= 0], 2):
        if one["svg"] == two["svg"]:
            (a,), (b,) = one["boxes"], two["boxes"]
            # A browser's line box is taller than its letters.
            apart = min(a[2], b[2]) - max(a[0], b[0]) <= 1.5 or min(a[3], b[3]) - max(a[1], b[1]) <= 0.3 * (a[3] - a[1])
            assert apart, (one["text"], two["text"])


def test_pointing_and_tapping_show_values(html: str, tmp_path: Path) -> None:
    found = measure(html, HOVER, tmp_path)
    assert found.get("error") is None
    assert found["before"]
    assert found["away"]
    assert found["hover"] == found["tap"] == [False, found["tap"][1]]
    assert found["tap"][1].startswith("PPC, length 8: 1.000, 95 % ")
    # The script replaces the browser's own slow tooltips.
    assert found["titles"] == 0
