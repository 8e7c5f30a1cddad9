"""Leaving out the operations of a program that none of its outputs reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lengthwise.crasp.program.operations import (
    And,
    Compare,
    Conditional,
    Count,
    Index,
    Linear,
    Max,
    Min,
    Not,
    Operation,
    Or,
)
from lengthwise.crasp.program.program import Program


def without_unused(program: Program) -> Program:
    """The same program without operations that no output depends on; the others keep their order and their names."""
    needed = set(program.outputs)
    for index in range(len(program.operations) - 1, -1, -1):
        if index in needed:
            needed.update(program.operations[index].operands)
    kept = sorted(needed)
    new = {old: number for number, old in enumerate(kept)}
    return replace(
        program,
        operations=tuple(_renumbered(program.operations[old], new) for old in kept),
        accept=None if program.accept is None else new[program.accept],
        next_token=tuple((symbol, new[index]) for symbol, index in program.next_token),
        names=tuple((name, new[index]) for name, index in program.names if index in new),
    )


def _renumbered(operation: Operation, new: Mapping[Index, Index]) -> Operation:
    match operation:
        case Not(operand):
            return Not(new[operand])
        case And(operands):
            return And(tuple(new[index] for index in operands))
        case Or(operands):
            return Or(tuple(new[index] for index in operands))
        case Compare(left, relation, right):
            return Compare(new[left], relation, new[right])
        case Count(operand, differences):
            return Count(new[operand], differences)
        case Linear(terms, constant):
            return Linear(tuple((factor, new[index]) for factor, index in terms), constant)
        case Conditional(condition, then, otherwise):
            return Conditional(new[condition], new[then], new[otherwise])
        case Min(left, right):
            return Min(new[left], new[right])
        case Max(left, right):
            return Max(new[left], new[right])
        case _:
            return operation
