"""Reads the header of a program text: ``alphabet:``, ``bos:`` and ``eos:``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program.spelling import problem_with_symbol, unquote
from lengthwise.crasp.syntax.syntax_tree import CraspSyntaxError

if TYPE_CHECKING:
    from lark import Token, Tree

_PIECE = re.compile(r'\s+|,|(?P<comment>//.*)|(?P<symbol>\w+|"(?:[^"\\]|\\["\\])*")')


@dataclass(frozen=True)
class Header:
    """The declarations of a program, with the defaults ``bos: true`` and ``eos: false``."""

    alphabet: tuple[str, ...]
    bos: bool = True
    eos: bool = False


def read_header(tree: Tree, text: str) -> Header:
    """The header of a program; raises `CraspSyntaxError` for a missing, repeated or malformed line."""
    values: dict[str, object] = {}
    lines: list[Any] = tree.children
    for line in lines:
        if line.data not in ("alphabet", "bos", "eos"):
            continue
        token: Token = line.children[0]
        if line.data in values:
            raise CraspSyntaxError(f"'{line.data}:' is declared twice", text, token.line or 1, token.column or 1)
        values[line.data] = _alphabet(token, text) if line.data == "alphabet" else line.children[1].data == "true"
    if "alphabet" not in values:
        raise CraspSyntaxError("a program starts with its symbols, as in 'alphabet: a b'", text, 1, 1)
    return Header(**values)  # type: ignore[arg-type]


def _alphabet(token: Token, text: str) -> tuple[str, ...]:
    symbols: list[str] = []
    line, first = token.line or 1, token.column or 1
    position = token.index(":") + 1

    def fail(message: str) -> CraspSyntaxError:
        return CraspSyntaxError(message, text, line, first + position)

    while position < len(token):
        piece = _PIECE.match(token, position)
        if piece is None:
            raise fail(f'{token[position]!r} in an alphabet has to be in quotes, as in "<sep>"')
        if piece["symbol"] is not None:
            symbol = unquote(piece["symbol"])
            problem = problem_with_symbol(symbol)
            if symbol in symbols:
                problem = f"the symbol {symbol!r} is twice in the alphabet"
            if symbol in (BOS, EOS):
                problem = f"{symbol} is not a symbol of the alphabet; declare 'bos: true' or 'eos: true' instead"
            if problem is not None:
                raise fail(problem)
            symbols.append(symbol)
        position = piece.end()
    if not symbols:
        raise fail("the alphabet is empty; write its symbols after the colon, as in 'alphabet: a b'")
    return tuple(symbols)
