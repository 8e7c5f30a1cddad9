"""The page in a real browser: the first screen, values on hover and tap. test_every_page.py measures its texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import BROWSER, measure
from devtools import Browser
from made_up_influence import influence_result
from made_up_pages import PAGES
from test_figures import mixed_results

from lengthwise.report.influence import InfluenceResult
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
  const near = [...page.querySelectorAll("svg [data-tip]")].filter(p => {
    const other = p.getBoundingClientRect();
    return other.width > 0 && Math.hypot(other.x - box.x, other.y - box.y) < 12;
  }).map(p => p.dataset.tip);
  const titles = page.querySelectorAll("svg use > title").length;
  return {before, hover, away, tap: [tip.hidden, tip.textContent], near, titles};
}"""

FIRST_SCREEN = """(() => {
  const finding = document.querySelector("h1 ~ p > b, h2 ~ p > b"), seen = box => box.width > 0;
  const svg = [...document.querySelectorAll("figure svg")].find(each => seen(each.getBoundingClientRect()));
  const points = [...svg.querySelectorAll("[data-tip]")].map(each => each.getBoundingClientRect());
  const ends = [Math.min(...points.map(box => box.top)), Math.max(...points.map(box => box.bottom))];
  return {text: finding.textContent, finding: finding.getBoundingClientRect().bottom, points: ends,
          top: svg.getBoundingClientRect().top, tip: svg.querySelector("[data-tip]").dataset.tip};
})()"""


@pytest.fixture(scope="module")
def html() -> str:
    return render(mixed_results(), [InfluenceResult.of(influence_result())])


def test_pointing_and_tapping_show_values(html: str, tmp_path: Path) -> None:
    found = measure(html, HOVER, tmp_path)
    assert found.get("error") is None
    assert found["before"]
    assert found["away"]
    assert found["hover"] == found["tap"] == [False, found["tap"][1]]
    assert found["tap"][1] in found["near"], "the value of a marker that lies there"
    assert ", length " in found["tap"][1]
    # The script replaces the browser's own slow tooltips.
    assert found["titles"] == 0


def test_the_finding_and_the_curve_are_on_the_first_screen(tmp_path: Path) -> None:
    """Without scrolling: on a laptop all of the curve's markers, on a telephone the sentence and the best of them."""
    with Browser(tmp_path / "browser") as browser:
        for kind in ("runs", "own task", "comparison"):
            (tmp_path / "page.html").write_text(PAGES[kind](tmp_path), encoding="utf-8")
            for width, height in ((1280, 800), (390, 844)):
                browser.view(width, height)
                browser.open((tmp_path / "page.html").as_uri())
                found = browser.value(FIRST_SCREEN)
                assert "right in tests up to" in found["text"], kind
                first, last = found["points"]
                assert 0 < found["finding"] <= found["top"] < first <= last, (kind, width)
                assert (last if width == 1280 else first) < height, (kind, width, found)
                assert "length" in found["tip"]
