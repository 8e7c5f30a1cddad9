"""A hook of mkdocs: pages of `studies/`, notebooks and the page of `lengthwise explore` are on the site, too.

In the repository a page of the documentation is at ``docs/NAME.md`` and a study's at ``studies/…/NAME.md``; on the
site the first is at ``NAME.md`` and the second keeps its path. Links are changed so that they are right on the site.
"""

from __future__ import annotations

import json
import posixpath
import re
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the studies, and the pictures beside them."""
    from mkdocs.structure.files import File

    for path in sorted((ROOT / "studies").rglob("*")):
        if path.suffix in (".md", ".svg", ".png"):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=notebook(path)))
    files.append(File.generated(config, "explore/index.html", content=explorer()))
    return files


def explorer() -> str:
    """The page of `lengthwise explore` for its ten targets, as one file."""
    import lengthwise as lw

    with tempfile.TemporaryDirectory() as folder:
        file = lw.explore(static=folder)
        assert file is not None
        return file.read_text(encoding="utf-8")


def notebook(path: Path) -> str:
    """A notebook as Markdown: texts, code, and the outputs that are kept in its file."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += [_output(output) for output in cell.get("outputs", [])]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    found = {kind: "".join(text) for kind, text in output.get("data", {"text/plain": output.get("text", "")}).items()}
    if "text/html" in found:
        # Figures are drawn for white paper, also where the site is dark.
        paper = "background:#fff;padding:4px" if "<svg" in found["text/html"] else ""
        return f'<div class="output" style="{paper}">{found["text/html"]}</div>'
    if "image/png" in found:
        return f'<img alt="{found["text/plain"]}" src="data:image/png;base64,{found["image/png"].strip()}">'
    return f"```text\n{found['text/plain'].rstrip()}\n```"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page with its links for the site."""
    return for_the_site(markdown, page.file.src_uri)


def for_the_site(markdown: str, page: str) -> str:
    """The text of the page ``page`` (its path on the site), whose links are for the repository, with those of the site.

    A notebook is a page there. A file that is not on the site, such as a result, is named instead.
    """
    folder = posixpath.dirname(page)
    source = folder if page.startswith("studies/") else posixpath.join("docs", folder)

    def link(found: re.Match[str]) -> str:
        target = found[2]
        if ":" in target:
            return found[0]
        inside = posixpath.normpath(posixpath.join(source, target))
        if not inside.startswith(("docs/", "studies/")):
            return f"{found[1]} (`{inside}`)"
        inside = re.sub(r"\.ipynb$", ".md", inside.removeprefix("docs/"))
        return f"[{found[1]}]({posixpath.relpath(inside, folder or '.')}{found[3] or ''})"

    return LINK.sub(link, markdown)
