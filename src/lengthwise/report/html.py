"""Renders HTML pages from the templates; each page has one style sheet, one script and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lengthwise import __version__


def render_page(template: str | Path, script: str = "page.js", **values: Any) -> str:
    """The page of ``templates/<template>``, or of another file; its content security policy allows ``script`` only."""
    code = _text(script)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    jinja = _environment()
    own = isinstance(template, Path)
    page = jinja.from_string(template.read_text("utf-8")) if own else jinja.get_template(template)
    style, sha = Markup(_text("style.css")), f"sha256-{digest}"
    return page.render(style=style, script=Markup(code), script_hash=sha, version=__version__, **values)


@lru_cache(maxsize=1)
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_text),
    )  # fmt: skip
    environment.filters["number"] = number
    environment.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
    return environment


def _text(name: str) -> str:
    return files("lengthwise.report").joinpath("templates", name).read_text("utf-8")


def number(value: float | None, digits: int = 3) -> str:
    """``value`` with this many decimals; ``–`` for None."""
    return "–" if value is None else f"{value:.{digits}f}"
