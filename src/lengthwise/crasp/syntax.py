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
from lengthwise.crasp.program import Program

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
        lines = text.rstrip().split("\n")
        line, column = (len(lines), len(lines[-1]) + 1) if ended else (error.line, error.column)
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
    # Others as the first of their spellings.
    values = {terminal: _lark().get_terminal(terminal).pattern.value for terminal in terminals - _SPELLED.keys()}
    spelled = {name: f"'{value.partition('|')[0].removesuffix(chr(92) + 'b')}'" for name, value in values.items()}
    parts += sorted((_SPELLED | spelled)[terminal] for terminal in terminals)
    return " or ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "something else"


_PIECE = re.compile(r'\s+|,|(?P<comment>//.*)|(?P<symbol>\w+|"(?:[^"\\]|\\["\\])*")')
_DEEPEST = 100
_MOST_DIGITS = 1000
_RELATIONS: dict[str, op.Relation] = {"≤": "<=", "==": "=", "≥": ">=", **{each: each for each in op.RELATIONS}}


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


def parse(text: str) -> Program:
    """The program that ``text`` describes; raises `CraspSyntaxError` with line, column and a caret.

    >>> parse("alphabet: 0 1\\naccept := #0 + 1 <= #1").depth
    1
    """
    tree = syntax_tree(text)
    try:
        return _Lowering(text, tree).program
    except RecursionError:
        raise CraspSyntaxError("the program is nested too deeply; name its parts", text, 1, 1) from None


def load_program(path: str | Path) -> Program:
    """Parse a program file; raises `LengthwiseError` when it cannot be read or is not a program."""
    try:
        return parse(read_text(Path(path), what="program"))
    except CraspSyntaxError as error:
        raise LengthwiseError(f"{path}, {error}") from None


@dataclass(frozen=True)
class _Sum:
    """A linear form under construction: nested sums are collected before one operation is written."""

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0

    def scaled(self, factor: int) -> _Sum:
        return _Sum(tuple((factor * old, index) for old, index in self.terms), factor * self.constant)


_Lowered = int | _Sum
"""A Boolean operation by its index, or a count."""


