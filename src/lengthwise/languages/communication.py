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
    """For every N, 2^Ω(N) prefixes of which every two are separated by some suffix; hence no program exists.

    ``prefix`` maps a bit string to a prefix. ``separator`` maps two different bit strings to (suffix, index) such that
    ``output(prefix + suffix, index)`` differs.
    """

    task: str
    statement: str
    prefix: Callable[[str], Symbols]
    separator: Callable[[str, str], tuple[Symbols, int]]
    output: Callable[[Symbols, int], str]

    def separates(self, first: str, second: str) -> bool:
        """Whether the suffix of ``separator`` separates the two prefixes."""
        suffix, index = self.separator(first, second)
        return self.output((*self.prefix(first), *suffix), index) != self.output((*self.prefix(second), *suffix), index)

    def verify(self, length: int) -> int:
        """Check all pairs of bit strings of one length and return their number; raises `LengthwiseError` on failure."""
        strings = ["".join(bits) for bits in itertools.product("01", repeat=length)]
        for first, second in itertools.combinations(strings, 2):
            require(self.separates(first, second), f"the fooling set for {self.task} fails on {first} and {second}")
        return len(strings)


def _copy_output(word: Symbols, index: int) -> str:
    """The next symbol of copying after the separator and ``index`` copied symbols."""
    return word[: word.index("<sep>")][index]


def _copy_separator(first: str, second: str) -> tuple[Symbols, int]:
    """Bob holds the separator; his answers differ at the first index at which the words differ."""
    return ("<sep>",), next(i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)


def _addition_output(word: Symbols, index: int) -> str:
    """Digit number ``index`` (most significant first) of the binary sum of ``x + y =``."""
    first, second = "".join(word[: word.index("=")]).split("+")
    return bin(int(first, 2) + int(second, 2))[2:][index]


FOOLING_SETS: dict[str, FoolingSet] = {
    fooling.task: fooling
    for fooling in (
        FoolingSet(
            "repeat_copy",
            "Alice's bits are the word to copy; Bob holds the separator and writes them all: N bits are needed.",
            lambda bits: tuple("ab"[int(bit)] for bit in bits),
            _copy_separator,
            _copy_output,
        ),
        FoolingSet(
            "addition",
            "Alice's bits are the first operand, after a leading 1; Bob adds 0 and writes them all: N bits are needed.",
            lambda bits: ("1", *bits),
            lambda first, second: (("+", "0", "="), 1 + _copy_separator(first, second)[1]),
            _addition_output,
        ),
    )
}
