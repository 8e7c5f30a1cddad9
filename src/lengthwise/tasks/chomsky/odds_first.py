"""Odds first: the symbols at odd places, then those at even places."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.tasks.base import TASKS
from lengthwise.tasks.string_task import StringTask, SymbolChoice, read


@TASKS.register("odds-first")
class OddsFirst(StringTask):
    """``<bos> a b c d e <sep> a c e b d <eos>``: the first, third, … symbol, then the second, fourth, …

    Length = number of symbols; ``symbols`` and ``letters`` as in `copy`. A symbol and its copy share a place.
    """

    summary = "a string, then its symbols at odd and after them those at even places"

    symbols: SymbolChoice = "repeats"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbols 0, 2, …, then 1, 3, …"""
        n = layout.length
        self.write_in_order(seq, rng, n, [*range(0, n, 2), *range(1, n, 2)])

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Two slices."""
        string = read(self.symbols, self.vocab, prompt)
        return [*string[::2], *string[1::2], EOS]