class _Lowering:
    """Lowers a tree to a program: the header, the statements, and expressions with one method per node of the grammar.

    ``defined`` maps names to operations.
    """

    def __init__(self, text: str, tree: Tree) -> None:
        self.text = text
        self.build = self._header(tree)
        self.defined: dict[str, int] = {}
        self.depth = 0
        self.here = "i"
        self.accept: int | None = None
        self.next_token: dict[str, int] = {}
        self.program = self._program(tree)

    def _header(self, tree: Tree) -> op.ProgramBuilder:
        """The declarations, with the defaults ``bos: true`` and ``eos: false``."""
        alphabet: tuple[str, ...] | None = None
        marks: dict[str, bool] = {}
        lines: list[Any] = tree.children
        for line in lines:
            if line.data not in ("alphabet", "bos", "eos"):
                continue
            if line.data in marks or (line.data == "alphabet" and alphabet is not None):
                raise self.error(f"'{line.data}:' is declared twice", line.children[0])
            if line.data == "alphabet":
                alphabet = self._alphabet(line.children[0])
            else:
                marks[line.data] = line.children[1].data == "true"
        if alphabet is None:
            raise CraspSyntaxError("a program starts with its symbols, as in 'alphabet: a b'", self.text, 1, 1)
        return op.ProgramBuilder(alphabet, bos=marks.get("bos", True), eos=marks.get("eos", False))

    def _alphabet(self, token: Token) -> tuple[str, ...]:
        symbols: list[str] = []
        position = token.index(":") + 1

        def fail(message: str) -> CraspSyntaxError:
            return CraspSyntaxError(message, self.text, token.line or 1, (token.column or 1) + position)

        while position < len(token):
            piece = _PIECE.match(token, position)
            if piece is None:
                raise fail(f'{token[position]!r} in an alphabet has to be in quotes, as in "<sep>"')
            if piece["symbol"] is not None:
                symbol = op.unquote(piece["symbol"])
                problem = op.problem_with_symbol(symbol)
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

    # Statements

    def _program(self, tree: Tree) -> Program:
        last: tuple[str, int] | None = None
        statements: list[Any] = tree.children
        for statement in statements:
            if statement.data == "definition":
                last = self._define(*statement.children)
            elif statement.data == "accept":
                self.refuse(self.accept is not None, "a program has one 'accept'", statement)
                self.refuse(self.next_token, "a program has either 'accept' or NEXT lines, not both", statement)
                self.accept = self.boolean(statement.children[1])
            elif statement.data == "next":
                self._next(*statement.children)
        if self.accept is None and not self.next_token:
            if last is None:
                raise self.error("an empty program; end it with 'accept := …'", tree)
            name, self.accept = last
            if not self.build.operations[self.accept].boolean:
                raise self.error(f"the last definition {name!r} is a count; end the program with 'accept := …'", tree)
        try:
            return self.build.accept(self.accept) if self.accept is not None else self.build.next_token(self.next_token)
        except LengthwiseError as error:  # what only the whole program shows
            raise CraspSyntaxError(str(error), self.text, 1, 1) from None

    def _define(self, name: Token, expression: Tree) -> tuple[str, int]:
        problem = None if op.is_temporary(name) else op.problem_with_name(str(name), self.build.alphabet)
        if name in self.defined:
            problem = f"{str(name)!r} is defined twice"
        if problem is not None:
            raise self.error(problem, name)
        index = self.index(self.expression(expression))
        self.defined[str(name)] = index
        if not op.is_temporary(name):
            self.build.name(str(name), index)
        return str(name), index

    def _next(self, output: Token, expression: Tree) -> None:
        symbol = output[len("NEXT") :].lstrip(" \t") if output[4] != "_" else output[5:]
        symbol = EOS if symbol == "EOS" else self._known(op.unquote(symbol), output)
        self.refuse(self.accept is not None, "a program has either 'accept' or NEXT lines, not both", output)
        self.refuse(symbol in self.next_token, f"NEXT {symbol!r} is defined twice", output)
        if self.build.eos_declared:
            raise self.error("a next-token program is read at every position; remove 'eos: true'", output)
        self.next_token[symbol] = self.boolean(expression)

    # Expressions

    def expression(self, node: Tree) -> _Lowered:
        """Lower one expression; raises `CraspSyntaxError` for errors that the grammar cannot express."""
        self.depth += 1
        self.refuse(self.depth > _DEEPEST, f"nested more than {_DEEPEST} deep; name the inner parts", node)
        try:
            return self._lowered(node, *node.children)
        finally:
            self.depth -= 1

    def boolean(self, node: Tree) -> int:
        """The operation of a Boolean expression; raises `CraspSyntaxError` for a count."""
        value = self.expression(node)
        if isinstance(value, _Sum):
            raise self.error("this is a count, but a Boolean is needed here; compare it, as in … >= 1", node)
        return value

    def _sum(self, node: Tree) -> _Sum:
        value = self.expression(node)
        if not isinstance(value, _Sum):
            raise self.error("this is a Boolean, but a count is needed here; count it, as in #[…]", node)
        return value

    def _count(self, node: Tree) -> int:
        return self.index(self._sum(node))

    def index(self, value: _Lowered) -> int:
        """The operation of any value."""
        return self.build.linear(value.terms, value.constant) if isinstance(value, _Sum) else value

    def _value_of(self, index: int) -> _Lowered:
        operation = self.build.operations[index]
        if isinstance(operation, op.Constant):
            return _Sum((), operation.value)
        return index if operation.boolean else _Sum(((1, index),))

    def _lowered(self, node: Tree, *parts: Any) -> _Lowered:
        build = self.build
        match (node.data, *parts):
            case ("true",):
                return build.top()
            case ("false",):
                return build.bottom()
            case ("begin" | "end", mark):
                return self._mark(mark, node)
            case ("symbol", atom, *variable):
                self._check_variable(*variable)
                return build.symbol(self._known(op.unquote(atom[2:]), node))
            case ("name", name, *variable):
                self._check_variable(*variable)
                return self._value_of(self._named(node, name))
            case ("periodic", _, modulus, relation, residue):
                self.refuse(_RELATIONS.get(str(relation)) != "=", "a periodic predicate is written i mod 3 = 1", node)
                m, r = self._number(modulus), self._number(residue)
                self.refuse(r >= m, f"i mod {m} is never {r}; a residue is less than its modulus", node)
                return build.periodic(r, m)
            case ("congruent", _, residue, modulus):
                self.refuse(self._number(modulus) < 1, "a modulus is at least 1", node)
                return build.periodic(self._number(residue), self._number(modulus))
            case ("not", inner):
                return build.negation(self.boolean(inner))
            case ("and", *_):
                return build.all_of([self.boolean(part) for part in parts])
            case ("or", *_):
                return build.any_of([self.boolean(part) for part in parts])
            case ("exists", body):
                one = build.constant(1)
                return build.compare(one, "<=", build.count(*self._body(body)))
            case ("compare", *_):
                return self._compared(*parts)
            case ("parenthesis", inner):
                value = self.expression(inner)
                # A sum in parentheses stays an operation of its own.
                return self._value_of(self.index(value)) if isinstance(value, _Sum) and value.terms else value
            case ("number", number):
                return _Sum((), self._number(number))
            case ("negative", _, inner):
                return self._sum(inner).scaled(-1)
            case ("sum", first, *others):
                total = self._sum(first)
                for sign, part in zip(others[::2], others[1::2], strict=True):
                    more = self._sum(part).scaled(1 if sign.type == "PLUS" else -1)
                    total = _Sum(total.terms + more.terms, total.constant + more.constant)
                return total
            case ("product", *_):
                return self._product(*parts)
            case ("counted", token):
                index = build.count(self._counted(node, token))
            case ("count", body):
                index = build.count(*self._body(body))
            case ("conditional", condition, then, otherwise):
                index = build.conditional(self.boolean(condition), self._count(then), self._count(otherwise))
            case ("min", _, left, right):
                index = build.minimum(self._count(left), self._count(right))
            case ("max", _, left, right):
                index = build.maximum(self._count(left), self._count(right))
            case _:
                raise TypeError(f"unknown expression {node.data}")
        return _Sum(((1, index),))

    def _mark(self, mark: str, node: Tree) -> int:
        if not (self.build.bos_declared if mark == "BOS" else self.build.eos_declared):
            raise self.error(f"{mark} needs the header '{mark.lower()}: true'", node)
        return self.build.bos() if mark == "BOS" else self.build.eos()

    def _named(self, node: Tree, name: Token) -> int:
        if name not in self.defined:
            if name in self.build.alphabet:
                raise self.error(f"write Q_{name} for 'the symbol here is {name}', or #{name} to count it", node)
            known = suggestion(name, (known for known in self.defined if not op.is_temporary(known)))
            raise self.error(f"{str(name)!r} is not defined above. {known}", node)
        return self.defined[name]

    def _counted(self, node: Tree, token: Token) -> int:
        word = op.unquote(token[1:])
        if word in self.build.alphabet:
            return self.build.symbol(word)
        if token[1:] in self.defined:
            counted = self.defined[token[1:]]
            if not self.build.operations[counted].boolean:
                raise self.error(f"{token[1:]!r} is a count already; # counts a Boolean", node)
            return counted
        if word in ("BOS", "EOS"):
            return self._mark(word, node)
        known = suggestion(word, [*self.build.alphabet, *self.defined])
        raise self.error(f"{word!r} is neither a symbol nor defined above. {known}", node)

    def _body(self, body: Tree) -> tuple[int, tuple[int, ...] | None]:
        parts: list[Any] = body.children
        outer, self.here = self.here, "j"
        differences = self._window(parts[0]) if body.data == "windowed" else None
        operand = self.boolean(parts[-1])
        self.here = outer
        return operand, differences

    def _window(self, window: Tree) -> tuple[int, ...] | None:
        children: list[Any] = window.children
        written = next((str(child) for child in children if getattr(child, "type", "") == "RELATION"), "")
        relation = _RELATIONS.get(written)
        if window.data in ("unlimited", "restricted"):
            self.refuse(relation != "<=", "a count looks back: write j <= i", window)
            return self._window(children[3]) if window.data == "restricted" else None
        if window.data == "distances":
            return tuple(sorted({self._number(child) for child in children if child.type == "INT"}))
        distance = self._number(children[4])
        if relation == "=":
            return (distance,)
        if window.data == "distance" and relation == "<=":
            self.refuse(distance > 10_000, f"a window of {distance} positions is too wide; 10000 is the limit", window)
            return tuple(range(distance + 1))
        raise self.error("a window is j = i-1, i-j = 1, i-j <= 2 or i-j in {1, 2}", window)

    def _product(self, *factors: Tree) -> _Sum:
        product = _Sum((), 1)
        for factor in factors:
            value = self._sum(factor)
            self.refuse(value.terms and product.terms, "a count can only be multiplied by a number", factor)
            product = value.scaled(product.constant) if value.terms else product.scaled(value.constant)
            if max(map(abs, (product.constant, *(weight for weight, _ in product.terms)))) >= 10**_MOST_DIGITS:
                raise self.error(f"a product of more than {_MOST_DIGITS} digits", factor)
        return product

    def _compared(self, *parts: Any) -> int:
        left = self._count(parts[0])
        comparisons: list[int] = []
        for relation, part in zip(parts[1::2], parts[2::2], strict=True):
            right = self._count(part)
            differ = str(relation) in ("!=", "≠")
            compared = self.build.compare(left, "=" if differ else _RELATIONS[str(relation)], right)
            comparisons.append(self.build.negation(compared) if differ else compared)
            left = right
        return self.build.all_of(comparisons)

    def _check_variable(self, variable: Tree | None = None) -> None:
        if variable is not None and variable.children[0] != self.here:
            rule = "inside of a count the position is called j" if self.here == "j" else "outside of counts it is i"
            raise self.error(f"the position here is {self.here}: {rule}", variable)

    def _known(self, symbol: str, where: Tree | Token) -> str:
        if symbol not in self.build.alphabet:
            raise self.error(f"{symbol!r} is not in the alphabet. {suggestion(symbol, self.build.alphabet)}", where)
        return symbol

    def _number(self, token: Token) -> int:
        self.refuse(len(token) > _MOST_DIGITS, f"a number of {len(token)} digits; {_MOST_DIGITS} is the limit", token)
        return int(token)

    def refuse(self, wrong: object, message: str, where: Tree | Token) -> None:
        """Raise the `error` if something is ``wrong``."""
        if wrong:
            raise self.error(message, where)

    def error(self, message: str, where: Tree | Token) -> CraspSyntaxError:
        """A `CraspSyntaxError` with the line and column of ``where``."""
        meta = getattr(where, "meta", where)
        return CraspSyntaxError(message, self.text, getattr(meta, "line", 1) or 1, getattr(meta, "column", 1) or 1)


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
            bare = "EOS" if symbol == EOS else '"EOS"' if symbol == "EOS" else op.quote(symbol)
            self.outputs.setdefault(index, []).append(f"NEXT {bare}")
        if program.accept is not None:
            self.outputs[program.accept] = ["accept"]

    def _lines(self) -> set[int]:
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
        head = ["alphabet: " + " ".join(map(op.quote, program.alphabet)), f"bos: {str(program.bos).lower()}"]
        lines = [*head, *["eos: true"] * program.eos, "", *map(self._wrapped, self.statements())]
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
        whole = isinstance(operation, op.And | op.Or) and statement.text == self.body(statement.index)[0]
        if len(line) <= _WIDTH or not whole:
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
                return {BOS: "BOS", EOS: "EOS"}.get(symbol) or f"Q_{op.quote(symbol)}", _PRIMARY
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
            case op.Compare(left, "<=", right) if (
                self.operations[left] == op.Constant(1)
                and left not in self.names
                and isinstance(count := self.operations[right], op.Count)
                and right not in self.own_line
            ):
                return f"exists{self._counted(count)}", _PRIMARY
            case op.Compare(left, relation, right):
                return f"{self._operand(left, _SUM)} {relation} {self._operand(right, _SUM)}", _COMPARISON
            case op.Count(operand, differences) as count:
                counted = self.operations[operand]
                if differences is None and isinstance(counted, op.Symbol) and counted.symbol not in (BOS, EOS):
                    return f"#{op.quote(counted.symbol)}", _PRIMARY
                return f"#{self._counted(count)}", _PRIMARY
            case op.Constant(value):
                return str(value), _PRIMARY if value >= 0 else _SUM
            case op.Linear(terms, constant):
                return self._linear(terms, constant), _SUM
            case op.Conditional(condition, then, otherwise):
                parts = (self._operand(condition, _OR), self._operand(then, _OR), self._operand(otherwise, _OR))
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", _CHOICE
            case op.Min(left, right) | op.Max(left, right):
                word = "min" if isinstance(self.operations[index], op.Min) else "max"
                return f"{word}({self._operand(left, _CHOICE)}, {self._operand(right, _CHOICE)})", _PRIMARY
            case operation:
                raise TypeError(f"unknown operation {operation!r}")

    def _counted(self, count: op.Count) -> str:
        """The text after ``#`` or ``exists``: the window and the counted operand."""
        if count.differences is None:
            return f"[{self._operand(count.operand, _CHOICE)}]"
        return f"[{_window(count.differences)}] {self._operand(count.operand, _PRIMARY)}"

    def _linear(self, terms: tuple[tuple[int, int], ...], constant: int) -> str:
        counts = [(factor, self._operand(index, _PRIMARY)) for factor, index in terms]
        signed = [(factor < 0, count if abs(factor) == 1 else f"{abs(factor)} * {count}") for factor, count in counts]
        if constant:
            slot = 0 if constant > 0 and signed[0][0] else len(signed)  # 3 - #a rather than -#a + 3
            signed.insert(slot, (constant < 0, str(abs(constant))))
        text = ("-" if signed[0][0] else "") + signed[0][1]
        return text + "".join(f" {'-' if negative else '+'} {part}" for negative, part in signed[1:])


def _window(differences: tuple[int, ...]) -> str:
    if len(differences) == 1:
        return f"j = i-{differences[0]}" if differences[0] else "i-j = 0"
    if differences == tuple(range(len(differences))):
        return f"i-j <= {differences[-1]}"
    return f"i-j in {{{', '.join(map(str, differences))}}}"
