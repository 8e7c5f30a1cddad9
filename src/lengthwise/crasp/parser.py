"""`parse`: the text of a program to a `Program`. The language is taught in ``docs/crasp.md``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import LengthwiseError, suggestion
from lengthwise.core.vocab import EOS
from lengthwise.crasp.builder import ProgramBuilder
from lengthwise.crasp.header import Header, read_header
from lengthwise.crasp.operations import Constant, Relation
from lengthwise.crasp.program import Program
from lengthwise.crasp.spelling import is_temporary, problem_with_name, unquote
from lengthwise.crasp.syntax import CraspSyntaxError, syntax_tree

if TYPE_CHECKING:
    from lark import Token, Tree

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


def parse(text: str) -> Program:
    """The program that ``text`` describes; raises `CraspSyntaxError` with line, column and a caret.

    >>> parse("alphabet: 0 1\\naccept := #0 + 1 <= #1").depth
    1
    """
    tree = syntax_tree(text)
    header = read_header(tree, text)
    try:
        return _Lowering(text, header).program(tree)
    except RecursionError:
        raise CraspSyntaxError("the program is nested too deeply; name its parts", text, 1, 1) from None


def load_program(path: str | Path) -> Program:
    """Parse a program file; raises `LengthwiseError` when it cannot be read or is not a program."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LengthwiseError(f"no program at {path}; check the path") from None
    except UnicodeDecodeError:
        raise LengthwiseError(f"{path} is not UTF-8 text, so it is not a program") from None
    except OSError as error:
        raise LengthwiseError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        return parse(text)
    except CraspSyntaxError as error:
        raise LengthwiseError(f"{path}, {error}") from None


@dataclass(frozen=True)
class _Sum:
    """A count that is not an operation yet: sums are collected into one linear form before they become one."""

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0


_Value = int | _Sum
"""A Boolean operation by its index, or a count."""


