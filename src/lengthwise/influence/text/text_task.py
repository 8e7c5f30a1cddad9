"""Defines text as a task: random windows of tokenized documents in which every token but the first is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import SPECIALS, Vocab
from lengthwise.influence.text.documents import Document
from lengthwise.influence.text.tokenizer import Tokenizer
from lengthwise.tasks import Task


class TextTask(Task):
    """Length n: windows of n + 1 consecutive tokens of one document, uniformly distributed and without padding.

    The task states no parents. Documents of n tokens or fewer have no window.
    """

    name = "text"
    summary = "windows of a text; only for the training of language models"

    def __init__(self, documents: Sequence[Document], tokenizer: Tokenizer) -> None:
        texts = [np.array(tokenizer.encode(document.text), dtype=np.int32) for document in documents]
        self.tokens: Int[ndarray, " N"] = np.concatenate([*texts, np.zeros(0, dtype=np.int32)])
        self.sizes: Int[ndarray, " D"] = np.array([len(text) for text in texts], dtype=np.int64)
        self._starts = np.cumsum(self.sizes) - self.sizes
        self._vocab_size = tokenizer.vocab_size

    @cached_property
    def vocab(self) -> Vocab:
        """The tokenizer's vocabulary; tokens are named by their ids."""
        return Vocab.of(f"#{i}" for i in range(len(SPECIALS), self._vocab_size))

    def max_length(self) -> int:
        """The number of tokens of the longest document, minus one."""
        return int(self.sizes.max(initial=1)) - 1

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Write ``seq.size`` random windows."""
        for t, column in enumerate(self.windows(layout.length, seq.size, rng).T):
            if t:
                seq.predicted(column)
            else:
                seq.given(column)

    def windows(self, length: int, size: int, rng: Rng) -> Int[ndarray, "size length+1"]:
        """``size`` random windows of ``length`` + 1 token ids."""
        room = np.maximum(self.sizes - length, 0)
        ends = np.cumsum(room)
        drawn = rng.integers(ends[-1], size=size)
        owner = np.searchsorted(ends, drawn, side="right")
        start = self._starts[owner] + drawn - (ends[owner] - room[owner])
        return self.tokens[start[:, None] + np.arange(length + 1)].astype(np.int64)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Raise `LengthwiseError`, since text has no single right continuation."""
        raise LengthwiseError("a text has no right answer; choose a task from `lengthwise list tasks`")
