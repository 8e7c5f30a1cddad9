"""Enumerates C-RASP formulas by size, one for each set of values on the words of a prefix tree.

Size = atoms + comparisons + connectives + countings. Countings #a of single symbols belong to the linear form that
reads them and cost nothing. The formulas are

* atoms: Q_a, BOS (if declared), ⊤, i ≡ r mod m for the given periods;
* comparisons c₁·C₁ + c₂·C₂ ~ k with ~ among ≤ and =, |c| <= 2, |k| <= 3, of counts of symbols, of which one may be
  replaced by a counting #[P] of any formula P;
* ∃[i - j = d] P for the given distances (one counting, one comparison);
* ¬P, P ∧ Q, P ∨ Q.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64
from numpy import ndarray

from lengthwise.crasp.program.builder import ProgramBuilder
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.syntax.reading_order import in_reading_order
from lengthwise.crasp.synthesis.prefix_tree import PrefixTree

_BATCH = 1 << 13


class _Kind(IntEnum):
    SYMBOL, BEGIN, TOP, PERIODIC, NOT, AND, OR, BEFORE, SYMBOL_FORM, COUNT_FORM = range(10)


_ORIGIN = np.dtype([("kind", "i1"), ("one", "i4"), ("other", "i4"), ("form", "i2")])
"""How a formula is built: its kind, the numbers of one or two formulas or symbols, and the linear form, if any."""


class LinearForm(NamedTuple):
    """first · C₁ + second · C₂ ~ constant, where ~ is = or ≤."""

    first: int
    second: int
    equal: bool
    constant: int


def _forms() -> list[LinearForm]:
    # A bound from below, C >= k, is -C <= -k. For = one of the two signs is enough.
    single = [LinearForm(1, 0, False, k) for k in range(4)] + [LinearForm(-1, 0, False, -k) for k in range(1, 4)]
    single += [LinearForm(1, 0, True, k) for k in range(4)]
    factors = [(a, b) for a in (1, -1, 2, -2) for b in (1, -1, 2, -2) if abs(a) + abs(b) < 4]
    double = [LinearForm(a, b, False, k) for a, b in factors for k in range(-3, 4)]
    double += [LinearForm(a, b, True, k) for a, b in factors if a > 0 for k in range(-3, 4)]
    return single + double


FORMS = _forms()


@dataclass(frozen=True)
class Level:
    """The distinct formulas of one size: their values on the tree, and how they are built."""

    rows: UInt64[ndarray, "N W"]
    origins: ndarray
    first: int
    """The number of the level's first formula among all formulas."""


