"""A tree of all prefixes of a set of words, on which formulas are evaluated in bulk.

C-RASP looks back only, so the value of a formula at a position is a function of the prefix that ends there. One truth
value per node of the tree therefore determines the formula on all words of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Int, UInt64
from numpy import ndarray

from lengthwise.languages.automata.automaton import Word


class PrefixTree:
    """All words up to ``length`` and the words ``more``; nodes are their prefixes by length.

    Node 0 is the empty prefix: the position of BOS, or with ``bos`` false no position.
    """

    def __init__(self, symbols: int, length: int, more: Iterable[Word] = (), *, bos: bool) -> None:
        words: set[Word] = {()}
        level: list[Word] = [()]
        for _ in range(length):
            level = [(*word, symbol) for word in level for symbol in range(symbols)]
            words.update(level)
        for word in more:
            words.update(word[:end] for end in range(len(word) + 1))
        self.words = sorted(words, key=lambda word: (len(word), word))
        self.node = {word: node for node, word in enumerate(self.words)}
        self.bos = bos
        self.parent = np.array([0, *(self.node[word[:-1]] for word in self.words[1:])])
        self.symbol = np.array([-1, *(word[-1] for word in self.words[1:])])
        self.depth = np.array([len(word) for word in self.words])
        self.position = self.depth + bos
        self.levels = [np.flatnonzero(self.depth == depth) for depth in range(1, int(self.depth[-1]) + 1)]
        self.width = -(-len(self.words) // 64)
        self.real = np.ones(len(self.words), dtype=np.bool_)
        self.real[0] = bos
        # Linear forms have at most two counts with coefficients up to 2 and a constant up to 3.
        self.count_dtype = np.int8 if 4 * (int(self.depth[-1]) + 1) + 3 <= 127 else np.int32

    def __len__(self) -> int:
        return len(self.words)

    def pack(self, values: Bool[ndarray, "N nodes"]) -> UInt64[ndarray, "N W"]:
        """Truth values as bits; a node without a position has bit 0."""
        padded = np.zeros((len(values), self.width * 64), dtype=np.bool_)
        padded[:, : len(self)] = values & self.real
        return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)

    def unpack(self, rows: UInt64[ndarray, "N W"]) -> Bool[ndarray, "N nodes"]:
        """The inverse of `pack`."""
        bits = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=1, bitorder="little")
        return bits[:, : len(self)].view(np.bool_)

    def count(self, values: Bool[ndarray, "N nodes"]) -> Int[ndarray, "N nodes"]:
        """#[P] at every node: how often P holds at the prefixes up to it."""
        counts = values.astype(self.count_dtype)
        for level in self.levels:
            counts[:, level] += counts[:, self.parent[level]]
        return counts

    def before(self, values: Bool[ndarray, "N nodes"], distance: int) -> Bool[ndarray, "N nodes"]:
        """Whether P held at the position ``distance`` back."""
        back = np.arange(len(self))
        for _ in range(distance):
            back = self.parent[back]
        return values[:, back] & (self.depth >= distance) & self.real[back]
