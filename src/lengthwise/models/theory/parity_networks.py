"""Two programs per context N that compute parity up to N, whose regularizer R grows with N.

No program computes parity at all lengths. For each N some do, with a size that grows with N; they are compiled to
measure R.
"""

from __future__ import annotations

from lengthwise.crasp.program.builder import ProgramBuilder
from lengthwise.crasp.program.program import Program


def parity_by_counting(context: int) -> Program:
    """#1 is one of 0, 2, 4, … <= N: one uniform head, one comparison per even number, and weights as large as N."""
    build = ProgramBuilder("01")
    ones = build.count(build.symbol("1"))
    equal = [build.compare(ones, "=", build.constant(even)) for even in range(0, context, 2)]
    return build.accept(build.any_of(equal))


def parity_by_looking_back(context: int) -> Program:
    """The same with a window of N: N − 1 local heads, so that the sum over distances grows."""
    build = ProgramBuilder("01")
    ones = build.count(build.symbol("1"), range(context))
    equal = [build.compare(ones, "=", build.constant(even)) for even in range(0, context, 2)]
    return build.accept(build.any_of(equal))
