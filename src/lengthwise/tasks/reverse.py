"""Reversal of a string."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.tasks.base import TASKS
from lengthwise.tasks.string_task import StringTask, draw, read


@TASKS.register("reverse")
class Reverse(StringTask):
    """``<bos> a b b <sep> b b a <eos>``: the string from its end to its start.

    Length = number of symbols; ``symbols`` and ``letters`` as in copy. A symbol and its copy share a place.
    """

    summary = "a string, then the same string backwards"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copy have place i + 1, ``<sep>`` has n + 1."""
        n = layout.length
        x = draw(self.symbols, self.vocab, n, seq.size, rng)
        seq.bos()
        given = seq.givens(x, place=np.arange(1, n + 1))
        seq.sep(place=n + 1)
        for i in reversed(range(n)):
            seq.predicted(x[i], place=i + 1, parents=[given[i]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [*read(self.symbols, self.vocab, prompt)[::-1], EOS]
