"""The view of a passage in a real browser; runs where a Chromium is installed."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
from browser import BROWSER
from made_up_influence import influence_result

from lengthwise.report.influence import InfluenceResult, token_view

ACT = """
<script>
const seen = [];
function tell(what) {
  const at = css => [...document.querySelectorAll(".text > " + css)].map(span => +span.dataset.i);
  seen.push({what, here: at(".here"), block: at(".block"), recent: at(".recent"),
             colour: [...document.querySelectorAll(".text > .block")].map(span => span.style.background),
             panel: document.getElementById("panel").innerText});
}
function over(node, kind) { node.dispatchEvent(new PointerEvent("pointerover", {bubbles: true, pointerType: kind})); }
const [first, second] = document.querySelectorAll(".t");
tell("start");
over(second, "mouse"); tell("hover second");
first.click(); over(second, "mouse"); over(document.querySelector("h1"), "mouse"); tell("kept first");
first.focus(); first.dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, key: "ArrowRight"}));
// A page without a window may get no focus events of its own.
document.activeElement.dispatchEvent(new FocusEvent("focusin", {bubbles: true})); tell("arrow");
over(first, "touch"); tell("touch moves nothing");
first.click(); tell("tap");
const out = document.createElement("pre"); out.id = "seen"; out.textContent = JSON.stringify(seen);
document.body.append(out);
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
def test_pointing_tapping_and_arrows_show_what_a_token_depends_on(tmp_path: Path) -> None:
    result = InfluenceResult.of(influence_result())
    html = re.sub(r"<meta http-equiv[^>]*>", "", token_view(result)).replace("</body>", ACT + "</body>")
    (tmp_path / "tokens.html").write_text(html, encoding="utf-8")
    command = [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
    shown = subprocess.run(
        [*command, "--dump-dom", (tmp_path / "tokens.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    found = re.search(r'<pre id="seen">(.*?)</pre>', shown, flags=re.DOTALL)
    assert found, "the page's script failed"
    seen = {entry["what"]: entry for entry in json.loads(unescape(found[1]))}
    # The target that gains most is shown at first.
    for what, at in (("start", 16), ("hover second", 18), ("kept first", 16), ("arrow", 18), ("tap", 16)):
        assert seen[what]["here"] == [at], what
    assert seen["touch moves nothing"]["here"] == [18]
    assert seen["start"]["block"] == list(range(10))
    assert seen["start"]["recent"] == list(range(10, 16))
    assert seen["hover second"]["block"] == list(range(2, 12))
    # 0.2 i − 0.3 nats: blue up to token 1, then orange, ever stronger.
    strength = [float(re.findall(r"[\d.]+", colour)[-1]) for colour in seen["start"]["colour"]]
    kinds = [re.findall(r"hot|cold", colour)[0] for colour in seen["start"]["colour"]]
    assert kinds == ["cold"] * 2 + ["hot"] * 8
    assert strength[0] > strength[1] > 0
    assert strength[2:] == sorted(strength[2:])
    assert strength[-1] > 0.9
    panel = " ".join(seen["start"]["panel"].split())
    assert "last 6 2.50 all 16 0.50 gained by the block +2.00" in panel
    assert "</script> 7 +1.50" in panel
