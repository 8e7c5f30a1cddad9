"""The rules for names and symbols in the text of a program, and the quoting of symbols."""

from __future__ import annotations

import re

KEYWORDS = frozenset(
    "accept alphabet and bos eos exists false i in j max min mod not or true BOS EOS NEXT".split()  # noqa: SIM905
)
_NAME = re.compile(r"[^\W\d]\w*")
_TEMPORARY = re.compile(r"_[0-9]+")
_WORD = re.compile(r"\w+")


def problem_with_name(name: str, alphabet: tuple[str, ...]) -> str | None:
    """Why ``name`` cannot name a definition, or None if it can."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is not a name; use letters, digits and _, and no digit first"
    if name in KEYWORDS:
        return f"{name!r} is a word of the language; choose another name"
    if name in alphabet:
        return f"{name!r} is a symbol of the alphabet, so #{name} would have two meanings; choose another name"
    if name.startswith(("Q_", "NEXT_")):
        return f"{name!r} looks like an atom or an output; names do not start with Q_ or NEXT_"
    if is_temporary(name):
        return f"{name!r} is reserved for lines that the printer adds; choose another name"
    return None


def problem_with_symbol(symbol: str) -> str | None:
    """Why ``symbol`` cannot be in an alphabet, or None if it can."""
    if not symbol:
        return "the empty string cannot be a symbol"
    if not symbol.isprintable():
        return f"the symbol {symbol!r} is not printable"
    return None


def is_temporary(name: str) -> bool:
    """Whether ``name`` is one of ``_0``, ``_1``, …, which the printer writes and the parser does not keep."""
    return _TEMPORARY.fullmatch(name) is not None


def quote(symbol: str) -> str:
    r"""A symbol as it is written after ``Q_``, ``#`` and ``alphabet:``: in quotes unless it is a word.

    >>> quote("a"), quote("<sep>")
    ('a', '"<sep>"')
    """
    if _WORD.fullmatch(symbol):
        return symbol
    return '"' + symbol.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquote(text: str) -> str:
    """The inverse of `quote`."""
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text
