"""Parses the text of a program into a lark syntax tree, and words the errors."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.core.errors import LengthwiseError, shortened

if TYPE_CHECKING:
    from lark import Lark, Tree

_SPELLED = {
    "ALPHABET": "'alphabet: …'", "BOS_HEADER": "'bos: …'", "EOS_HEADER": "'eos: …'", "NAME": "a name",
    "NEXT": "'NEXT symbol'", "ATOM": "Q_symbol", "COUNTED": "#symbol", "INT": "a number", "_COUNT": "'#['",
    "RELATION": "a comparison (<= < = >= >)", "MINUS": "'-'", "_TIMES": "'*'", "$END": "the end of the program",
}  # fmt: skip
"""Terminals that are not spelled as the grammar writes them."""
_EXPRESSION = {"ATOM", "COUNTED", "_COUNT", "_EXISTS", "INT", "LPAR", "NAME"}
_OPERATORS = {"_AND", "_OR", "RELATION", "PLUS", "MINUS", "_TIMES", "QMARK"}


class CraspSyntaxError(LengthwiseError):
    """An error in a program's text with its position (``line`` and ``column``, from 1) and an excerpt."""

    def __init__(self, message: str, text: str, line: int, column: int) -> None:
        self.message, self.line, self.column = message, line, column
        lines = text.split("\n")
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        start = max(0, column - 60)
        excerpt = shown[start : start + 100].expandtabs(1)
        caret = " " * (column - 1 - start) + "^"
        super().__init__(f"line {line}, column {column}: {message}\n    {excerpt}\n    {caret}")


@cache
def _lark() -> Lark:
    # Imported and compiled on first use: commands that parse nothing start without lark.
    from lark import Lark

    grammar = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def syntax_tree(text: str) -> Tree:
    """The lark tree of a program text; raises `CraspSyntaxError`."""
    from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    try:
        return _lark().parse(text)
    except UnexpectedToken as error:
        ended = error.token.type == "$END"
        found = "the end of the program" if ended else repr(shortened(str(error.token), 30))
        line, column = _end_of(text) if ended else (error.line, error.column)
        wanted = _expected(set(error.accepts or error.expected))
        raise CraspSyntaxError(f"expected {wanted}, found {found}", text, line, column) from None
    except UnexpectedCharacters as error:
        wanted = _expected(set(error.allowed or ()))
        found = repr(text[error.pos_in_stream])
        raise CraspSyntaxError(f"expected {wanted}, found {found}", text, error.line, error.column) from None
    except UnexpectedInput as error:
        raise CraspSyntaxError("this is not a program", text, error.line, error.column) from None


def _expected(terminals: set[str]) -> str:
    """The expected terminals in words, the most general first."""
    parts: list[str] = []
    if terminals >= _EXPRESSION:
        parts.append("an expression (Q_a, #a, #[…], a name, a number, …)")
        terminals -= {*_EXPRESSION, "_NOT", "_TRUE", "_FALSE", "MIN", "MAX", "BEGIN", "END", "I", "MINUS"}
    if terminals >= _OPERATORS:
        parts.append("an operator (and, or, <=, +, -, *, ?)")
        terminals -= _OPERATORS
    if terminals >= {"NAME", "ACCEPT", "NEXT"}:
        parts.append("a new definition")
        terminals -= {"NAME", "ACCEPT", "NEXT"}
    parts += sorted(map(_spelled, terminals))
    return " or ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "something else"


def _spelled(terminal: str) -> str:
    """A terminal in words, or as the first of its spellings."""
    if terminal in _SPELLED:
        return _SPELLED[terminal]
    pattern: str = _lark().get_terminal(terminal).pattern.value
    return f"'{pattern.partition('|')[0].removesuffix(chr(92) + 'b')}'"


def _end_of(text: str) -> tuple[int, int]:
    lines = text.rstrip().split("\n")
    return len(lines), len(lines[-1]) + 1