class _Lowering:
    """Turns syntax into operations, in the order in which they are written, operands first."""

    def __init__(self, text: str, header: Header) -> None:
        self.text = text
        self.build = ProgramBuilder(header.alphabet, bos=header.bos, eos=header.eos)
        self.defined: dict[str, int] = {}
        self.accept: int | None = None
        self.next_token: dict[str, int] = {}
        self.last: tuple[str, int] | None = None
        self.depth = 0
        self.here = "i"

    def program(self, tree: Tree) -> Program:
        statements: list[Any] = tree.children
        for statement in statements:
            if statement.data == "definition":
                self._define(*statement.children)
            elif statement.data == "accept":
                if self.accept is not None:
                    raise self._error("a program has one 'accept'", statement)
                self.accept = self._boolean(statement.children[1])
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
            raise self._error(problem, name)
        value = self._expression(expression)
        index = self._index(value)
        self.defined[str(name)] = index
        if not is_temporary(name):
            self.build.name(str(name), index)
        self.last = (str(name), index)

    def _next(self, output: Token, expression: Tree) -> None:
        symbol = output[len("NEXT") :].lstrip(" \t") if output[4] != "_" else output[5:]
        symbol = EOS if symbol == "EOS" else self._known(unquote(symbol), output)
        if self.accept is not None:
            raise self._error("a program has either 'accept' or NEXT lines, not both", output)
        if symbol in self.next_token:
            raise self._error(f"NEXT {symbol!r} is defined twice", output)
        if self.build.eos_declared:
            raise self._error("a next-token program is read at every position; remove 'eos: true'", output)
        self.next_token[symbol] = self._boolean(expression)

    def _last_definition(self, tree: Tree) -> int:
        if self.last is None:
            raise self._error("an empty program; end it with 'accept := …'", tree)
        name, index = self.last
        if not self.build.operations[index].boolean:
            raise self._error(f"the last definition {name!r} is a count; end the program with 'accept := …'", tree)
        return index

    # Expressions

    def _boolean(self, node: Tree) -> int:
        value = self._expression(node)
        if isinstance(value, _Sum):
            raise self._error("this is a count, but a Boolean is needed here; compare it, as in … >= 1", node)
        return value

    def _sum(self, node: Tree) -> _Sum:
        value = self._expression(node)
        if not isinstance(value, _Sum):
            raise self._error("this is a Boolean, but a count is needed here; count it, as in #[…]", node)
        return value

    def _count(self, node: Tree) -> int:
        return self._index(self._sum(node))

    def _index(self, value: _Value) -> int:
        return self.build.linear(value.terms, value.constant) if isinstance(value, _Sum) else value

    def _value_of(self, index: int) -> _Value:
        operation = self.build.operations[index]
        if isinstance(operation, Constant):
            return _Sum((), operation.value)
        return index if operation.boolean else _Sum(((1, index),))

    def _expression(self, node: Tree) -> _Value:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._error(f"nested more than {_DEEPEST} deep; name the inner parts", node)
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
            raise self._error("BOS needs the header 'bos: true'", node)
        return self.build.bos()

    def _on_end(self, node: Tree, mark: Token) -> int:
        if not self.build.eos_declared:
            raise self._error("EOS needs the header 'eos: true'", node)
        return self.build.eos()

    def _on_symbol(self, node: Tree, atom: Token, place: Tree | None = None) -> int:
        self._check_place(place)
        return self.build.symbol(self._known(unquote(atom[2:]), node))

    def _on_name(self, node: Tree, name: Token, place: Tree | None = None) -> _Value:
        self._check_place(place)
        if name not in self.defined:
            if name in self.build.alphabet:
                raise self._error(f"write Q_{name} for 'the symbol here is {name}', or #{name} to count it", node)
            known = suggestion(name, (known for known in self.defined if not is_temporary(known)))
            raise self._error(f"{str(name)!r} is not defined above. {known}", node)
        return self._value_of(self.defined[name])

    def _on_counted(self, node: Tree, token: Token) -> _Sum:
        word = unquote(token[1:])
        if word in self.build.alphabet:
            counted = self.build.symbol(word)
        elif token[1:] in self.defined:
            counted = self.defined[token[1:]]
            if not self.build.operations[counted].boolean:
                raise self._error(f"{token[1:]!r} is a count already; # counts a Boolean", node)
        elif word in ("BOS", "EOS"):
            counted = self._on_begin(node, token) if word == "BOS" else self._on_end(node, token)
        else:
            known = suggestion(word, [*self.build.alphabet, *self.defined])
            raise self._error(f"{word!r} is neither a symbol nor defined above. {known}", node)
        return _Sum(((1, self.build.count(counted)),))

    def _on_count(self, node: Tree, body: Tree) -> _Sum:
        operand, differences = self._body(body)
        return _Sum(((1, self.build.count(operand, differences)),))

    def _on_exists(self, node: Tree, body: Tree) -> int:
        one = self.build.constant(1)
        operand, differences = self._body(body)
        return self.build.compare(one, "<=", self.build.count(operand, differences))

    def _body(self, body: Tree) -> tuple[int, tuple[int, ...] | None]:
        parts: list[Any] = body.children
        outer, self.here = self.here, "j"
        differences = self._window(parts[0]) if body.data == "windowed" else None
        operand = self._boolean(parts[-1])
        self.here = outer
        return operand, differences

    def _window(self, window: Tree) -> tuple[int, ...] | None:
        children: list[Any] = window.children
        relation = next((str(child) for child in children if getattr(child, "type", "") == "RELATION"), None)
        if window.data in ("unlimited", "restricted"):
            if _RELATIONS.get(relation or "") != "<=":
                raise self._error("a count looks back: write j <= i", window)
            return self._window(children[3]) if window.data == "restricted" else None
        if window.data == "distances":
            return tuple(sorted({self._number(child) for child in children if child.type == "INT"}))
        distance = self._number(children[4])
        if _RELATIONS.get(relation or "") == "=":
            return (distance,)
        if window.data == "distance" and _RELATIONS.get(relation or "") == "<=":
            if distance > 10_000:
                raise self._error(f"a window of {distance} positions is too wide; 10000 is the limit", window)
            return tuple(range(distance + 1))
        raise self._error("a window is j = i-1, i-j = 1, i-j <= 2 or i-j in {1, 2}", window)

    def _on_parenthesis(self, node: Tree, inner: Tree) -> _Value:
        value = self._expression(inner)
        if isinstance(value, _Sum) and value.terms:
            return self._value_of(self._index(value))  # a sum in parentheses stays an operation of its own
        return value

    def _on_number(self, node: Tree, number: Token) -> _Sum:
        return _Sum((), self._number(number))

    def _on_negative(self, node: Tree, sign: Token, inner: Tree) -> _Sum:
        return self._scaled(-1, self._sum(inner))

    def _on_sum(self, node: Tree, *parts: Any) -> _Sum:
        first = self._sum(parts[0])
        terms, constant = list(first.terms), first.constant
        for sign, part in zip(parts[1::2], parts[2::2], strict=True):
            more = self._scaled(1 if sign.type == "PLUS" else -1, self._sum(part))
            terms += more.terms
            constant += more.constant
        return _Sum(tuple(terms), constant)

    def _on_product(self, node: Tree, *factors: Tree) -> _Sum:
        product = _Sum((), 1)
        for factor in factors:
            value = self._sum(factor)
            if value.terms and product.terms:
                raise self._error("a count can only be multiplied by a number", factor)
            product = self._scaled(product.constant, value) if value.terms else self._scaled(value.constant, product)
        return product

    @staticmethod
    def _scaled(factor: int, value: _Sum) -> _Sum:
        return _Sum(tuple((factor * old, index) for old, index in value.terms), factor * value.constant)

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
        return self.build.negation(self._boolean(inner))

    def _on_and(self, node: Tree, *parts: Tree) -> int:
        return self.build.all_of([self._boolean(part) for part in parts])

    def _on_or(self, node: Tree, *parts: Tree) -> int:
        return self.build.any_of([self._boolean(part) for part in parts])

    def _on_conditional(self, node: Tree, condition: Tree, then: Tree, otherwise: Tree) -> _Value:
        index = self.build.conditional(self._boolean(condition), self._count(then), self._count(otherwise))
        return _Sum(((1, index),))

    def _on_min(self, node: Tree, word: Token, left: Tree, right: Tree) -> _Value:
        return _Sum(((1, self.build.minimum(self._count(left), self._count(right))),))

    def _on_max(self, node: Tree, word: Token, left: Tree, right: Tree) -> _Value:
        return _Sum(((1, self.build.maximum(self._count(left), self._count(right))),))

    def _on_periodic(self, node: Tree, variable: Token, modulus: Token, relation: Token, residue: Token) -> int:
        if _RELATIONS.get(str(relation)) != "=":
            raise self._error("a periodic predicate is written i mod 3 = 1", node)
        m, r = self._number(modulus), self._number(residue)
        if r >= m:
            raise self._error(f"i mod {m} is never {r}; a residue is less than its modulus", node)
        return self.build.periodic(r, m)

    def _on_congruent(self, node: Tree, variable: Token, residue: Token, modulus: Token) -> int:
        if self._number(modulus) < 1:
            raise self._error("a modulus is at least 1", node)
        return self.build.periodic(self._number(residue), self._number(modulus))

    # Small things

    def _check_place(self, place: Tree | None) -> None:
        if place is not None and place.children[0] != self.here:
            rule = "inside of a count the position is called j" if self.here == "j" else "outside of counts it is i"
            raise self._error(f"the position here is {self.here}: {rule}", place)

    def _known(self, symbol: str, where: Tree | Token) -> str:
        if symbol not in self.build.alphabet:
            raise self._error(f"{symbol!r} is not in the alphabet. {suggestion(symbol, self.build.alphabet)}", where)
        return symbol

    def _number(self, token: Token) -> int:
        if len(token) > _MOST_DIGITS:
            raise self._error(f"a number of {len(token)} digits; {_MOST_DIGITS} is the limit", token)
        return int(token)

    def _error(self, message: str, where: Tree | Token) -> CraspSyntaxError:
        place = getattr(where, "meta", where)
        return CraspSyntaxError(message, self.text, getattr(place, "line", 1) or 1, getattr(place, "column", 1) or 1)
