"""Sparse functional attention heads attend to k-tuples of positions (after Golowich et al. 2025, Definition 3.3).

    h(X) = Σ_S w(X_S, S) g(X_S, S) / Σ_S w(X_S, S),     S over increasing k-tuples of positions, w ≥ 0.

A local head's weight is zero beyond a span λ and sees positions only as offsets inside the tuple. Over a finite
alphabet such a head is a table over *tuple types* (offsets, tokens), and h(X) depends on X only through how often each
type occurs: `TupleTypes.counts`. Counting visits the C(λ, k-1) offset patterns, not the C(ℓ, k) tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.sparsity.planted.placements import Offsets, offset_patterns


@dataclass(frozen=True)
class Output:
    """Numerator and denominator of h for B strings and Y labels."""

    numerator: Float[ndarray, "B Y"]
    denominator: Float[ndarray, " B"]

    @property
    def defined(self) -> ndarray:
        """Where the denominator is positive, ``[B]``."""
        return self.denominator > 0

    @property
    def probabilities(self) -> Float[ndarray, "B Y"]:
        """h(X); NaN where 0/0."""
        safe = np.where(self.defined, self.denominator, np.nan)
        return self.numerator / safe[:, None]

    def error(self, labels: Int[ndarray, " B"]) -> Float[ndarray, " B"]:
        """1 - h(X)[label], the probability not given to the label; 0/0 counts as 1."""
        right = np.take_along_axis(self.numerator, labels[:, None], axis=1)[:, 0]
        return np.where(self.defined, 1 - right / np.where(self.defined, self.denominator, 1.0), 1.0)

    def wrong(self, labels: Int[ndarray, " B"]) -> ndarray:
        """Whether the label is not the only largest entry, ``[B]``; a tie or 0/0 is wrong."""
        right = np.take_along_axis(self.numerator, labels[:, None], axis=1)[:, 0]
        others = self.numerator.copy()
        np.put_along_axis(others, labels[:, None], -np.inf, axis=1)
        return ~self.defined | (others.max(axis=1) >= right)


@dataclass(frozen=True)
class TupleTypes:
    """The types (offset pattern, k tokens), numbered 0..N-1: pattern by pattern, the last token varying fastest."""

    alphabet: int
    patterns: tuple[Offsets, ...]

    @classmethod
    def local(cls, k: int, span: int, alphabet: int) -> TupleTypes:
        """All types of span at most ``span``."""
        require(span >= k - 1, f"k = {k} tokens need a span of {k - 1} or more, got {span}; raise the span")
        return cls(alphabet, offset_patterns(k, span))

    @property
    def k(self) -> int:
        """The number of tokens of a tuple."""
        return len(self.patterns[0])

    @property
    def words(self) -> int:
        """|V|^k, the number of types of one pattern."""
        return self.alphabet**self.k

    @property
    def size(self) -> int:
        """N, the number of types."""
        return len(self.patterns) * self.words

    @cached_property
    def tokens(self) -> Int[ndarray, "N k"]:
        """The tokens of every type."""
        codes = np.arange(self.words)
        digits = codes[:, None] // self.alphabet ** np.arange(self.k)[::-1] % self.alphabet
        return np.tile(digits, (len(self.patterns), 1))

    def index(self, pattern: Offsets, tokens: tuple[int, ...]) -> int:
        """The number of one type."""
        code = 0
        for token in tokens:
            code = code * self.alphabet + token
        return self.patterns.index(pattern) * self.words + code

    def describe(self, index: int) -> str:
        """One type as text, ``2_3`` for the tokens 2 and 3 with one other token between them."""
        pattern, tokens = self.patterns[index // self.words], self.tokens[index]
        row = ["_"] * (pattern[-1] + 1)
        for offset, token in zip(pattern, tokens, strict=True):
            row[offset] = str(token)
        return "".join(row) if self.alphabet <= 10 else " ".join(row)

    def counts(self, tokens: Int[ndarray, "B T"]) -> Int[ndarray, "B N"]:
        """How often each type occurs in each string."""
        size, length = tokens.shape
        result = np.zeros((size, len(self.patterns), self.words), dtype=np.int64)
        rows = (np.arange(size) * self.words)[:, None]
        for p, pattern in enumerate(self.patterns):
            width = length - pattern[-1]
            if width <= 0:
                continue
            code = tokens[:, :width]
            for offset in pattern[1:]:
                code = code * self.alphabet + tokens[:, offset : offset + width]
            result[:, p] = np.bincount((code + rows).ravel(), minlength=size * self.words).reshape(size, self.words)
        return result.reshape(size, self.size)


@dataclass(frozen=True)
class LocalHead:
    """A head as a table: ``weights`` and ``votes`` (points g of the label simplex) of every tuple type.

    λ is the largest span among its patterns. Raises `LengthwiseError` for negative weights or tables of the wrong size.
    """

    types: TupleTypes
    weights: Float[ndarray, " N"]
    votes: Float[ndarray, "N Y"]

    def __post_init__(self) -> None:
        shape = (self.weights.shape, self.votes.shape[0])
        require(shape == ((self.types.size,), self.types.size), f"tables need {self.types.size} rows, got {shape}")
        require(bool((self.weights >= 0).all()), "attention weights must be at least 0; check the table")

    def __call__(self, tokens: Int[ndarray, "B T"]) -> Output:
        """Evaluate B strings; memory is B·T plus B·N."""
        return self.from_counts(self.types.counts(tokens))

    def from_counts(self, counts: ndarray) -> Output:
        """Evaluate strings given by their type counts ``[B, N]``."""
        return Output(counts @ (self.weights[:, None] * self.votes), counts @ self.weights)


@dataclass(frozen=True)
class NonLocalHead:
    """A head over *all* k-tuples, near or far, whose weight and vote depend on the tokens only: tables of |V|^k rows.

    The C(ℓ, k) tuples are counted as subsequences in O(ℓ·|V|^k); float64 counts are exact below 2^53.
    """

    k: int
    alphabet: int
    weights: Float[ndarray, " C"]
    votes: Float[ndarray, "C Y"]

    def __call__(self, tokens: Int[ndarray, "B T"]) -> Output:
        counts = subsequence_counts(tokens, self.k, self.alphabet)
        return Output(counts @ (self.weights[:, None] * self.votes), counts @ self.weights)


def subsequence_counts(tokens: Int[ndarray, "B T"], k: int, alphabet: int) -> Float[ndarray, "B C"]:
    """How often each of the C = |V|^k words occurs in each string as a subsequence, the last token varying fastest."""
    is_token = (tokens[..., None] == np.arange(alphabet)).astype(np.float64)
    ending = is_token
    for _ in range(k - 1):
        before = np.cumsum(ending, axis=1) - ending
        ending = (before[..., :, None] * is_token[..., None, :]).reshape(*tokens.shape, -1)
    return ending.sum(axis=1)


def attention_reference(
    tokens: Int[ndarray, " T"],
    k: int,
    weight: Callable[[tuple[int, ...], tuple[int, ...]], float],
    vote: Callable[[tuple[int, ...], tuple[int, ...]], ndarray],
) -> Output:
    """The definition evaluated for one string, over every k-subset of positions; the oracle of the fast heads.

    ``weight`` and ``vote`` take the tokens and the absolute positions of a tuple.
    """
    numerator: ndarray | float = 0.0
    denominator = 0.0
    for positions in combinations(range(len(tokens)), k):
        word = tuple(int(tokens[i]) for i in positions)
        w = weight(word, positions)
        numerator, denominator = numerator + w * vote(word, positions), denominator + w
    require(isinstance(numerator, ndarray), f"no {k}-tuple fits into length {len(tokens)}; use a longer string")
    return Output(np.asarray(numerator)[None], np.array([denominator]))
