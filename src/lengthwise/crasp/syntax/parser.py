"""`parse` reads the text of a program into a `Program`; ``docs/crasp.md`` teaches the language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_text
from lengthwise.core.vocab import EOS
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.program.spelling import is_temporary, problem_with_name, unquote
from lengthwise.crasp.syntax.header import Header, read_header
from lengthwise.crasp.syntax.lowering import Expressions
from lengthwise.crasp.syntax.syntax_tree import CraspSyntaxError, syntax_tree

if TYPE_CHECKING:
    from lark import Token, Tree


def parse(text: str) -> Program:
    """The program that ``text`` describes; raises `CraspSyntaxError` with line, column and a caret.

    >>> parse("alphabet: 0 1\\naccept := #0 + 1 <= #1").depth
    1
    """
    tree = syntax_tree(text)
    header = read_header(tree, text)
    try:
        return _Statements(text, header).program(tree)
    except RecursionError:
        raise CraspSyntaxError("the program is nested too deeply; name its parts", text, 1, 1) from None


def load_program(path: str | Path) -> Program:
    """Parse a program file; raises `LengthwiseError` when it cannot be read or is not a program."""
    try:
        return parse(read_text(Path(path), what="program"))
    except CraspSyntaxError as error:
        raise LengthwiseError(f"{path}, {error}") from None


class _Statements(Expressions):
    """Reads the definitions, ``accept`` and NEXT lines of a program."""

    def __init__(self, text: str, header: Header) -> None:
        super().__init__(text, header)
        self.accept: int | None = None
        self.next_token: dict[str, int] = {}
        self.last: tuple[str, int] | None = None

    def program(self, tree: Tree) -> Program:
        statements: list[Any] = tree.children
        for statement in statements:
            if statement.data == "definition":
                self._define(*statement.children)
            elif statement.data == "accept":
                if self.accept is not None:
                    raise self.error("a program has one 'accept'", statement)
                if self.next_token:
                    raise self.error("a program has either 'accept' or NEXT lines, not both", statement)
                self.accept = self.boolean(statement.children[1])
            elif statement.data == "next":
                self._next(*statement.children)
        if self.accept is None and not self.next_token:
            self.accept = self._last_definition(tree)
        try:
            return self.build.accept(self.accept) if self.accept is not None else self.build.next_token(self.next_token)
        except LengthwiseError as error:  # what only the whole program shows
            raise CraspSyntaxError(str(error), self.text, 1, 1) from None

    def _define(self, name: Token, expression: Tree) -> None:
        problem = None if is_temporary(name) else problem_with_name(str(name), self.build.alphabet)
        if name in self.defined:
            problem = f"{str(name)!r} is defined twice"
        if problem is not None:
            raise self.error(problem, name)
        value = self.expression(expression)
        index = self.index(value)
        self.defined[str(name)] = index
        if not is_temporary(name):
            self.build.name(str(name), index)
        self.last = (str(name), index)

    def _next(self, output: Token, expression: Tree) -> None:
        symbol = output[len("NEXT") :].lstrip(" \t") if output[4] != "_" else output[5:]
        symbol = EOS if symbol == "EOS" else self.known(unquote(symbol), output)
        if self.accept is not None:
            raise self.error("a program has either 'accept' or NEXT lines, not both", output)
        if symbol in self.next_token:
            raise self.error(f"NEXT {symbol!r} is defined twice", output)
        if self.build.eos_declared:
            raise self.error("a next-token program is read at every position; remove 'eos: true'", output)
        self.next_token[symbol] = self.boolean(expression)

    def _last_definition(self, tree: Tree) -> int:
        if self.last is None:
            raise self.error("an empty program; end it with 'accept := …'", tree)
        name, index = self.last
        if not self.build.operations[index].boolean:
            raise self.error(f"the last definition {name!r} is a count; end the program with 'accept := …'", tree)
        return index
