"""`memorizer` builds a program that lists the answers to all short words, for the idealized learner.

Word w is recognized by its symbols at distances 0, 1, … and BOS at distance |w|. So a memorizer of length k needs k
local heads and one unit per listed word, and its regularizer grows with k for every target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lengthwise.crasp.program.builder import ProgramBuilder
from lengthwise.crasp.program.program import Program


def memorizer(alphabet: Sequence[str], answers: Mapping[tuple[int, ...], bool]) -> Program:
    """The program with these ``answers`` (words as symbol indices), and with the more common answer on all other words.

    Ties, and no answers at all, give *no*.
    """
    accepted = [word for word, answer in answers.items() if answer]
    common = 2 * len(accepted) > len(answers)
    known = [word for word, answer in answers.items() if answer != common]
    build = ProgramBuilder(alphabet)

    def at(distance: int, symbol: int | None) -> int:
        here = build.bos() if symbol is None else build.symbol(build.alphabet[symbol])
        return here if distance == 0 else build.exists(here, [distance])

    listed = []
    for word in known:
        letters = [at(distance, symbol) for distance, symbol in enumerate(reversed(word))]
        listed.append(build.all_of([*letters, at(len(word), None)]))
    found = build.any_of(listed)
    return build.accept(build.negation(found) if common else found)
