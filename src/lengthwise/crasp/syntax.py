"""The text of programs: grammar, parser, lowering to operations, and printer."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import LengthwiseError, shortened, suggestion
from lengthwise.core.files import read_text
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp import program as op
from lengthwise.crasp.program import (
    Constant,
    Program,
    ProgramBuilder,
    Relation,
    is_temporary,
    problem_with_name,
    problem_with_symbol,
    quote,
    unquote,
)

if TYPE_CHECKING:
    from lark import Lark, Token, Tree


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


def in_reading_order(program: Program) -> Program:
    """The same program with operands right before what reads them, and without operations that nothing reads.

    Named definitions come first, in their old order, then the outputs. The printer writes an operation inside another
    one only where that reproduces the numbering, so the text of the result has fewer lines.
    """
    order: dict[int, None] = {}
    for root in (*(index for _, index in program.names), *program.outputs):
        waiting = [root]
        while waiting:  # not recursive: programs may be deeper than Python's stack
            index = waiting[-1]
            missing = next((o for o in program.operations[index].operands if o not in order), None)
            if missing is not None:
                waiting.append(missing)
            else:
                order[waiting.pop()] = None
    return program.reordered(list(order))


_DEEPEST = 100
_MOST_DIGITS = 1000
_RELATIONS: dict[str, Relation] = {
    "<=": "<=",
    "≤": "<=",
    "<": "<",
    "=": "=",
    "==": "=",
    ">=": ">=",
    "≥": ">=",
    ">": ">",
}


@dataclass(frozen=True)
class Sum:
    """A linear form under construction: nested sums are collected before one operation is written."""

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0


Lowered = int | Sum
"""A Boolean operation by its index, or a count."""


class Expressions:
    """Lowers expressions with one method per node of the grammar; ``defined`` maps names to operations."""

    def __init__(self, text: str, header: Header) -> None:
        self.text = text
        self.build = ProgramBuilder(header.alphabet, bos=header.bos, eos=header.eos)
        self.defined: dict[str, int] = {}
        self.depth = 0
        self.here = "i"

    def boolean(self, node: Tree) -> int:
        """The operation of a Boolean expression; raises `CraspSyntaxError` for a count."""
        value = self.expression(node)
        if isinstance(value, Sum):
            raise self.error("this is a count, but a Boolean is needed here; compare it, as in … >= 1", node)
        return value

    def _sum(self, node: Tree) -> Sum:
        value = self.expression(node)
        if not isinstance(value, Sum):
            raise self.error("this is a Boolean, but a count is needed here; count it, as in #[…]", node)
        return value

    def _count(self, node: Tree) -> int:
        return self.index(self._sum(node))

    def index(self, value: Lowered) -> int:
        """The operation of any value."""
        return self.build.linear(value.terms, value.constant) if isinstance(value, Sum) else value

    def _value_of(self, index: int) -> Lowered:
        operation = self.build.operations[index]
        if isinstance(operation, Constant):
            return Sum((), operation.value)
        return index if operation.boolean else Sum(((1, index),))

    def expression(self, node: Tree) -> Lowered:
        """Lower one expression; raises `CraspSyntaxError` for errors that the grammar cannot express."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(f"nested more than {_DEEPEST} deep; name the inner parts", node)
        try:
            return getattr(self, f"_on_{node.data}")(node, *node.children)
        finally:
            self.depth -= 1

    def _on_true(self, node: Tree) -> int:
        return self.build.top()

    def _on_false(self, node: Tree) -> int:
        return self.build.bottom()

    def _on_begin(self, node: Tree, mark: Token) -> int:
        if not self.build.bos_declared:
            raise self.error("BOS needs the header 'bos: true'", node)
        return self.build.bos()

    def _on_end(self, node: Tree, mark: Token) -> int:
        if not self.build.eos_declared:
            raise self.error("EOS needs the header 'eos: true'", node)
        return self.build.eos()

    def _on_symbol(self, node: Tree, atom: Token, variable: Tree | None = None) -> int:
        self._check_variable(variable)
        return self.build.symbol(self.known(unquote(atom[2:]), node))

    def _on_name(self, node: Tree, name: Token, variable: Tree | None = None) -> Lowered:
        self._check_variable(variable)
        if name not in self.defined:
            if name in self.build.alphabet:
                raise self.error(f"write Q_{name} for 'the symbol here is {name}', or #{name} to count it", node)
            known = suggestion(name, (known for known in self.defined if not is_temporary(known)))
            raise self.error(f"{str(name)!r} is not defined above. {known}", node)
        return self._value_of(self.defined[name])

    def _on_counted(self, node: Tree, token: Token) -> Sum:
        word = unquote(token[1:])
        if word in self.build.alphabet:
            counted = self.build.symbol(word)
        elif token[1:] in self.defined:
            counted = self.defined[token[1:]]
            if not self.build.operations[counted].boolean:
                raise self.error(f"{token[1:]!r} is a count already; # counts a Boolean", node)
        elif word in ("BOS", "EOS"):
            counted = self._on_begin(node, token) if word == "BOS" else self._on_end(node, token)
        else:
            known = suggestion(word, [*self.build.alphabet, *self.defined])
            raise self.error(f"{word!r} is neither a symbol nor defined above. {known}", node)
        return Sum(((1, self.build.count(counted)),))

    def _on_count(self, node: Tree, body: Tree) -> Sum:
        operand, differences = self._body(body)
        return Sum(((1, self.build.count(operand, differences)),))

    def _on_exists(self, node: Tree, body: Tree) -> int:
        one = self.build.constant(1)
        operand, differences = self._body(body)
        return self.build.compare(one, "<=", self.build.count(operand, differences))

    def _body(self, body: Tree) -> tuple[int, tuple[int, ...] | None]:
        parts: list[Any] = body.children
        outer, self.here = self.here, "j"
        differences = self._window(parts[0]) if body.data == "windowed" else None
        operand = self.boolean(parts[-1])
        self.here = outer
        return operand, differences

    def _window(self, window: Tree) -> tuple[int, ...] | None:
        children: list[Any] = window.children
        relation = next((str(child) for child in children if getattr(child, "type", "") == "RELATION"), None)
        if window.data in ("unlimited", "restricted"):
            if _RELATIONS.get(relation or "") != "<=":
                raise self.error("a count looks back: write j <= i", window)
            return self._window(children[3]) if window.data == "restricted" else None
        if window.data == "distances":
            return tuple(sorted({self._number(child) for child in children if child.type == "INT"}))
        distance = self._number(children[4])
        if _RELATIONS.get(relation or "") == "=":
            return (distance,)
        if window.data == "distance" and _RELATIONS.get(relation or "") == "<=":
            if distance > 10_000:
                raise self.error(f"a window of {distance} positions is too wide; 10000 is the limit", window)
            return tuple(range(distance + 1))
        raise self.error("a window is j = i-1, i-j = 1, i-j <= 2 or i-j in {1, 2}", window)

    def _on_parenthesis(self, node: Tree, inner: Tree) -> Lowered:
        value = self.expression(inner)
        if isinstance(value, Sum) and value.terms:
            return self._value_of(self.index(value))  # a sum in parentheses stays an operation of its own
        return value

    def _on_number(self, node: Tree, number: Token) -> Sum:
        return Sum((), self._number(number))

    def _on_negative(self, node: Tree, sign: Token, inner: Tree) -> Sum:
        return self._scaled(-1, self._sum(inner))

    def _on_sum(self, node: Tree, *parts: Any) -> Sum:
        first = self._sum(parts[0])
        terms, constant = list(first.terms), first.constant
        for sign, part in zip(parts[1::2], parts[2::2], strict=True):
            more = self._scaled(1 if sign.type == "PLUS" else -1, self._sum(part))
            terms += more.terms
            constant += more.constant
        return Sum(tuple(terms), constant)

    def _on_product(self, node: Tree, *factors: Tree) -> Sum:
        product = Sum((), 1)
        for factor in factors:
            value = self._sum(factor)
            if value.terms and product.terms:
                raise self.error("a count can only be multiplied by a number", factor)
            product = self._scaled(product.constant, value) if value.terms else self._scaled(value.constant, product)
            if max(map(abs, (product.constant, *(weight for weight, _ in product.terms)))) >= 10**_MOST_DIGITS:
                raise self.error(f"a product of more than {_MOST_DIGITS} digits", factor)
        return product

    @staticmethod
    def _scaled(factor: int, value: Sum) -> Sum:
        return Sum(tuple((factor * old, index) for old, index in value.terms), factor * value.constant)

    def _on_compare(self, node: Tree, *parts: Any) -> int:
        left = self._count(parts[0])
        comparisons: list[int] = []
        for relation, part in zip(parts[1::2], parts[2::2], strict=True):
            right = self._count(part)
            if str(relation) in ("!=", "≠"):
                comparisons.append(self.build.negation(self.build.compare(left, "=", right)))
            else:
                comparisons.append(self.build.compare(left, _RELATIONS[str(relation)], right))
            left = right
        return self.build.all_of(comparisons)

    def _on_not(self, node: Tree, inner: Tree) -> int:
        return self.build.negation(self.boolean(inner))

    def _on_and(self, node: Tree, *parts: Tree) -> int:
        return self.build.all_of([self.boolean(part) for part in parts])

    def _on_or(self, node: Tree, *parts: Tree) -> int:
        return self.build.any_of([self.boolean(part) for part in parts])

    def _on_conditional(self, node: Tree, condition: Tree, then: Tree, otherwise: Tree) -> Lowered:
        index = self.build.conditional(self.boolean(condition), self._count(then), self._count(otherwise))
        return Sum(((1, index),))

    def _on_min(self, node: Tree, word: Token, left: Tree, right: Tree) -> Lowered:
        return Sum(((1, self.build.minimum(self._count(left), self._count(right))),))

    def _on_max(self, node: Tree, word: Token, left: Tree, right: Tree) -> Lowered:
        return Sum(((1, self.build.maximum(self._count(left), self._count(right))),))

    def _on_periodic(self, node: Tree, variable: Token, modulus: Token, relation: Token, residue: Token) -> int:
        if _RELATIONS.get(str(relation)) != "=":
            raise self.error("a periodic predicate is written i mod 3 = 1", node)
        m, r = self._number(modulus), self._number(residue)
        if r >= m:
            raise self.error(f"i mod {m} is never {r}; a residue is less than its modulus", node)
        return self.build.periodic(r, m)

    def _on_congruent(self, node: Tree, variable: Token, residue: Token, modulus: Token) -> int:
        if self._number(modulus) < 1:
            raise self.error("a modulus is at least 1", node)
        return self.build.periodic(self._number(residue), self._number(modulus))

    def _check_variable(self, variable: Tree | None) -> None:
        if variable is not None and variable.children[0] != self.here:
            rule = "inside of a count the position is called j" if self.here == "j" else "outside of counts it is i"
            raise self.error(f"the position here is {self.here}: {rule}", variable)

    def known(self, symbol: str, where: Tree | Token) -> str:
        """Return the symbol; raises `CraspSyntaxError` if it is not in the alphabet."""
        if symbol not in self.build.alphabet:
            raise self.error(f"{symbol!r} is not in the alphabet. {suggestion(symbol, self.build.alphabet)}", where)
        return symbol

    def _number(self, token: Token) -> int:
        if len(token) > _MOST_DIGITS:
            raise self.error(f"a number of {len(token)} digits; {_MOST_DIGITS} is the limit", token)
        return int(token)

    def error(self, message: str, where: Tree | Token) -> CraspSyntaxError:
        """A `CraspSyntaxError` with the line and column of ``where``."""
        meta = getattr(where, "meta", where)
        return CraspSyntaxError(message, self.text, getattr(meta, "line", 1) or 1, getattr(meta, "column", 1) or 1)


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


