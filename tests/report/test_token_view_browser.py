"""The view of a passage in a real browser; runs where a Chromium is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
from made_up_influence import influence_result

from lengthwise.report.influence.influence_result import InfluenceResult
from lengthwise.report.influence.token_view import token_view

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

ACT = """
<script>
const told = [];
function tell(what) {
  const at = css => [...document.querySelectorAll(".text > " + css)].map(span => +span.dataset.i);
  told.push({what, here: at(".here"), block: at(".block"), recent: at(".recent"),
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
const out = document.createElement("pre"); out.id = "told"; out.textContent = JSON.stringify(told);
document.body.append(out);
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
def test_pointing_tapping_and_arrows_show_what_a_token_depends_on(tmp_path: Path) -> None:
    result = InfluenceResult.of(influence_result())
    (tmp_path / "tokens.html").write_text(token_view(result).replace("</body>", ACT + "</body>"), encoding="utf-8")
    command = [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
    shown = subprocess.run(
        [*command, "--dump-dom", (tmp_path / "tokens.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    found = re.search(r'<pre id="told">(.*?)</pre>', shown, flags=re.DOTALL)
    assert found, "the page's script failed"
    told = {entry["what"]: entry for entry in json.loads(unescape(found[1]))}
    # The target that gains most is shown at first.
    for what, at in (("start", 16), ("hover second", 18), ("kept first", 16), ("arrow", 18), ("tap", 16)):
        assert told[what]["here"] == [at], what
    assert told["touch moves nothing"]["here"] == [18]
    assert told["start"]["block"] == list(range(10))
    assert told["start"]["recent"] == list(range(10, 16))
    assert told["hover second"]["block"] == list(range(2, 12))
    # 0.2 i − 0.3 nats: blue up to token 1, then orange, ever stronger.
    strength = [int(re.findall(r"\d+", colour)[2]) for colour in told["start"]["colour"]]
    red = [int(re.findall(r"\d+", colour)[0]) for colour in told["start"]["colour"]]
    assert red[0] < red[1] < 255
    assert strength[2:] == sorted(strength[2:], reverse=True)
    assert strength[-1] < 100
    panel = " ".join(told["start"]["panel"].split())
    assert "last 6 2.50 all 16 0.50 gained by the block +2.00" in panel
    assert "</script> 7 +1.50" in panel
