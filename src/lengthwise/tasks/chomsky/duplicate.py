"""Duplication of a string."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.tasks.base import TASKS
from lengthwise.tasks.string_task import StringTask, SymbolChoice, read


@TASKS.register("duplicate")
class Duplicate(StringTask):
    """``<bos> a b b <sep> a b b a b b <eos>``: the string twice.

    Length = number of symbols; ``symbols`` and ``letters`` as in `copy`. A symbol and its copies share a place.
    """

    summary = "a string, then the same string twice"

    symbols: SymbolChoice = "repeats"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """The string twice."""
        n = layout.length
        self.write_in_order(seq, rng, n, [*range(n), *range(n)])

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [*2 * read(self.symbols, self.vocab, prompt), EOS]