_MOST_NESTED = 12
_WIDTH = 100

# Binding strength of the outermost operator of an expression.
_CHOICE, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRIMARY = range(7)


def to_text(program: Program) -> str:
    """The text of a program; ``parse(to_text(program)) == program``."""
    return _Printer(program).text()


@dataclass(frozen=True)
class Statement:
    """One line of a program's text: its left side (a name, ``accept``, ``NEXT a``), the operation, its expression."""

    head: str
    index: int
    text: str


def statements(program: Program) -> list[Statement]:
    """The definitions and outputs of a program, as `to_text` writes them."""
    return _Printer(program).statements()


def expressions(program: Program) -> list[str]:
    """The expression of every operation, in terms of the operations that have a line of their own."""
    printer = _Printer(program)
    return [printer.body(index)[0] for index in range(len(program.operations))]


class _Printer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.operations = program.operations
        self.names: dict[int, list[str]] = {}
        for name, index in program.names:
            self.names.setdefault(index, []).append(name)
        self.own_line = self._lines()
        self.outputs: dict[int, list[str]] = {}
        for symbol, index in program.next_token:
            bare = "EOS" if symbol == EOS else '"EOS"' if symbol == "EOS" else quote(symbol)
            self.outputs.setdefault(index, []).append(f"NEXT {bare}")
        if program.accept is not None:
            self.outputs[program.accept] = ["accept"]

    def _lines(self) -> set[int]:
        """The operations that get their own line."""
        uses = Counter(operand for operation in self.operations for operand in operation.operands)
        height: list[int] = []
        lines: set[int] = set()
        for index, operation in enumerate(self.operations):
            inner = max((height[operand] for operand in operation.operands), default=0)
            own = index in self.names or uses[index] == 0 or (uses[index] > 1 and not self._is_short(operation))
            own = own or inner >= _MOST_NESTED
            height.append(0 if own else inner + 1)
            if own:
                lines.add(index)
        done = -1
        for index in sorted(lines):
            if self._written(index, done, lines) != list(range(done + 1, index + 1)):
                lines.update(range(done + 1, index + 1))
            done = index
        return lines

    def _is_short(self, operation: op.Operation) -> bool:
        """Whether an operation is repeated rather than named when several others read it."""
        if isinstance(operation, op.Count) and operation.differences is None:
            return isinstance(self.operations[operation.operand], op.Symbol)
        return isinstance(operation, op.Symbol | op.Top | op.Constant | op.Periodic)

    def _written(self, index: int, done: int, lines: set[int]) -> list[int]:
        """The new operations that the parser numbers while it reads the line of ``index``, in its order."""
        order: list[int] = []

        def visit(node: int) -> None:
            for operand in self.operations[node].operands:
                if operand > done and operand not in order and operand not in lines:
                    visit(operand)
            order.append(node)

        visit(index)
        return order

    def text(self) -> str:
        program = self.program
        lines = ["alphabet: " + " ".join(quote(symbol) for symbol in program.alphabet)]
        lines.append(f"bos: {str(program.bos).lower()}")
        if program.eos:
            lines.append("eos: true")
        lines.append("")
        lines += [self._wrapped(statement) for statement in self.statements()]
        return "\n".join(lines) + "\n"

    def statements(self) -> list[Statement]:
        outputs = dict(self.outputs)
        uses = {operand for operation in self.operations for operand in operation.operands}
        found: list[Statement] = []
        for index in sorted(self.own_line):
            heads = list(self.names.get(index, ()))
            if not heads and index not in uses and len(outputs.get(index, ())) == 1:
                heads = outputs.pop(index)
            first, *aliases = heads or [f"_{index}"]
            found.append(Statement(first, index, self.body(index)[0]))
            found += [Statement(alias, index, first) for alias in aliases]
        for index, heads in sorted(outputs.items()):
            found += [Statement(head, index, self._operand(index, _CHOICE)) for head in heads]
        return found

    def _wrapped(self, statement: Statement) -> str:
        """A line, or several where it is long and a conjunction or disjunction."""
        line = f"{statement.head} := {statement.text}"
        operation = self.operations[statement.index]
        if (
            len(line) <= _WIDTH
            or not isinstance(operation, op.And | op.Or)
            or statement.text != self.body(statement.index)[0]
        ):
            return line
        word, level = ("and", _NOT) if isinstance(operation, op.And) else ("or", _AND)
        parts = [self._operand(operand, level) for operand in operation.operands]
        return f"{statement.head} := {parts[0]}" + "".join(f"\n    {word} {part}" for part in parts[1:])

    def _operand(self, index: int, level: int) -> str:
        """An operand by its name, or its expression, in parentheses if it binds less tightly than ``level``."""
        if index in self.names:
            return self.names[index][0]
        if index in self.own_line and not self._is_short(self.operations[index]):
            return f"_{index}"
        text, binding = self.body(index)
        return text if binding >= level else f"({text})"

    def body(self, index: int) -> tuple[str, int]:
        """The expression of an operation and its binding strength."""
        match self.operations[index]:
            case op.Symbol(symbol):
                return {BOS: "BOS", EOS: "EOS"}.get(symbol) or f"Q_{quote(symbol)}", _PRIMARY
            case op.Top():
                return "true", _PRIMARY
            case op.Periodic(residue, modulus):
                return f"i mod {modulus} = {residue}", _PRIMARY
            case op.Not(operand):
                if isinstance(self.operations[operand], op.Top) and operand not in self.names:
                    return "false", _PRIMARY
                return f"not {self._operand(operand, _PRIMARY)}", _NOT
            case op.And(operands):
                return " and ".join(self._operand(operand, _NOT) for operand in operands), _AND
            case op.Or(operands):
                return " or ".join(self._operand(operand, _AND) for operand in operands), _OR
            case op.Compare(left, "<=", right) if self._is_one(left) and self._is_inlined_count(right):
                return f"exists{self._counted(right)}", _PRIMARY
            case op.Compare(left, relation, right):
                return f"{self._operand(left, _SUM)} {relation} {self._operand(right, _SUM)}", _COMPARISON
            case op.Count():
                return self._count(index), _PRIMARY
            case op.Constant(value):
                return str(value), _PRIMARY if value >= 0 else _SUM
            case op.Linear(terms, constant):
                return self._linear(terms, constant), _SUM
            case op.Conditional(condition, then, otherwise):
                parts = (self._operand(condition, _OR), self._operand(then, _OR), self._operand(otherwise, _OR))
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", _CHOICE
            case op.Min(left, right):
                return f"min({self._operand(left, _CHOICE)}, {self._operand(right, _CHOICE)})", _PRIMARY
            case op.Max(left, right):
                return f"max({self._operand(left, _CHOICE)}, {self._operand(right, _CHOICE)})", _PRIMARY
            case operation:
                raise TypeError(f"unknown operation {operation!r}")

    def _is_one(self, index: int) -> bool:
        return self.operations[index] == op.Constant(1) and index not in self.names

    def _is_inlined_count(self, index: int) -> bool:
        return isinstance(self.operations[index], op.Count) and index not in self.own_line

    def _count(self, index: int) -> str:
        operation = self.operations[index]
        assert isinstance(operation, op.Count)
        operand = self.operations[operation.operand]
        if operation.differences is None and isinstance(operand, op.Symbol) and operand.symbol not in (BOS, EOS):
            return f"#{quote(operand.symbol)}"
        return f"#{self._counted(index)}"

    def _counted(self, index: int) -> str:
        """The text after ``#`` or ``exists``: the window and the counted operand."""
        operation = self.operations[index]
        assert isinstance(operation, op.Count)
        if operation.differences is None:
            return f"[{self._operand(operation.operand, _CHOICE)}]"
        return f"[{_window(operation.differences)}] {self._operand(operation.operand, _PRIMARY)}"

    def _linear(self, terms: tuple[tuple[int, int], ...], constant: int) -> str:
        signed = [(factor < 0, self._term(abs(factor), index)) for factor, index in terms]
        if constant:
            slot = 0 if constant > 0 and signed[0][0] else len(signed)  # 3 - #a rather than -#a + 3
            signed.insert(slot, (constant < 0, str(abs(constant))))
        text = ("-" if signed[0][0] else "") + signed[0][1]
        return text + "".join(f" {'-' if negative else '+'} {part}" for negative, part in signed[1:])

    def _term(self, factor: int, index: int) -> str:
        count = self._operand(index, _PRIMARY)
        return count if factor == 1 else f"{factor} * {count}"


def _window(differences: tuple[int, ...]) -> str:
    if len(differences) == 1:
        return f"j = i-{differences[0]}" if differences[0] else "i-j = 0"
    if differences == tuple(range(len(differences))):
        return f"i-j <= {differences[-1]}"
    return f"i-j in {{{', '.join(map(str, differences))}}}"
