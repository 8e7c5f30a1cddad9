"""Copying a string, either of distinct symbols or over a small alphabet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.tasks.base import TASKS
from lengthwise.tasks.string_task import StringTask, draw, read


@TASKS.register("copy")
@config
class Copy(StringTask):
    """``<bos> a b a <sep> a b a <eos>`` with repeats; with distinct symbols no symbol occurs twice in a string.

    Length = number of symbols. ``letters`` is the size of the alphabet, by default 150 for distinct symbols and 2 for
    repeats (the sizes of Huang et al. 2025). A symbol and its copy share a place.
    """

    summary = "a string, then the same string again"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copy have place i + 2, ``<sep>`` has 1."""
        n = layout.length
        x = draw(self.symbols, self.vocab, n, seq.size, rng)
        seq.bos()
        given = seq.givens(x, place=np.arange(2, n + 2))
        seq.sep(place=1)
        for i in range(n):
            seq.predicted(x[i], place=i + 2, parents=[given[i]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """The string between ``<bos>`` and ``<sep>``."""
        return [*read(self.symbols, self.vocab, prompt), EOS]
