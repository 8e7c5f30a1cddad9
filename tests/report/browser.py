"""Opens pages in headless Chromium, each in a frame of some width, and returns what a script measured there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

# Without one these tests are skipped, and the summary says so; Debian has it by the name chromium.
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--virtual-time-budget=8000",
)  # fmt: skip
FRAMES = """<!doctype html><body><script>
const pages = PAGES, found = [];
function open(index) {
  if (index === pages.length) {
    const out = document.createElement("pre");
    out.id = "found";
    out.textContent = JSON.stringify(found);
    document.body.append(out);
    return;
  }
  const frame = document.createElement("iframe");
  frame.style = `border:0;height:900px;width:${pages[index][1]}px`;
  frame.onload = () => {
    try { found.push((SCRIPT)(frame.contentDocument, frame.contentWindow)); }
    catch (error) { found.push({error: String(error)}); }
    frame.remove();
    open(index + 1);
  };
  frame.srcdoc = pages[index][0];
  document.body.append(frame);
}
open(0);
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
    let behind = parent;
    while (behind.parentElement && view.getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") {
      behind = behind.parentElement;
    }
    const owner = svg ? svg.getBoundingClientRect() : null;
    texts.push({
      text, size: parseFloat(style.fontSize) * scale, scrolls: !!parent.closest(".scroll, pre"), colour: style.color,
      behind: view.getComputedStyle(behind).backgroundColor,
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
    return measure_all([(html, width)], script, folder, dark=dark)[0]


def measure_all(pages: Sequence[tuple[str, int]], script: str, folder: Path, *, dark: bool = False) -> list[Any]:
    """The same for several pages, each with its width, one after the other in one browser."""
    given = json.dumps(list(pages)).replace("</", "<\\/")
    frames = FRAMES.replace("SCRIPT", script).replace("PAGES", given)
    (folder / "frame.html").write_text(frames, encoding="utf-8")
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    shown = subprocess.run(
        [str(BROWSER), *OPTIONS, *scheme, "--window-size=1400,1000", f"--user-data-dir={folder / 'user'}",
         "--dump-dom", (folder / "frame.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    found = re.search(r'<pre id="found">(.*?)</pre>', shown, flags=re.DOTALL)
    assert found, "the script did not run"
    return json.loads(unescape(found[1]))
