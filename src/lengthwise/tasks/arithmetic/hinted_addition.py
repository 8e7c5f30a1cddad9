"""Addition with index hints: every digit follows a token that names its significance (after Zhou et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet2, DigitBase
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.arithmetic.digits import DIGITS, carried, digits_of, number
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("addition-hinted")
class HintedAddition(Task):
    """``<bos> i4 7 i5 2 + i4 5 i5 4 = i4 2 i5 7 i6 0 <eos>``: addition with a hint before every digit.

    Length = digits of each operand. Digits of one significance share a hint, and the hints are consecutive from a
    random start, so that all ``hints`` of them are met on short numbers. Hint and digit also share a place, as in
    `addition`.
    """

    summary = "addition in which a hint before every digit names its significance"
    place_rule = "next"

    base: DigitBase = 10
    hints: Alphabet2 = 128

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*DIGITS[: self.base], "+", "=", *(f"i{hint}" for hint in range(self.hints))])

    def max_length(self) -> int:
        """One hint is for the last carry."""
        return self.hints - 1

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i and its hints."""
        n, zero = layout.length, self.vocab["0"]
        x, y = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        start = rng.integers(self.hints - n, size=seq.size, dtype=np.int64) + self.vocab["i0"]
        seq.bos()
        given = []
        for operand, sign in ((x, "+"), (y, "=")):
            columns = []
            for i in range(n):
                hint = seq.given(start + i, place=i + 2)
                columns.append((hint, seq.given(operand[i] + zero, place=i + 2)))
            given.append(columns)
            seq.given(self.vocab[sign], place=1)
        first, second = given
        total = carried(np.concatenate([x + y, np.zeros((1, seq.size), dtype=np.int64)]), self.base)
        carried_by: list[int] = []
        for i in range(n + 1):
            seq.predicted(start + i, place=i + 2, parents=[first[min(i, n - 1)][0]])
            own = [first[i][1], second[i][1]] if i < n else []
            digit = seq.predicted(total[i] + zero, place=i + 2, parents=[*own, *carried_by])
            carried_by = [*own, digit] if i else own
        seq.eos(place=n + 3)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Check the hints, then add with Python's integers."""
        text = list(prompt[1:-1])
        half = len(text) // 2
        n = half // 2
        if prompt[0] != BOS or prompt[-1] != "=" or len(text) != 4 * n + 1 or n == 0 or text[half] != "+":
            raise ValueError("not an addition of two numbers of one length with hints")
        names = self.vocab.tokens[self.vocab["i0"] :]
        start = names.index(text[0]) if text[0] in names else -1
        hints = list(names[start : start + n + 1])
        if start < 0 or len(hints) <= n or not text[0:half:2] == text[half + 1 :: 2] == hints[:n]:
            raise ValueError("the hints are not consecutive, or differ between the numbers")
        total = number(text[1:half:2], self.base) + number(text[half + 2 :: 2], self.base)
        pairs = zip(hints, digits_of(total, n + 1, self.base), strict=True)
        return [*(token for pair in pairs for token in pair), EOS]
