"""Renumbers a program so that each operation directly follows its operands, which makes its text shorter."""

from __future__ import annotations

from lengthwise.crasp.program.program import Program


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
