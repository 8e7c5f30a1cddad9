"""A library of C-RASP programs by name, each checked against an independent oracle on all words up to a length.

>>> get("Tomita-4").window
3
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from lengthwise.core.errors import UnknownNameError
from lengthwise.crasp.library.entry import Entry
from lengthwise.crasp.program.program import Program

__all__ = ["ENTRIES", "Entry", "entry", "get", "names", "text"]


def _entries() -> dict[str, Entry]:
    """The programs of ``programs.toml``, in its order."""
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
