"""Lowers the syntax tree of an expression to operations, numbered in the order of the text, operands first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import suggestion
from lengthwise.crasp.program.builder import ProgramBuilder
from lengthwise.crasp.program.operations import Constant, Relation
from lengthwise.crasp.program.spelling import is_temporary, unquote
from lengthwise.crasp.syntax.header import Header
from lengthwise.crasp.syntax.syntax_tree import CraspSyntaxError

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
