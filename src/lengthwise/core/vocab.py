"""The vocabulary of a task: an ordered tuple of strings that starts with the four special tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lengthwise.core.errors import UnknownNameError

PAD, BOS, SEP, EOS = "<pad>", "<bos>", "<sep>", "<eos>"
SPECIALS = (PAD, BOS, SEP, EOS)
Symbols = tuple[str, ...]
"""A word, symbol by symbol."""


@dataclass(frozen=True)
class Vocab:
    """Token strings and their ids; ids 0 to 3 are ``<pad> <bos> <sep> <eos>`` in every vocabulary."""

    tokens: tuple[str, ...]

    @classmethod
    def of(cls, symbols: Iterable[str]) -> Vocab:
        """The special tokens followed by ``symbols``."""
        return cls(SPECIALS + tuple(symbols))

    def __post_init__(self) -> None:
        if self.tokens[: len(SPECIALS)] != SPECIALS or len(set(self.tokens)) != len(self.tokens):
            raise ValueError("a vocabulary starts with the special tokens and holds no token twice")

    @cached_property
    def ids(self) -> dict[str, int]:
        """A dictionary from token strings to ids."""
        return {token: index for index, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, token: str) -> int:
        try:
            return self.ids[token]
        except KeyError:
            raise UnknownNameError("token", token, self.tokens) from None

    def encode(self, tokens: Sequence[str]) -> np.ndarray:
        """Ids of token strings, shape ``[T]``; raises `UnknownNameError` for a foreign token."""
        ids = self.ids
        try:
            return np.array([ids[token] for token in tokens], dtype=np.int64)
        except KeyError as error:
            raise UnknownNameError("token", error.args[0], self.tokens) from None

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The token strings of a sequence of ids."""
        tokens = self.tokens
        return [tokens[index] for index in ids]
