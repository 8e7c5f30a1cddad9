"""Retrieval of the symbol before or after a unique marker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import symbol_names
from lengthwise.tasks.string_task import read

MARKER = "!"


@TASKS.register("retrieval")
class Retrieval(Task):
    """``<bos> b a ! c <sep> c <eos>``: the letter after (or before) the marker, which occurs once.

    Length = letters and marker. Letters are iid. Each answer depends on one token, which the marker chooses.
    """

    summary = "the letter before or after a unique marker"
    min_length = 2

    side: Literal["after", "before"] = "after"
    letters: Alphabet1 = 26

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*symbol_names(self.letters), MARKER])

    def chance(self, layout: Layout) -> float:
        """One of the letters that there is room for."""
        return 1.0 / min(self.letters, layout.length - 1)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Token i (from 0) has place i + 2, the answer that of the letter it copies; ``<sep>`` has 1."""
        n, every_row = layout.length, np.arange(seq.size)
        x = rng.integers(self.letters, size=(n, seq.size), dtype=np.int64) + 4
        # The first token has nothing before it, the last one nothing after it.
        marker = rng.integers(n - 1, size=seq.size, dtype=np.int64) + (self.side == "before")
        x[marker, every_row] = self.vocab[MARKER]
        found = marker + (1 if self.side == "after" else -1)
        seq.bos()
        given = seq.givens(x, place=np.arange(2, n + 2))
        seq.sep(place=1)
        seq.predicted(x[found, every_row], place=found + 2, parents=[found + given[0]], selectors=[marker + given[0]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Cut the string at the marker."""
        string = read("repeats", self.vocab, prompt)
        if string.count(MARKER) != 1:
            raise ValueError("the marker must occur once")
        at = string.index(MARKER)
        rest = string[at + 1 :] if self.side == "after" else string[:at][::-1]
        if not rest:
            raise ValueError(f"nothing is {self.side} the marker")
        return [rest[0], EOS]
