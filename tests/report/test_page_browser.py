"""The page in a real browser: values on hover and tap. Its texts are measured in test_every_page.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import BROWSER, measure
from made_up_influence import influence_result
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
