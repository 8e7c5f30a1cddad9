"""The exact probabilities of planted text as a language model: what a perfectly trained reader would say.

With it, what a selector finds or misses is the selector's own doing and not the model's.
"""

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
    """ln p(label | visible tokens), by counting the words of S* that hold the visible tokens of the asked topic.

    All words of S* and all places are equally likely, so nothing else in the text says anything. ``floor`` is the
    least probability that is given to any label, so that losses stay finite. It has no vectors and no attention:
    selectors that ask for these raise `LengthwiseError`.
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
        """−ln of each label's share among the words that agree with what is visible."""
        del positions
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
        """The same, window by window."""
        rows = zip(tokens, visible, targets, strict=True)
        return np.array([self.target_losses(t[None, v], np.flatnonzero(v)[None], y[None])[0] for t, v, y in rows])

    def attention(self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"]) -> Float[ndarray, "B T"]:
        """There is none."""
        raise LengthwiseError(f"model {self.name} has no attention; leave out selector attention")

    def gradient_input(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, "B T"]:
        """There is none."""
        raise LengthwiseError(f"model {self.name} has no vectors; leave out selector gradient-input")

    def _count(self, seen: tuple[int, ...], label: int) -> float:
        """Each word counts as often as the seen tokens can be chosen from its own."""
        wanted = Counter(seen)
        shares = [prod(comb(word[token], times) for token, times in wanted.items()) for word in self._words]
        agreeing = sum(share for share, own in zip(shares, self._labels, strict=True) if own == label)
        return -log(max(agreeing / max(1, sum(shares)), self.floor))
