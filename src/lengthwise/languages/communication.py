"""The communication bound: counts of distinguishable prefixes by length, and explicit fooling sets.

If Alice holds the first half of an input and Bob the second, a C-RASP program lets Alice send O(log N) bits from which
Bob computes every output on his half (Huang et al. 2025, Theorem 12). So at most polynomially many prefixes of length N
can be distinguishable. Exact counts for a few N are *evidence* about the growth; a fooling set is a proof.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Literal

from lengthwise.core.errors import require

Symbols = tuple[str, ...]
AnswerFunction = Callable[[Symbols], Hashable]
MAX_QUERIES = 2_000_000


@dataclass(frozen=True)
class Growth:
    """Exact numbers of distinguishable prefixes by length, and the growth fitted to them (evidence only).

    ``rate`` is the exponent c of N^c if polynomial, the base b of b^N if exponential, the bound if bounded.
    """

    lengths: tuple[int, ...]
    classes: tuple[int, ...]
    kind: Literal["bounded", "polynomial", "exponential"]
    rate: float

    def __str__(self) -> str:
        counts = ", ".join(f"{n}: {c}" for n, c in zip(self.lengths, self.classes, strict=True))
        shape = {"bounded": f"at most {self.rate:.0f}", "polynomial": f"about N^{self.rate:.1f}"}
        fitted = shape.get(self.kind, f"about {self.rate:.2f}^N")
        return f"distinguishable prefixes by length ({counts}); fitted growth {fitted} (evidence, not a proof)"


def distinguishable_prefixes(answer: AnswerFunction, prefixes: Iterable[Symbols], suffixes: Iterable[Symbols]) -> int:
    """The number of prefixes that differ in ``answer(prefix + suffix)`` for some suffix.

    Raises `LengthwiseError` beyond two million calls of ``answer``.
    """
    prefixes, suffixes = list(prefixes), list(suffixes)
    require(
        len(prefixes) * len(suffixes) <= MAX_QUERIES,
        f"{len(prefixes)} prefixes × {len(suffixes)} suffixes are more than {MAX_QUERIES} questions; shorten",
    )
    return len({tuple([answer((*prefix, *suffix)) for suffix in suffixes]) for prefix in prefixes})


def all_words(alphabet: Sequence[str], length: int) -> list[Symbols]:
    """All words of one length."""
    return list(itertools.product(alphabet, repeat=length))


def growth_of(answer: AnswerFunction, alphabet: Sequence[str], lengths: Sequence[int]) -> Growth:
    """Count prefixes of length N against suffixes of length N, for every N in ``lengths``, and fit the growth."""
    counted = []
    for length in lengths:
        words = all_words(alphabet, length)
        counted.append(distinguishable_prefixes(answer, words, words))
    return fit_growth(lengths, counted)


def fit_growth(lengths: Sequence[int], classes: Sequence[int]) -> Growth:
    """Fit log(classes) by least squares against N, and against log(N + shift) for a few shifts.

    The growth is called exponential only if that fit has less than half of the squared error. Raises `LengthwiseError`
    for fewer than three lengths.
    """
    require(len(lengths) == len(classes) >= 3, f"a fit needs at least three lengths, got {len(lengths)}")
    require(min(lengths) >= 1 and min(classes) >= 1, "lengths and counts must be at least 1")
    half = len(classes) // 2
    if max(classes[half:]) <= max(classes[: half + 1]):
        return Growth(tuple(lengths), tuple(classes), "bounded", float(max(classes)))
    logs = [log(count) for count in classes]
    fits = [_line([log(length + shift) for length in lengths], logs) for shift in (0, 1, 2, 4)]
    power, power_error = min(fits, key=lambda fit: fit[1])
    base, base_error = _line([float(length) for length in lengths], logs)
    if base_error < power_error / 2:
        return Growth(tuple(lengths), tuple(classes), "exponential", exp(base))
    return Growth(tuple(lengths), tuple(classes), "polynomial", power)


def _line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Slope and sum of squared residuals of the least-squares line."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((value - mean_x) ** 2 for value in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    return slope, sum((b - mean_y - slope * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))


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
