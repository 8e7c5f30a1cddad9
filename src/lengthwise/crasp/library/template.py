"""Renders the program templates in ``templates/``: C-RASP text with jinja2's loops (lines that start with ``%``)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from lengthwise.crasp.program.spelling import quote


def program_text(template: str, **values: Any) -> str:
    """The text of ``templates/<template>.crasp``; ``x|q`` quotes a symbol there, and ``x|quoted`` a list of them."""
    return _environment().get_template(f"{template}.crasp").render(values).rstrip("\n")


@cache
def _environment() -> Any:
    import jinja2  # most commands show no program

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), line_statement_prefix="%"
    )
    environment.filters |= {"q": quote, "quoted": lambda symbols: " ".join(map(quote, symbols))}
    environment.globals["enumerate"] = enumerate
    return environment
