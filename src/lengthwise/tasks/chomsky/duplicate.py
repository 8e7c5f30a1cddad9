"""Duplication of a string."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.tasks.base import TASKS
from lengthwise.tasks.string_task import StringTask, Symbols, draw, read


@TASKS.register("duplicate")
@config
class Duplicate(StringTask):
    """``<bos> a b b <sep> a b b a b b <eos>``: the string twice.

    Length = number of symbols; ``symbols`` and ``letters`` as in `copy`. A symbol and its copies share a place.
    """

    summary = "a string, then the same string twice"

    symbols: Symbols = "repeats"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copies have place i + 2, ``<sep>`` has 1."""
        n = layout.length
        x = draw(self.symbols, self.vocab, n, seq.size, rng)
        seq.bos()
        given = seq.givens(x, place=np.arange(2, n + 2))
        seq.sep(place=1)
        for i in [*range(n), *range(n)]:
            seq.predicted(x[i], place=i + 2, parents=[given[i]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [*2 * read(self.symbols, self.vocab, prompt), EOS]
