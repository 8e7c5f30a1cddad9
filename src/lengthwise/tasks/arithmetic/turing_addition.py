"""Addition by a Turing program: every step copies the tape and changes it at its ends (after Hou et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import DigitBase
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.arithmetic.digits import DIGITS, carried, digits_of, number
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("addition-turing")
class TuringAddition(Task):
    """``<bos> 2 7 + 4 5 | 2 7' + 4 5' ( 1 2 | 2' + 4' ( 0 7 2 | 0 7 2 <eos>`` is 27 + 45 = 072.

    Length = digits of each operand, most significant first. A step writes the tape again without the digits that were
    read before it, marks the next digit of each operand as read (``7'``), and writes ``(``, the carry and the sum so
    far. A copied token has one parent; a new digit of the sum and the carry have three. Digits of one significance
    share a place.
    """

    summary = "addition by a Turing program: a scratchpad of whole tapes"

    base: DigitBase = 10

    @cached_property
    def vocab(self) -> Vocab:
        digits = DIGITS[: self.base]
        return Vocab.of([*digits, *(f"{digit}'" for digit in digits), "+", "|", "("])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i; a carry has that of the sum's digit."""
        n, zero, read = layout.length, self.vocab["0"], self.vocab["0'"]
        x = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        total = carried(x[0] + x[1], self.base)
        seq.bos()
        tape = []
        for operand, sign in zip(x, "+|", strict=True):
            tape.append({i: seq.given(operand[i] + zero, place=i + 2) for i in reversed(range(n))})
            seq.given(self.vocab[sign], place=1)
        written: dict[int, int] = {}
        carried_by: list[int] = []
        carry = np.zeros(seq.size, dtype=np.int64)
        for now in range(n):
            heads = []
            for which, sign in enumerate("+("):
                for i in range(n - 1, now, -1):
                    tape[which][i] = seq.predicted(x[which, i] + zero, i + 2, [tape[which][i]], answer=False)
                heads.append(seq.predicted(x[which, now] + read, now + 2, [tape[which][now]], answer=False))
                seq.predicted(self.vocab[sign], place=1, answer=False)
            parents = [*heads, *carried_by]
            carry = (x[0, now] + x[1, now] + carry) // self.base
            carried_by = [seq.predicted(carry + zero, now + 2, parents, answer=False)]
            new = seq.predicted(total[now] + zero, now + 2, parents, answer=False)
            written = {i: seq.predicted(total[i] + zero, i + 2, [at], answer=False) for i, at in written.items()}
            written = {now: new, **written}
            seq.predicted(self.vocab["|"], place=1, answer=False)
        seq.predicted(carry + zero, n + 1, carried_by)
        for i, at in written.items():
            seq.predicted(total[i] + zero, i + 2, [at])
        seq.eos(place=1)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Every step from Python's sum of the digits read so far."""
        text = list(prompt[1:-1])
        n = len(text) // 2
        if prompt[0] != BOS or prompt[-1] != "|" or len(text) != 2 * n + 1 or n == 0 or text[n] != "+":
            raise ValueError("not an addition of two numbers of one length")
        first, second = text[:n], text[n + 1 :]
        steps: list[str] = []
        for now in range(1, n + 1):
            parts = [number(operand[-now:][::-1], self.base) for operand in (first, second)]
            carry, low = divmod(sum(parts), self.base**now)
            left = [[*operand[: n - now], f"{operand[n - now]}'"] for operand in (first, second)]
            steps += [*left[0], "+", *left[1], "(", DIGITS[carry], *digits_of(low, now, self.base)[::-1], "|"]
        return [*steps, *steps[-n - 2 : -1], EOS]
