"""A hook of mkdocs: the pages of `studies/` are pages of the site, with links that are right there, too.

In the repository a page of the documentation is at ``docs/NAME.md`` and a study's at ``studies/…/NAME.md``; on the
site the first is at ``NAME.md`` and the second keeps its path.
"""

from __future__ import annotations

import posixpath
import re
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
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page with its links for the site."""
    return for_the_site(markdown, page.file.src_uri)


def for_the_site(markdown: str, page: str) -> str:
    """The text of the page ``page`` (its path on the site), whose links are for the repository, with those of the site.

    A file that is not on the site, such as a result, is named instead.
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
        return f"[{found[1]}]({posixpath.relpath(inside.removeprefix('docs/'), folder or '.')}{found[3] or ''})"

    return LINK.sub(link, markdown)
