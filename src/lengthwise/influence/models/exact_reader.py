"""Implements exact inference on planted text as a `LanguageModel`, to test selection rules without model error."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import comb, log, prod

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError
from lengthwise.influence.text.planted_text import NOISE, PlantedText


class ExactReader:
    """p(label | visible tokens), from counts of the words of S* that contain the visible tokens of the queried topic.

    All words of S* and all positions are equally likely, so other tokens carry no information. Probabilities below
    ``floor`` are raised to it. Rules that need attention or gradients raise `LengthwiseError`.
    """

    def __init__(self, text: PlantedText, floor: float = 1e-9) -> None:
        self.text, self.floor = text, floor
        self.name, self.vocab_size = f"exact {text.label}", text.vocab_size
        self.max_length: int | None = text.context
        self.parameters, self.batch_tokens = 0, 1 << 16
        words = text.planted.words.support(text.k)
        self._words = [Counter(word) for word in words.tolist()]
        self._labels = text.planted.label_of(words).tolist()
        self._nats = lru_cache(maxsize=None)(self._count)

    def target_losses(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """−ln of each label's share among the words that agree with the visible tokens."""
        topics = tokens[:, -1:] - self.text.queries
        marked = tokens - topics * self.text.marks
        own = (marked >= NOISE) & (marked < NOISE + self.text.marks) & (tokens < self.text.queries)
        labels = targets - self.text.queries - self.text.topics
        return np.array(
            [
                self._nats(tuple(sorted(row[seen].tolist())), int(label))
                for row, seen, label in zip(marked, own, labels, strict=True)
            ]
        )

    def masked_losses(
        self, tokens: Int[ndarray, "B Lbar"], visible: Bool[ndarray, "B Lbar"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses of `target_losses`, computed window by window."""
        rows = zip(tokens, visible, targets, strict=True)
        return np.array([self.target_losses(t[None, v], np.flatnonzero(v)[None], y[None])[0] for t, v, y in rows])

    def attention(self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"]) -> Float[ndarray, "B T"]:
        """Raise `LengthwiseError`, since this model has no attention."""
        raise LengthwiseError(f"model {self.name} has no attention; leave out rule attention")

    def gradient_input(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, "B T"]:
        """Raise `LengthwiseError`, since this model has no gradients."""
        raise LengthwiseError(f"model {self.name} has no gradients; leave out rule gradient-input")

    def _count(self, seen: tuple[int, ...], label: int) -> float:
        """A word counts once for every way to pick the visible tokens from it."""
        wanted = Counter(seen)
        shares = [prod(comb(word[token], times) for token, times in wanted.items()) for word in self._words]
        agreeing = sum(share for share, own in zip(shares, self._labels, strict=True) if own == label)
        return -log(max(agreeing / max(1, sum(shares)), self.floor))