class Enumeration:
    """Formulas over ``alphabet`` by size; formulas with equal values on ``tree`` count as one."""

    def __init__(
        self, alphabet: Sequence[str], tree: PrefixTree, periods: Sequence[int] = (), distances: Sequence[int] = ()
    ) -> None:
        self.alphabet, self.tree = tuple(alphabet), tree
        self.periods, self.distances = tuple(periods), tuple(distances)
        self.levels: list[Level] = [Level(np.zeros((0, tree.width), np.uint64), np.zeros(0, _ORIGIN), 0)]
        self.total = 0
        self._seen: set[bytes] = set()
        symbols = np.arange(len(self.alphabet))
        self._symbol_counts = tree.count(tree.symbol == symbols[:, None])
        self._real = tree.pack(tree.real[None])[0]

    def complement(self, rows: UInt64[ndarray, "N W"]) -> UInt64[ndarray, "N W"]:
        """The values of the negations."""
        return ~rows & self._real

    def estimate(self, size: int) -> int:
        """An upper bound on the number of candidates of this size."""
        if size == 1:
            return len(FORMS) * len(self.alphabet) ** 2
        counts = [len(level.rows) for level in self.levels]

        def of(size: int) -> int:
            return counts[size] if 0 < size < len(counts) else 0

        pairs = sum(of(left) * of(size - 1 - left) for left in range(1, size - 1))
        return of(size - 1) + pairs + of(size - 2) * (len(FORMS) * len(self.alphabet) + len(self.distances))

    def candidates(self, size: int) -> Iterator[tuple[UInt64[ndarray, "N W"], ndarray]]:
        """All formulas of that size over smaller distinct ones, in batches; many have the values of an earlier one."""
        if size == 1:
            yield self._atoms()
            yield from self._symbol_comparisons()
            return
        if size - 1 < len(self.levels):
            smaller = self.levels[size - 1]
            for part, start in _batches(smaller.rows):
                yield self.complement(part), _origins(len(part), _Kind.NOT, smaller.first + start)
        for left in range(1, (size - 1) // 2 + 1):
            yield from self._pairs(left, size - 1 - left)
        if 0 < size - 2 < len(self.levels):
            yield from self._countings(self.levels[size - 2])

    def add_level(self) -> Level:
        """Enumerate the next size: the `candidates` with new values."""
        size = len(self.levels)
        rows, origins = [self.levels[0].rows], [self.levels[0].origins]
        for part, made in self.candidates(size):
            new = self.distinct(part, self._seen)
            rows.append(part[new])
            origins.append(made[new])
        level = Level(np.concatenate(rows), np.concatenate(origins), self.total)
        self.levels.append(level)
        self.total += len(level.rows)
        return level

    @staticmethod
    def distinct(rows: UInt64[ndarray, "N W"], seen: set[bytes]) -> list[int]:
        """The indices of rows that are not in ``seen``, each value once; adds them to ``seen``."""
        data, width, new = rows.tobytes(), rows.shape[1] * 8, []
        for index in range(len(rows)):
            key = data[index * width : (index + 1) * width]
            if key not in seen:
                seen.add(key)
                new.append(index)
        return new

    def program(self, origin: ndarray) -> Program:
        """The program that accepts where the formula holds at the last position."""
        build = ProgramBuilder(self.alphabet, bos=self.tree.bos)
        return in_reading_order(build.accept(self.write(build, origin)))

    def write(self, build: ProgramBuilder, origin: ndarray) -> int:
        """Write a formula's operations and return the index of the last one."""
        kind, one, other = int(origin["kind"]), int(origin["one"]), int(origin["other"])
        match kind:
            case _Kind.SYMBOL:
                return build.symbol(self.alphabet[one])
            case _Kind.BEGIN:
                return build.bos()
            case _Kind.TOP:
                return build.top()
            case _Kind.PERIODIC:
                return build.periodic(one, other)
            case _Kind.NOT:
                return build.negation(self.write(build, self.origin(one)))
            case _Kind.AND:
                return build.all_of([self.write(build, self.origin(one)), self.write(build, self.origin(other))])
            case _Kind.OR:
                return build.any_of([self.write(build, self.origin(one)), self.write(build, self.origin(other))])
            case _Kind.BEFORE:
                return build.exists(self.write(build, self.origin(one)), [other])
            case _Kind.SYMBOL_FORM:
                counted = build.symbol(self.alphabet[one])
            case _:
                counted = self.write(build, self.origin(one))
        form = FORMS[int(origin["form"])]
        terms = [(form.first, build.count(counted))]
        if form.second:
            terms.append((form.second, build.count(build.symbol(self.alphabet[other]))))
        return _comparison(build, terms, form)

    def origin(self, number: int) -> ndarray:
        """How formula ``number`` is built."""
        for level in self.levels:
            if level.first <= number < level.first + len(level.rows):
                return level.origins[number - level.first]
        raise IndexError(number)

    def _atoms(self) -> tuple[UInt64[ndarray, "N W"], ndarray]:
        tree, values, made = self.tree, [], []
        for number in range(len(self.alphabet)):
            values.append(tree.symbol == number)
            made.append(_origins(1, _Kind.SYMBOL, number))
        if tree.bos:
            values.append(tree.depth == 0)
            made.append(_origins(1, _Kind.BEGIN, 0))
        values.append(np.ones(len(tree), dtype=np.bool_))
        made.append(_origins(1, _Kind.TOP, 0))
        for period in self.periods:
            for residue in range(period):
                values.append(tree.position % period == residue)
                made.append(_origins(1, _Kind.PERIODIC, residue, period))
        return tree.pack(np.stack(values)), np.concatenate(made)

    def _symbol_comparisons(self) -> Iterator[tuple[UInt64[ndarray, "N W"], ndarray]]:
        for number in range(len(self.alphabet)):
            counts = self._symbol_counts[number : number + 1]
            yield from self._comparisons(counts, _Kind.SYMBOL_FORM, number, range(number + 1, len(self.alphabet)))

    def _countings(self, level: Level) -> Iterator[tuple[UInt64[ndarray, "N W"], ndarray]]:
        for part, start in _batches(level.rows):
            values = self.tree.unpack(part)
            for distance in self.distances:
                before = self.tree.pack(self.tree.before(values, distance))
                yield before, _origins(len(part), _Kind.BEFORE, level.first + start, distance)
            counts = self.tree.count(values)
            yield from self._comparisons(counts, _Kind.COUNT_FORM, level.first + start, range(len(self.alphabet)))

    def _comparisons(
        self, counts: ndarray, kind: int, first: int, others: range
    ) -> Iterator[tuple[UInt64[ndarray, "N W"], ndarray]]:
        """Every linear form of counts (numbered from ``first`` on), alone and with every other symbol count."""
        for number, form in enumerate(FORMS):
            for other in others if form.second else (0,):
                values = form.first * counts
                if form.second:
                    values += form.second * self._symbol_counts[other]
                held = values == form.constant if form.equal else values <= form.constant
                yield (
                    self.tree.pack(held),
                    _origins(len(counts), kind, first, other, number, step=kind == _Kind.COUNT_FORM),
                )

    def _pairs(self, left: int, right: int) -> Iterator[tuple[UInt64[ndarray, "N W"], ndarray]]:
        if left >= len(self.levels) or right >= len(self.levels):
            return
        one, other = self.levels[left], self.levels[right]
        for index, row in enumerate(one.rows):
            start = index + 1 if left == right else 0
            for part, offset in _batches(other.rows[start:]):
                for kind, values in ((_Kind.AND, row & part), (_Kind.OR, row | part)):
                    made = _origins(len(part), kind, other.first + start + offset)
                    made["other"] = one.first + index
                    yield values, made


def _comparison(build: ProgramBuilder, terms: list[tuple[int, int]], form: LinearForm) -> int:
    """The comparison without negative coefficients."""
    left = [(factor, index) for factor, index in terms if factor > 0]
    right = [(-factor, index) for factor, index in terms if factor < 0]
    constant = form.constant
    if not left:  # -C <= -k is C >= k
        return build.compare(build.linear(right), "=" if form.equal else ">=", build.constant(-constant))
    low, high = (0, constant) if constant >= 0 or not right else (-constant, 0)
    relation = "=" if form.equal else "<="
    return build.compare(build.linear(left, low), relation, build.linear(right, high))


def _origins(count: int, kind: int, one: int, other: int = 0, form: int = 0, *, step: bool = True) -> ndarray:
    made = np.zeros(count, dtype=_ORIGIN)
    made["kind"], made["other"], made["form"] = kind, other, form
    made["one"] = one + np.arange(count) if step else one
    return made


def _batches(rows: ndarray) -> Iterator[tuple[ndarray, int]]:
    for start in range(0, len(rows), _BATCH):
        yield rows[start : start + _BATCH], start
