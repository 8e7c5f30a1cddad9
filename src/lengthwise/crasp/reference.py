"""The obvious interpreter: one word, position by position, with a running count per counting operation.

Linear in length times operations and written independently of the fast one, whose oracle it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from lengthwise.core.errors import require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp import operations as op
from lengthwise.crasp.program import Program

Value = bool | int


def evaluate(program: Program, word: Sequence[str]) -> list[list[Value]]:
    """The value of every operation (first axis) at every position (second axis) of one word."""
    marked = [*([BOS] if program.bos else []), *word, *([EOS] if program.eos else [])]
    require(len(marked) > 0, "a program without BOS reads words of length >= 1")
    running = [0] * len(program.operations)
    recent: list[deque[bool]] = [deque() for _ in program.operations]
    table: list[list[Value]] = [[] for _ in program.operations]
    for position, symbol in enumerate(marked, start=1):
        now: list[Value] = []
        for index, operation in enumerate(program.operations):
            if isinstance(operation, op.Symbol):
                value: Value = symbol == operation.symbol
            elif isinstance(operation, op.Top):
                value = True
            elif isinstance(operation, op.Periodic):
                value = position % operation.modulus == operation.residue
            elif isinstance(operation, op.Not):
                value = not now[operation.operand]
            elif isinstance(operation, op.And):
                value = all(now[operand] for operand in operation.conjuncts)
            elif isinstance(operation, op.Or):
                value = any(now[operand] for operand in operation.disjuncts)
            elif isinstance(operation, op.Compare):
                value = _compare(now[operation.left], operation.relation, now[operation.right])
            elif isinstance(operation, op.Count) and operation.differences is None:
                running[index] += bool(now[operation.operand])
                value = running[index]
            elif isinstance(operation, op.Count):
                seen = recent[index]
                seen.appendleft(bool(now[operation.operand]))
                if len(seen) > operation.differences[-1] + 1:  # type: ignore[index]
                    seen.pop()
                value = sum(seen[back] for back in operation.differences if back < len(seen))  # type: ignore[union-attr]
            elif isinstance(operation, op.Constant):
                value = operation.value
            elif isinstance(operation, op.Linear):
                value = operation.constant
                for factor, term in operation.terms:
                    value += factor * now[term]
            elif isinstance(operation, op.Conditional):
                value = now[operation.then] if now[operation.condition] else now[operation.otherwise]
            elif isinstance(operation, op.Min):
                value = min(now[operation.left], now[operation.right])
            elif isinstance(operation, op.Max):
                value = max(now[operation.left], now[operation.right])
            else:
                raise TypeError(f"unknown operation {operation!r}")
            now.append(value)
            table[index].append(value)
    return table


def accepts(program: Program, word: Sequence[str]) -> bool:
    """Whether the word is accepted."""
    require(program.accept is not None, "this is a next-token program: it accepts nothing")
    return bool(evaluate(program, word)[program.accept][-1])  # type: ignore[index]


def _compare(left: int, relation: op.Relation, right: int) -> bool:
    if relation == "<=":
        return left <= right
    if relation == "<":
        return left < right
    if relation == "=":
        return left == right
    return left >= right if relation == ">=" else left > right
