"""What a program uses: size, counting depth, window, period, and the fragment of C-RASP that follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from lengthwise.crasp.program.operations import And, Constant, Count, Linear, Operation, Or, Periodic

Fragment = Literal["none", "local", "periodic", "ape"]
"""``none`` is C-RASP[∅], ``ape`` is C-RASP[periodic, local]."""

FRAGMENTS: tuple[Fragment, ...] = ("none", "local", "periodic", "ape")


def size_of(operations: Sequence[Operation]) -> int:
    """Atoms + connectives + comparisons + countings (and conditionals, min, max), each operation counted once.

    A connective of r operands counts r - 1; constants and linear forms belong to the comparison that reads them.
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
    """The largest number of `Count` operations inside one another, local ones included.

    For C-RASP[∅] it is the number of transformer layers that are needed in general (Yang et al. 2025).
    """
    depths: list[int] = []
    for operation in operations:
        inner = max((depths[index] for index in operation.operands), default=0)
        depths.append(inner + isinstance(operation, Count))
    return max(depths, default=0)


def window_of(operations: Sequence[Operation]) -> int:
    """k such that every local predicate, pushed down to the atoms, looks at the last k symbols (the current included).

    A local count at distance d of something that looks back r looks back r + d: nested windows add up.
    """
    reach: list[int] = []
    for operation in operations:
        inner = max((reach[index] for index in operation.operands), default=0)
        local = isinstance(operation, Count) and operation.differences is not None
        reach.append(inner + (operation.differences[-1] if local else 0))  # type: ignore[union-attr,index]
    return 1 + max(reach, default=0)


def period_of(operations: Sequence[Operation]) -> int:
    """m: the least common multiple of all moduli."""
    return math.lcm(*(operation.modulus for operation in operations if isinstance(operation, Periodic)))


def fragment_of(window: int, period: int) -> Fragment:
    """The smallest fragment that holds programs with this window and period."""
    if window > 1:
        return "ape" if period > 1 else "local"
    return "periodic" if period > 1 else "none"
