"""R of finite transformers as their context grows: bounded along a program, growing along networks for parity.

The dividing line of Huang et al. 2025 (theorem 7) in numbers. Five compiled programs, each as a finite transformer of
context N, against two families of networks that compute parity up to N.
"""

from __future__ import annotations

from typing import Any

from regularizer_table import regularizer_table

import lengthwise as lw

SUMMARY = "the regularizer R over the context N: five compiled programs against two networks for parity (no training)"

PROGRAMS = ("bin_majority", "D-2", "contains_ab", "(abab)*", "Tomita-4")

_CONTEXTS: dict[str, tuple[int, ...]] = {
    "quick": (16, 32, 64, 128, 256, 512),
    "standard": (16, 32, 64, 128, 256, 512),
    "full": (16, 32, 64, 128, 256, 512, 1024),
}

_LONGEST_WINDOW = 128
"""Looking back over N positions takes N heads of N × N products; beyond this it is slow and shows nothing new."""


def parity_by_counting(context: int) -> lw.crasp.program.Program:
    """#1 is one of 0, 2, 4, … <= N: one uniform head, one comparison per even number, and weights as large as N."""
    build = lw.crasp.program.ProgramBuilder("01")
    ones = build.count(build.symbol("1"))
    equal = [build.compare(ones, "=", build.constant(even)) for even in range(0, context, 2)]
    return build.accept(build.any_of(equal))


def parity_by_looking_back(context: int) -> lw.crasp.program.Program:
    """The same with a window of N: N − 1 local heads, so that the sum over distances grows."""
    build = lw.crasp.program.ProgramBuilder("01")
    ones = build.count(build.symbol("1"), range(context))
    equal = [build.compare(ones, "=", build.constant(even)) for even in range(0, context, 2)]
    return build.accept(build.any_of(equal))


@lw.study("regularizer-growth", SUMMARY)
def regularizer_growth(preset: str, seed: int, report: lw.experiments.events.Report) -> dict[str, Any]:
    """One row per network, with R by context and its last term by context."""

    contexts = _CONTEXTS[preset]
    networks: list[tuple[str, bool, Any]] = [
        (name, True, lambda context, name=name: lw.crasp.library.get(name)) for name in PROGRAMS
    ]
    networks.append(("parity by counting", False, parity_by_counting))
    networks.append(("parity by looking back", False, parity_by_looking_back))
    rows = []
    for done, (name, has_program, program_of) in enumerate(networks):
        report(name, done, len(networks))
        last = _LONGEST_WINDOW if program_of is parity_by_looking_back else contexts[-1]
        totals, positional = {}, {}
        for context in (n for n in contexts if n <= last):
            table = regularizer_table(
                lw.models.limit.finite_version(
                    lw.models.compile.compile_program(program_of(context)).required(), context
                )
            )
            totals[str(context)] = table.total
            positional[str(context)] = table.terms[-1].value
        values = list(totals.values())
        bounded = values[-1] <= values[-2] * (1 + 1e-9)
        rows.append(
            {
                "network": name,
                "one_program": has_program,
                "bounded": bounded,
                "R": totals,
                "positional_term": positional,
            }
        )
    return {"rows": rows}
