"""Opens a page in headless Chromium in a frame of some width and returns what a script measured there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--virtual-time-budget=8000",
)  # fmt: skip
FRAME = """<!doctype html><body><iframe style="border:0;width:WIDTHpx;height:900px"></iframe><script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  let found;
  try { found = (SCRIPT)(page, view); } catch (error) { found = {error: String(error)}; }
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
};
frame.srcdoc = PAGE;
</script></body>"""
TEXTS = """(page, view) => {
  const texts = [], walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement, text = node.textContent.trim();
    if (!text || parent.closest("script,style,title,metadata")) continue;
    const range = page.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter(box => box.width > 0 && box.height > 0);
    if (!boxes.length) continue;
    const style = view.getComputedStyle(parent), svg = parent.closest("svg");
    let scale = 1;
    if (svg) { const matrix = parent.getScreenCTM(); scale = Math.hypot(matrix.a, matrix.b); }
    const owner = svg ? svg.getBoundingClientRect() : null;
    texts.push({
      text, size: parseFloat(style.fontSize) * scale, scrolls: !!parent.closest(".scroll, pre"), colour: style.color,
      svg: svg ? [...page.querySelectorAll("svg")].indexOf(svg) : -1,
      owner: owner ? [owner.left, owner.top, owner.right, owner.bottom] : null,
      boxes: boxes.map(box => [box.left, box.top, box.right, box.bottom]),
    });
  }
  const root = page.documentElement;
  const paper = view.getComputedStyle(page.body).backgroundColor;
  return {texts, scroll: root.scrollWidth, width: root.clientWidth, paper};
}"""


def measure(html: str, script: str, folder: Path, *, width: int = 1280, dark: bool = False) -> Any:
    """Run a function of the document and its window in the page; returns its value."""
    page = json.dumps(html).replace("</", "<\\/")
    frame = FRAME.replace("WIDTH", str(width)).replace("SCRIPT", script).replace("PAGE", page)
    (folder / "frame.html").write_text(frame, encoding="utf-8")
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    shown = subprocess.run(
        [str(BROWSER), *OPTIONS, *scheme, "--window-size=1400,1000", f"--user-data-dir={folder / 'user'}",
         "--dump-dom", (folder / "frame.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    found = re.search(r'<pre id="found">(.*?)</pre>', shown, flags=re.DOTALL)
    assert found, "the script did not run"
    return json.loads(unescape(found[1]))
