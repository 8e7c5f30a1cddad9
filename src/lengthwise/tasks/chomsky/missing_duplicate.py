"""A string twice, with one symbol hidden: which one is it?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.string_task import read

HIDDEN = "?"


@TASKS.register("missing-duplicate")
class MissingDuplicate(Task):
    """``<bos> 0 1 1 0 ? 1 <sep> 1 <eos>``: 011 twice, with one bit hidden.

    Length = bits of the string that is written twice. The answer depends on the twin of the hidden bit, which the mark
    chooses. Twins share a place.
    """

    summary = "a string of n bits twice, with one bit hidden"

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1", HIDDEN])

    def chance(self, layout: Layout) -> float:
        return 0.5

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Bit i (from 0) of both copies has place i + 2, and so has the answer that names it; ``<sep>`` has 1."""
        n, every_row = layout.length, np.arange(seq.size)
        bits = rng.integers(2, size=(n, seq.size), dtype=np.int64)
        hidden = rng.integers(2 * n, size=seq.size, dtype=np.int64)
        twice = np.concatenate([bits, bits]) + self.vocab["0"]
        twice[hidden, every_row] = self.vocab[HIDDEN]
        seq.bos()
        given = seq.givens(twice, place=np.tile(np.arange(2, n + 2), 2))
        seq.sep(place=1)
        twin = (hidden + n) % (2 * n)
        found = bits[hidden % n, every_row] + self.vocab["0"]
        seq.predicted(found, hidden % n + 2, parents=[twin + given[0]], selectors=[hidden + given[0]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Compare the halves."""
        string = read("repeats", self.vocab, prompt)
        half = len(string) // 2
        first, second = string[:half], string[half:]
        if len(first) != len(second) or string.count(HIDDEN) != 1:
            raise ValueError("not a string twice with one symbol hidden")
        found = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
        if len(found) != 1:
            raise ValueError("the halves differ")
        return [next(symbol for symbol in found[0] if symbol != HIDDEN), EOS]
