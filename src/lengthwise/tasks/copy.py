"""Copying a string, either of distinct symbols or over a small alphabet."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.tasks.base import TASKS
from lengthwise.tasks.string_task import StringTask, read


@TASKS.register("copy")
class Copy(StringTask):
    """``<bos> a b a <sep> a b a <eos>`` with repeats; with distinct symbols no symbol occurs twice in a string.

    Length = number of symbols. ``letters`` is the size of the alphabet, by default 150 for distinct symbols and 2 for
    repeats (the sizes of Huang et al. 2025). A symbol and its copy share a place.
    """

    summary = "a string, then the same string again"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """The string again."""
        n = layout.length
        self.write_in_order(seq, rng, n, range(n))

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """The string between ``<bos>`` and ``<sep>``."""
        return [*read(self.symbols, self.vocab, prompt), EOS]
