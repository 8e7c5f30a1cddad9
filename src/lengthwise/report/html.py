"""Renders HTML pages from the templates; each page has one style sheet, one script and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Any

from lengthwise import __version__

FOLDER = "lengthwise.report"


def render_page(template: str, script: str = "page.js", **values: Any) -> str:
    """The page of ``templates/<template>``; its content security policy allows ``script`` only."""
    from markupsafe import Markup

    code = _text(script)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(_text("style.css")),
            script=Markup(code),
            script_hash=f"sha256-{digest}",
            version=__version__,
            **values,
        )
    )


@lru_cache(maxsize=1)
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_text),
    )  # fmt: skip
    environment.filters["number"] = number
    return environment


def _text(name: str) -> str:
    return files(FOLDER).joinpath("templates", name).read_text("utf-8")


def number(value: float | None, digits: int = 3) -> str:
    """``value`` with this many decimals; ``–`` for None."""
    return "–" if value is None else f"{value:.{digits}f}"
