"""A program that knows the answers to short words by heart: the worst member of a learner's class, never empty-handed.

Word w is recognized by its symbols at distances 0, 1, … and BOS at distance |w|, so a memorizer of length k needs k
local heads and a unit for each word that it knows. Its regularizer grows with k however well the target behaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lengthwise.crasp.program.builder import ProgramBuilder
from lengthwise.crasp.program.program import Program


def memorizer(alphabet: Sequence[str], answers: Mapping[tuple[int, ...], bool]) -> Program:
    """The program that gives ``answers`` (words as places in the alphabet), and on all other words the commoner one.

    Without any answers it says no.
    """
    accepted = [word for word, answer in answers.items() if answer]
    common = 2 * len(accepted) > len(answers)
    known = [word for word, answer in answers.items() if answer != common]
    build = ProgramBuilder(alphabet)

    def at(distance: int, symbol: int | None) -> int:
        here = build.bos() if symbol is None else build.symbol(build.alphabet[symbol])
        return here if distance == 0 else build.exists(here, [distance])

    spelled = []
    for word in known:
        letters = [at(distance, symbol) for distance, symbol in enumerate(reversed(word))]
        spelled.append(build.all_of([*letters, at(len(word), None)]))
    found = build.any_of(spelled)
    return build.accept(build.negation(found) if common else found)
