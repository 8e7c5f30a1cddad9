"""A library of C-RASP programs by name, each checked against an independent oracle on all words up to a length.

>>> get("Tomita-4").window
3
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from lengthwise.core.errors import UnknownNameError
from lengthwise.crasp.program import Program, quote


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


@dataclass(frozen=True)
class Entry:
    """A program with the definition of what it computes.

    The tests compare it with an independent oracle on all words (or all valid prompts) up to ``checked_length``.
    """

    name: str
    definition: str
    source: str
    checked_length: int
    template: str = ""
    values: dict[str, Any] = field(default_factory=dict, hash=False)
    written: str = ""
    """The text of a program without a template."""

    @property
    def text(self) -> str:
        """The text of the program."""
        return self.written or program_text(self.template, **self.values)

    @cached_property
    def program(self) -> Program:
        """The parsed program."""
        from lengthwise.crasp.syntax import parse

        return parse(self.text)


__all__ = ["ENTRIES", "Entry", "entry", "get", "names", "text"]


def _entries() -> dict[str, Entry]:
    read = tomllib.loads((Path(__file__).parent / "programs.toml").read_text(encoding="utf-8"))
    sources = read["sources"]
    return {p["name"]: Entry(**p | {"source": sources.get(p["source"], p["source"])}) for p in read["program"]}


ENTRIES = _entries()


def names() -> tuple[str, ...]:
    """The names of all programs, family by family."""
    return tuple(ENTRIES)


def entry(name: str) -> Entry:
    """The entry of that name; case, blanks, hyphens and underscores are ignored. Raises `UnknownNameError`."""
    for known, found in ENTRIES.items():
        if _plain(known) == _plain(name):
            return found
    raise UnknownNameError("program", name, ENTRIES)


def get(name: str) -> Program:
    """The program of that name."""
    return entry(name).program


def text(name: str) -> str:
    """The text of that program, comments included."""
    return entry(name).text + "\n"


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "").replace("_", "")
