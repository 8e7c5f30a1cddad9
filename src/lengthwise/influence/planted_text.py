"""Text whose influential tokens are known by construction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from pydantic import Field

from lengthwise.core.config import AtLeast1, config
from lengthwise.core.rng import Rng
from lengthwise.sparsity.planted import MajorityLabel, ParityLabel, Planted, SumMod, Uniform, WordDistribution

NOISE = 4
"""Number of noise symbols in the alphabet."""


@dataclass(frozen=True)
class PlantedWindows:
    """Context and target ``tokens``, the positions S* in ``relevant``, and the queried and the decoy topic."""

    tokens: Int[ndarray, "N W"]
    relevant: Int[ndarray, "N k"]
    topics: Int[ndarray, "N 2"]


@config
class PlantedText:
    """A block of noise that holds S* and a decoy, ``recent`` − 1 tokens of noise, the query, and g*(X_{S*}).

    ``label`` is g*. ``sum``: token i of S* adds v·2^i for its bit v, so each visible token lowers the loss by ln 2
    nats. ``majority`` and ``parity`` are those of k bits. Raises `ValueError` if the block can't hold 2k tokens.
    """

    label: Literal["sum", "majority", "parity"] = "sum"
    k: AtLeast1 = 3
    topics: Annotated[int, Field(ge=3)] = 4
    context: int = 32
    recent: int = 8

    def __post_init__(self) -> None:
        if not 1 <= self.recent <= self.context - 2 * self.k:
            raise ValueError(
                f"recent must leave a block of 2k = {2 * self.k} tokens or more, got {self.recent} of {self.context}"
            )

    @property
    def block(self) -> int:
        """Number of tokens before the recent ones."""
        return self.context - self.recent

    @cached_property
    def planted(self) -> Planted:
        """The distribution of one topic: noise symbols, then marked tokens."""
        bits = 2 * (self.k if self.label == "sum" else 1)
        digits = range(bits // 2)
        # Marked token 2i + v is bit v of digit i.
        values = [v << i for i in digits for v in range(2)]
        if self.label == "sum":
            orders = permutations(digits)
            words = [tuple(NOISE + 2 * i + v for i, v in zip(order, word, strict=True))
                     for order in orders for word in product(range(2), repeat=self.k)]  # fmt: skip
            listed, symbols, label = tuple(words), (), SumMod(modulus=2**self.k)
        else:
            listed, symbols = (), (NOISE, NOISE + 1)
            label = MajorityLabel() if self.label == "majority" else ParityLabel()
        return Planted(
            placement=Uniform(self.k),
            words=WordDistribution(symbols=symbols, listed=listed),
            background=(1 / NOISE,) * NOISE + (0.0,) * bits,
            values=(0,) * NOISE + tuple(values),
            label=label,
        )

    @property
    def marks(self) -> int:
        """Number of marked tokens of one topic."""
        return self.planted.alphabet - NOISE

    @property
    def queries(self) -> int:
        """The first query token; the order is noise, marked tokens, queries, labels."""
        return NOISE + self.topics * self.marks

    @property
    def vocab_size(self) -> int:
        """Number of noise symbols, marked tokens, queries and labels."""
        return self.queries + self.topics + self.planted.classes

    def sample(self, size: int, rng: Rng) -> PlantedWindows:
        """Draw ``size`` independent windows."""
        planted, marks = self.planted, self.marks
        queried, decoy = (planted.sample(size, self.block, rng) for _ in range(2))
        first = rng.integers(self.topics, size=size)
        second = (first + rng.integers(1, self.topics, size=size)) % self.topics
        block = np.where(queried.tokens >= NOISE, queried.tokens + (first * marks)[:, None], queried.tokens)
        # The decoy's tokens keep their order and take random positions outside S*.
        keys = rng.random(block.shape)
        np.put_along_axis(keys, queried.relevant, np.inf, axis=1)
        free = np.sort(np.argsort(keys, axis=1)[:, : self.k], axis=1)
        words = np.take_along_axis(decoy.tokens, decoy.relevant, axis=1) + (second * marks)[:, None]
        np.put_along_axis(block, free, words, axis=1)
        noise = rng.integers(NOISE, size=(size, self.recent - 1))
        answers = queried.labels + self.queries + self.topics
        tokens = np.concatenate([block, noise, (self.queries + first)[:, None], answers[:, None]], axis=1)
        return PlantedWindows(tokens, queried.relevant, np.stack([first, second], axis=1))


def strangers(topics: Int[ndarray, "N 2"], rng: Rng) -> Int[ndarray, " N"]:
    """For each of N windows, the index of a random window without tokens of its queried topic."""
    return np.array([rng.choice(np.flatnonzero((topics != queried).all(axis=1))) for queried in topics[:, 0]])
