"""Two transformers per context N that compute parity up to N: what a bounded regularizer rules out.

Parity has no program, hence no Limit Transformer that we know of. For each single N it does have programs whose size
grows with N, and they are compiled like any other; their R shows how the theory's dividing line looks in numbers.
"""

from __future__ import annotations

from lengthwise.crasp.program.builder import ProgramBuilder
from lengthwise.crasp.program.program import Program


def parity_by_counting(context: int) -> Program:
    """#1 is one of 0, 2, 4, … <= N: one uniform head, but a comparison per even number and weights as large as N."""
    build = ProgramBuilder("01")
    ones = build.count(build.symbol("1"))
    equal = [build.compare(ones, "=", build.constant(even)) for even in range(0, context, 2)]
    return build.accept(build.any_of(equal))


def parity_by_looking_back(context: int) -> Program:
    """The same with a window as long as the context: N − 1 local heads, so that the sum over distances grows."""
    build = ProgramBuilder("01")
    ones = build.count(build.symbol("1"), range(context))
    equal = [build.compare(ones, "=", build.constant(even)) for even in range(0, context, 2)]
    return build.accept(build.any_of(equal))
