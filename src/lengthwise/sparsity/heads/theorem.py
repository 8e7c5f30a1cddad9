"""The setting of Theorem A: exact at one length L ≥ 2(λ + 1) implies exact at every longer length.

The theorem and its proof are the project's own (``docs/sparsity.md``); tests/sparsity/theorem_check.py tests it on
random heads, by brute force over *all* admissible strings of a length.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.sparsity.heads.attention import TupleTypes
from lengthwise.sparsity.planted.placements import Offsets
from lengthwise.sparsity.planted.planted_correlations import Planted


@dataclass(frozen=True)
class Setting:
    """The strings of Theorem A: one planted word at an allowed position, background tokens from B elsewhere.

    ``words`` is the support of Q_voc and ``labels`` holds g* of each; ``patterns`` is O, the allowed offsets; ``span``
    is λ, the largest span at which the heads' weights may be positive.
    """

    alphabet: int
    background: tuple[int, ...]
    words: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]
    patterns: tuple[Offsets, ...]
    span: int

    @classmethod
    def of(cls, planted: Planted, span: int) -> Setting:
        """The setting of a planted distribution whose placement has the same patterns at all long enough lengths."""
        words = planted.words.support(planted.k)
        return cls(
            alphabet=planted.alphabet,
            background=tuple(int(t) for t in planted.background_support),
            words=tuple(tuple(int(t) for t in word) for word in words),
            labels=tuple(int(y) for y in planted.label_of(words)),
            patterns=planted.placement.patterns(2 * (span + 1)),
            span=span,
        )

    @property
    def k(self) -> int:
        """Sparsity."""
        return len(self.words[0])

    @property
    def classes(self) -> int:
        """Number of labels."""
        return max(self.labels) + 1

    @property
    def sufficient_length(self) -> int:
        """2(λ + 1), the length from which Theorem A holds."""
        return 2 * (self.span + 1)

    @property
    def types(self) -> TupleTypes:
        """The tuple types of the heads."""
        return TupleTypes.local(self.k, self.span, self.alphabet)


@dataclass(frozen=True)
class Strings:
    """Distinct pairs of a string and its label."""

    tokens: Int[ndarray, "M T"]
    labels: Int[ndarray, " M"]


def admissible(setting: Setting, length: int) -> Strings:
    """A_ℓ: every pair (X, y) of a planted word at an allowed position with background tokens everywhere else.

    There are at most |O|·ℓ·|words|·|B|^(ℓ-k) of them; raises `LengthwiseError` beyond two million.
    """
    free = length - setting.k
    number = len(setting.patterns) * length * len(setting.words) * len(setting.background) ** max(free, 0)
    require(number <= 2_000_000, f"{number} strings of length {length} are too many; shorten it or shrink the alphabet")
    filling = np.array(list(product(setting.background, repeat=max(free, 0))), dtype=np.int64)
    filling = filling.reshape(len(setting.background) ** max(free, 0), max(free, 0))
    rows, labels = [], []
    for pattern in setting.patterns:
        for start in range(length - pattern[-1]):
            planted = [start + offset for offset in pattern]
            others = [i for i in range(length) if i not in planted]
            for word, label in zip(setting.words, setting.labels, strict=True):
                block = np.empty((len(filling), length), dtype=np.int64)
                block[:, others], block[:, planted] = filling, word
                rows.append(block)
                labels.append(np.full(len(block), label))
    require(bool(rows), f"no allowed pattern fits into length {length}; use a longer string")
    both = np.unique(np.column_stack([np.concatenate(rows), np.concatenate(labels)]), axis=0)
    return Strings(both[:, :length], both[:, length])
