"""The reference interpreter runs a program on one word, position by position.

It shares no code with the vectorized interpreter and is its oracle in the tests. Generation uses it, too.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Sequence

from lengthwise.core.errors import require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program import operations as op
from lengthwise.crasp.program.program import Program

Value = bool | int
_RELATIONS = {"<=": operator.le, "<": operator.lt, "=": operator.eq, ">=": operator.ge, ">": operator.gt}


class Stepper:
    """Reads one symbol per `step` and returns the value of every operation at that position."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.position = 0
        self._running = [0] * len(program.operations)
        self._recent: list[deque[bool]] = [deque() for _ in program.operations]

    def step(self, symbol: str) -> list[Value]:
        """The values at the next position, whose symbol is ``symbol`` (or ``<bos>``, ``<eos>``)."""
        self.position += 1
        now: list[Value] = []
        for index, operation in enumerate(self.program.operations):
            now.append(self._value(index, operation, symbol, now))
        return now

    def _value(self, index: int, operation: op.Operation, symbol: str, now: list[Value]) -> Value:
        if isinstance(operation, op.Symbol):
            return symbol == operation.symbol
        if isinstance(operation, op.Top):
            return True
        if isinstance(operation, op.Periodic):
            return self.position % operation.modulus == operation.residue
        if isinstance(operation, op.Not):
            return not now[operation.operand]
        if isinstance(operation, op.And):
            return all(now[operand] for operand in operation.conjuncts)
        if isinstance(operation, op.Or):
            return any(now[operand] for operand in operation.disjuncts)
        if isinstance(operation, op.Compare):
            return _RELATIONS[operation.relation](now[operation.left], now[operation.right])
        if isinstance(operation, op.Count):
            if operation.differences is None:
                self._running[index] += bool(now[operation.operand])
                return self._running[index]
            seen = self._recent[index]
            seen.appendleft(bool(now[operation.operand]))
            if len(seen) > operation.differences[-1] + 1:
                seen.pop()
            return sum(seen[back] for back in operation.differences if back < len(seen))
        if isinstance(operation, op.Constant):
            return operation.value
        if isinstance(operation, op.Linear):
            total = operation.constant
            for factor, term in operation.terms:
                total += factor * now[term]
            return total
        if isinstance(operation, op.Conditional):
            return now[operation.then] if now[operation.condition] else now[operation.otherwise]
        if isinstance(operation, op.Min):
            return min(now[operation.left], now[operation.right])
        if isinstance(operation, op.Max):
            return max(now[operation.left], now[operation.right])
        raise TypeError(f"unknown operation {operation!r}")


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
