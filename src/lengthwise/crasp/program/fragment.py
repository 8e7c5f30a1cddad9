"""Size, counting depth, window and period of a program, and the smallest fragment of C-RASP that contains it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from lengthwise.crasp.program.operations import And, Constant, Count, Linear, Operation, Or, Periodic

Fragment = Literal["none", "local", "periodic", "ape"]
"""``none`` is C-RASP[∅], ``ape`` is C-RASP[periodic, local]."""

FRAGMENTS: tuple[Fragment, ...] = ("none", "local", "periodic", "ape")


def size_of(operations: Sequence[Operation]) -> int:
    """The number of atoms, connectives, comparisons, countings, conditionals, min and max.

    A connective of r operands counts r - 1; constants and linear forms count 0.
    """
    return sum(_weight(operation) for operation in operations)


def _weight(operation: Operation) -> int:
    match operation:
        case Constant() | Linear():
            return 0
        case And(operands) | Or(operands):
            return len(operands) - 1
        case _:
            return 1


def depth_of(operations: Sequence[Operation]) -> int:
    """The largest number of nested `Count` operations, local ones included.

    For C-RASP[∅] this many transformer layers are needed in general (Yang et al. 2025).
    """
    depths: list[int] = []
    for operation in operations:
        inner = max((depths[index] for index in operation.operands), default=0)
        depths.append(inner + isinstance(operation, Count))
    return max(depths, default=0)


def window_of(operations: Sequence[Operation]) -> int:
    """k: how many of the last symbols, the current one included, the local predicates read.

    Nested windows add up: a local count at distance d of an operand that reads r symbols back reads r + d back.
    """
    reach: list[int] = []
    for operation in operations:
        inner = max((reach[index] for index in operation.operands), default=0)
        local = isinstance(operation, Count) and operation.differences is not None
        reach.append(inner + (operation.differences[-1] if local else 0))  # type: ignore[union-attr,index]
    return 1 + max(reach, default=0)


def period_of(operations: Sequence[Operation]) -> int:
    """m: the least common multiple of all moduli; 1 without any."""
    return math.lcm(*(operation.modulus for operation in operations if isinstance(operation, Periodic)))


def fragment_of(window: int, period: int) -> Fragment:
    """The smallest fragment that contains programs with this window and period."""
    if window > 1:
        return "ape" if period > 1 else "local"
    return "periodic" if period > 1 else "none"
