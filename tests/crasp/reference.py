"""The reference interpreter runs a program on one word, position by position.

It shares no code with the interpreter of the library, of which it is the oracle."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Sequence

from lengthwise.core.errors import require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp import program as op
from lengthwise.crasp.program import Program

Value = bool | int
_Rule = Callable[[str, int, list[Value]], Value]
"""The value of an operation from the symbol, the position and the values of the operations before it."""
_RELATIONS = {"<=": operator.le, "<": operator.lt, "=": operator.eq, ">=": operator.ge, ">": operator.gt}


class Stepper:
    """Reads one symbol per `step` and returns the value of every operation at that position."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.position = 0
        self._rules = [_rule(operation) for operation in program.operations]

    def step(self, symbol: str) -> list[Value]:
        """The values at the next position, whose symbol is ``symbol`` (or ``<bos>``, ``<eos>``)."""
        self.position += 1
        now: list[Value] = []
        for rule in self._rules:
            now.append(rule(symbol, self.position, now))
        return now


def _rule(operation: op.Operation) -> _Rule:
    """How an operation gets its value; one that counts remembers what it has seen."""
    match operation:
        case op.Symbol(wanted):
            return lambda symbol, position, now: symbol == wanted
        case op.Top():
            return lambda symbol, position, now: True
        case op.Periodic(residue, modulus):
            return lambda symbol, position, now: position % modulus == residue
        case op.Not(operand):
            return lambda symbol, position, now: not now[operand]
        case op.And(conjuncts):
            return lambda symbol, position, now: all(now[operand] for operand in conjuncts)
        case op.Or(disjuncts):
            return lambda symbol, position, now: any(now[operand] for operand in disjuncts)
        case op.Compare(left, relation, right):
            holds = _RELATIONS[relation]
            return lambda symbol, position, now: holds(now[left], now[right])
        case op.Count(operand, None):
            return _counting(operand)
        case op.Count(operand, differences):
            return _counting_near(operand, differences or ())
        case op.Constant(value):
            return lambda symbol, position, now: value
        case op.Linear(terms, constant):
            return lambda symbol, position, now: sum([factor * now[term] for factor, term in terms], constant)
        case op.Conditional(condition, then, otherwise):
            return lambda symbol, position, now: now[then] if now[condition] else now[otherwise]
        case op.Min(left, right):
            return lambda symbol, position, now: min(now[left], now[right])
        case op.Max(left, right):
            return lambda symbol, position, now: max(now[left], now[right])
        case _:
            raise TypeError(f"unknown operation {operation!r}")


def _counting(operand: op.Index) -> _Rule:
    total = 0

    def rule(symbol: str, position: int, now: list[Value]) -> Value:
        nonlocal total
        total += bool(now[operand])
        return total

    return rule


def _counting_near(operand: op.Index, differences: tuple[int, ...]) -> _Rule:
    seen: deque[bool] = deque(maxlen=differences[-1] + 1)

    def rule(symbol: str, position: int, now: list[Value]) -> Value:
        seen.appendleft(bool(now[operand]))
        return sum([seen[back] for back in differences if back < len(seen)])

    return rule


def evaluate(program: Program, word: Sequence[str]) -> list[list[Value]]:
    """The value of every operation (first axis) at every position (second axis) of one word."""
    marked = [*([BOS] if program.bos else []), *word, *([EOS] if program.eos else [])]
    require(len(marked) > 0, "a program without BOS reads words of length >= 1")
    stepper = Stepper(program)
    columns = [stepper.step(symbol) for symbol in marked]
    return [list(row) for row in zip(*columns, strict=True)]


def accepts(program: Program, word: Sequence[str]) -> bool:
    """Whether the word is accepted."""
    require(program.accept is not None, "this is a next-token program: it accepts nothing")
    return bool(evaluate(program, word)[program.accept][-1])  # type: ignore[index]
