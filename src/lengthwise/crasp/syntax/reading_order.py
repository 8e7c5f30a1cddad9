"""Renumbering a program in the order in which a person would write it."""

from __future__ import annotations

from dataclasses import replace

from lengthwise.crasp.program.operations import (
    And,
    Compare,
    Conditional,
    Count,
    Linear,
    Max,
    Min,
    Not,
    Operation,
    Or,
)
from lengthwise.crasp.program.program import Program


def in_reading_order(program: Program) -> Program:
    """The same program with operands right before what reads them, and without operations that nothing reads.

    Named definitions come first, in their old order, then the outputs. Its text is shorter: the printer writes an
    operation inside of another one only where that reproduces the numbering.
    """
    new: dict[int, int] = {}
    operations: list[Operation] = []
    for root in (*(index for _, index in program.names), *program.outputs):
        waiting = [root]
        while waiting:  # not recursive: programs may be deeper than Python's stack
            index = waiting[-1]
            missing = [operand for operand in program.operations[index].operands if operand not in new]
            if index in new:
                waiting.pop()
            elif missing:
                waiting.append(missing[0])
            else:
                waiting.pop()
                new[index] = len(operations)
                operations.append(_renumbered(program.operations[index], new))
    return replace(
        program,
        operations=tuple(operations),
        accept=None if program.accept is None else new[program.accept],
        next_token=tuple((symbol, new[index]) for symbol, index in program.next_token),
        names=tuple((name, new[index]) for name, index in program.names),
    )


def _renumbered(operation: Operation, new: dict[int, int]) -> Operation:
    match operation:
        case Not(operand) | Count(operand):
            return replace(operation, operand=new[operand])
        case And(operands):
            return And(tuple(new[index] for index in operands))
        case Or(operands):
            return Or(tuple(new[index] for index in operands))
        case Compare(left, _, right) | Min(left, right) | Max(left, right):
            return replace(operation, left=new[left], right=new[right])
        case Linear(terms):
            return replace(operation, terms=tuple((factor, new[index]) for factor, index in terms))
        case Conditional(condition, then, otherwise):
            return Conditional(new[condition], new[then], new[otherwise])
        case _:
            return operation
