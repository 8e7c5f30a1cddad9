"""Finds the smallest formula of ``enumeration.py`` that has given labels on a prefix tree.

The last connective is not enumerated: for labels T, P ∧ Q = T needs P ⊇ T and Q ⊇ T, and P ∨ Q = T needs P ⊆ T and
Q ⊆ T. Few formulas satisfy this, so trying pairs of them reaches larger sizes than trying all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64
from numpy import ndarray

from lengthwise.crasp.program.builder import ProgramBuilder
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.syntax.reading_order import in_reading_order
from lengthwise.crasp.synthesis.enumeration import Enumeration
from lengthwise.languages.automata.automaton import Word

_MOST_KEPT = 1_000_000
"""With at most this many candidates, the distinct formulas of a size are kept as parts of larger ones."""
MOST_CANDIDATES = 25_000_000
"""With more candidates than this (half a minute's work) a size is not enumerated, unless another bound is given."""


class _Formula(NamedTuple):
    origin: ndarray
    negated: bool


class _Part(NamedTuple):
    rows: UInt64[ndarray, "N W"]
    origins: ndarray
    negated: bool


class _Pool:
    """Formulas that may be one side of the last connective, by size; they are compared on the nodes ``care`` only."""

    def __init__(self, care: UInt64[ndarray, " W"]) -> None:
        self.care = care
        self._parts: dict[int, list[_Part]] = {}
        self._seen: set[bytes] = set()

    def add(self, size: int, rows: UInt64[ndarray, "N W"], origins: ndarray, negated: bool) -> None:
        """Keep the formulas whose values on the nodes ``care`` are new."""
        rows = rows & self.care
        new = Enumeration.distinct(rows, self._seen)
        if new:
            self._parts.setdefault(size, []).append(_Part(rows[new], origins[new], negated))

    def pair(self, left: int, right: int, fits: Callable[[ndarray, ndarray], ndarray]) -> list[_Formula] | None:
        """Two formulas of these sizes that fit together; ``fits`` compares one row with many."""
        many = self._parts.get(right, [])
        for one in self._parts.get(left, []):
            for index, row in enumerate(one.rows):
                for other in many:
                    matches = np.flatnonzero(fits(row, other.rows))
                    if len(matches):
                        first = _Formula(one.origins[index], one.negated)
                        return [first, _Formula(other.origins[matches[0]], other.negated)]
        return None

    def merge(self, size: int) -> None:
        """Join the parts of one size into two large ones, which are faster to compare."""
        parts = self._parts.get(size, [])
        merged = []
        for negated in (False, True):
            same = [part for part in parts if part.negated == negated]
            if same:
                rows = np.concatenate([part.rows for part in same])
                merged.append(_Part(rows, np.concatenate([part.origins for part in same]), negated))
        self._parts[size] = merged


class FormulaSearch:
    """Searches the smallest formula that has the given labels on the tree of ``enumeration``.

    Sizes with more than ``most`` candidates are not enumerated.
    """

    def __init__(self, enumeration: Enumeration, labels: Mapping[Word, bool], most: int = MOST_CANDIDATES) -> None:
        self._most = most
        self.enumeration, tree = enumeration, enumeration.tree
        values = np.zeros((2, len(tree)), dtype=np.bool_)
        for word, label in labels.items():
            values[int(label), tree.node[word]] = True
        self.reject, self.accept = tree.pack(values)
        self.searched = 0
        self.exhausted = 0
        self._negated: dict[int, _Formula] = {}
        self._above, self._below = _Pool(self.reject), _Pool(self.accept)

    def run(self, max_size: int) -> tuple[Program, int] | None:
        """The program and its size, or None if none up to ``max_size`` was found."""
        for size in range(1, max_size + 1):
            program = self._split(size) or self._enumerate(size)
            if program is not None:
                return program, size
        return None

    def _split(self, size: int) -> Program | None:
        """A program whose last operation is ∧, ∨ or ¬ of smaller formulas."""
        self._above.merge(size - 1)
        self._below.merge(size - 1)
        if size in self._negated:
            return self._write([self._negated[size]], conjunction=True)
        for left in range(1, (size - 1) // 2 + 1):
            right = size - 1 - left
            pair = self._above.pair(left, right, lambda one, many: (one & many == 0).all(axis=1))
            if pair is not None:
                return self._write(pair, conjunction=True)
            pair = self._below.pair(left, right, lambda one, many: ((one | many) == self.accept).all(axis=1))
            if pair is not None:
                return self._write(pair, conjunction=False)
        return None

    def _enumerate(self, size: int) -> Program | None:
        """Enumerate all formulas of this size, if their parts are known and there are not too many."""
        enumeration = self.enumeration
        looked_at = enumeration.estimate(size)
        if self.exhausted < size - 1 or size > len(enumeration.levels) + 1 or looked_at > self._most:
            return None
        if size == len(enumeration.levels) and looked_at <= _MOST_KEPT:
            level = enumeration.add_level()
            batches: Iterable[tuple[ndarray, ndarray]] = [(level.rows, level.origins)]
            self.searched += looked_at - len(level.rows)
        else:
            batches = enumeration.candidates(size)
        for rows, origins in batches:
            self.searched += len(rows)
            match = self._match(rows)
            if match is not None:
                return self._write([_Formula(origins[match], False)], conjunction=True)
            negations = enumeration.complement(rows)
            match = self._match(negations)
            if match is not None:
                self._negated.setdefault(size + 1, _Formula(origins[match], True))
            self._collect(size, rows, origins, negated=False)
            self._collect(size + 1, negations, origins, negated=True)
        self.exhausted = size
        return None

    def _match(self, rows: UInt64[ndarray, "N W"]) -> int | None:
        right = ((rows & (self.accept | self.reject)) == self.accept).all(axis=1)
        return int(right.argmax()) if right.any() else None

    def _collect(self, size: int, rows: ndarray, origins: ndarray, *, negated: bool) -> None:
        above = ((rows & self.accept) == self.accept).all(axis=1)
        self._above.add(size, rows[above], origins[above], negated)
        below = ~(rows & self.reject).any(axis=1)
        self._below.add(size, rows[below], origins[below], negated)

    def _write(self, formulas: list[_Formula], *, conjunction: bool) -> Program:
        enumeration = self.enumeration
        build = ProgramBuilder(enumeration.alphabet, bos=enumeration.tree.bos)
        parts: list[int] = []
        for formula in formulas:
            index = enumeration.write(build, formula.origin)
            parts.append(build.negation(index) if formula.negated else index)
        return in_reading_order(build.accept(build.all_of(parts) if conjunction else build.any_of(parts)))
