"""The communication bound: explicit fooling sets, which prove that no program exists.

If Alice holds the first half of an input and Bob the second, a C-RASP program lets Alice send O(log N) bits from which
Bob computes every output on his half (Huang et al. 2025, Theorem 12). So at most polynomially many prefixes of length N
can be distinguishable; a fooling set has 2^N.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from lengthwise.core.errors import require
from lengthwise.core.vocab import Symbols


@dataclass(frozen=True)
class FoolingSet:
    """For every N, 2^Ω(N) prefixes of which every two are told apart by the ``suffix``; hence no program exists.

    ``prefix`` maps a bit string to a prefix, ``outputs`` a word to what the task writes after it.
    """

    task: str
    statement: str
    prefix: Callable[[str], Symbols]
    suffix: Symbols
    outputs: Callable[[Symbols], str]

    def verify(self, length: int) -> int:
        """Check all pairs of bit strings of one length and return their number; raises `LengthwiseError` on failure."""
        known: dict[str, str] = {}
        for bits in map("".join, itertools.product("01", repeat=length)):
            first = known.setdefault(self.outputs((*self.prefix(bits), *self.suffix)), bits)
            require(first == bits, f"the fooling set for {self.task} fails on {first} and {bits}")
        return len(known)


def _sum(word: Symbols) -> str:
    """The digits of the binary sum of ``x + y =``, most significant first."""
    first, second = "".join(word).rstrip("=").split("+")
    return f"{int(first, 2) + int(second, 2):b}"


_ADDITION = "Alice's bits are the first operand, after a leading 1; Bob adds 0 and writes them all: N bits are needed."
_COPY = "Alice's bits are the word to copy; Bob holds the separator and writes them all: N bits are needed."
FOOLING_SETS: dict[str, FoolingSet] = {
    fooling.task: fooling
    for fooling in (
        FoolingSet("repeat_copy", _COPY, lambda bits: tuple(bits), ("<sep>",), lambda word: "".join(word[:-1])),
        FoolingSet("addition", _ADDITION, lambda bits: ("1", *bits), ("+", "0", "="), _sum),
    )
}
