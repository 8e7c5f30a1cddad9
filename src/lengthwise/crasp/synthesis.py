"""The smallest program that agrees with labelled examples."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, UInt64
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_text
from lengthwise.core.rng import stream
from lengthwise.core.vocab import Symbols
from lengthwise.crasp.interpreter import run
from lengthwise.crasp.program import Program, ProgramBuilder
from lengthwise.crasp.syntax import in_reading_order
from lengthwise.languages.automaton import Word

LABELS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def read_examples(path: Path) -> list[tuple[Symbols, Symbols | bool]]:
    """Read lines ``{"prompt": "a a b" or ["a", …], "answer": true, "b b a" or [...]}``.

    Raises `LengthwiseError` that names the first malformed line.
    """
    examples = []
    for number, line in enumerate(read_text(path, what="examples file").split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
                answer = value["answer"]
                examples.append((_word(value["prompt"]), answer if isinstance(answer, bool) else _word(answer)))
            except (ValueError, KeyError, TypeError, RecursionError):
                shape = '{"prompt": "a a b", "answer": true}'
                raise LengthwiseError(f"{path}, line {number}: not an example; write {shape}") from None
    require(bool(examples), f"{path} holds no examples")
    return examples


def _word(value: object) -> Symbols:
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list) and all(isinstance(symbol, str) for symbol in value):
        return tuple(value)
    raise TypeError


def labelled(examples: Sequence[tuple[Symbols, Symbols | bool]]) -> dict[Sequence[str], bool] | None:
    """The labels of the prompts; None if some answer is neither yes nor no.

    Raises `LengthwiseError` for a prompt with two answers.
    """
    labels: dict[Sequence[str], bool] = {}
    for prompt, answer in examples:
        if not isinstance(answer, bool):
            if len(answer) != 1 or answer[0].lower() not in LABELS:
                return None
            answer = LABELS[answer[0].lower()]
        if labels.setdefault(prompt, answer) != answer:
            raise LengthwiseError(f"the prompt {' '.join(prompt)!r} has two answers; keep one")
    return labels


class PrefixTree:
    """All words up to ``length`` and the words ``more``; nodes are their prefixes by length, first that of BOS."""

    def __init__(self, symbols: int, length: int, more: Iterable[Word] = ()) -> None:
        words: set[Word] = {()}
        level: list[Word] = [()]
        for _ in range(length):
            level = [(*word, symbol) for word in level for symbol in range(symbols)]
            words.update(level)
        for word in more:
            words.update(word[:end] for end in range(len(word) + 1))
        self.words = sorted(words, key=lambda word: (len(word), word))
        self.node = {word: node for node, word in enumerate(self.words)}
        self.parent = np.array([0, *(self.node[word[:-1]] for word in self.words[1:])])
        self.symbol = np.array([-1, *(word[-1] for word in self.words[1:])])
        self.depth = np.array([len(word) for word in self.words])
        self.levels = [np.flatnonzero(self.depth == depth) for depth in range(1, int(self.depth[-1]) + 1)]
        self.width = -(-len(self.words) // 64)
        # Linear forms have at most two counts with coefficients up to 2 and a constant up to 3.
        self.count_dtype = np.int8 if 4 * (int(self.depth[-1]) + 1) + 3 <= 127 else np.int32

    def __len__(self) -> int:
        return len(self.words)

    def pack(self, values: Bool[ndarray, "N nodes"]) -> UInt64[ndarray, "N W"]:
        """Truth values as bits."""
        padded = np.zeros((len(values), self.width * 64), dtype=np.bool_)
        padded[:, : len(self)] = values
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
        return values[:, back] & (self.depth >= distance)


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
        self._nodes = tree.pack(np.ones((1, len(tree)), dtype=np.bool_))[0]

    def complement(self, rows: UInt64[ndarray, "N W"]) -> UInt64[ndarray, "N W"]:
        """The values of the negations."""
        return ~rows & self._nodes

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
            for number in range(len(self.alphabet)):
                counts = self._symbol_counts[number : number + 1]
                yield from self._comparisons(counts, _Kind.SYMBOL_FORM, number, range(number + 1, len(self.alphabet)))
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
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * 8))).ravel().tolist()
        new = []
        for index, key in enumerate(keys):
            if key not in seen:
                seen.add(key)
                new.append(index)
        return new

    def program(self, origin: ndarray) -> Program:
        """The program that accepts where the formula holds at the last position."""
        build = ProgramBuilder(self.alphabet, bos=True)
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
            case _Kind.AND | _Kind.OR:
                parts = [self.write(build, self.origin(number)) for number in (one, other)]
                return build.all_of(parts) if kind == _Kind.AND else build.any_of(parts)
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
        tree = self.tree
        atoms = [(tree.symbol == number, _Kind.SYMBOL, number, 0) for number in range(len(self.alphabet))]
        atoms.append((tree.depth == 0, _Kind.BEGIN, 0, 0))
        atoms.append((np.ones(len(tree), dtype=np.bool_), _Kind.TOP, 0, 0))
        for period in self.periods:
            for residue in range(period):
                atoms.append(((tree.depth + 1) % period == residue, _Kind.PERIODIC, residue, period))
        made = [_origins(1, kind, one, other) for _, kind, one, other in atoms]
        return tree.pack(np.stack([values for values, *_ in atoms])), np.concatenate(made)

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
        self._parts[size] = []
        for negated in (False, True):
            if same := [part for part in parts if part.negated == negated]:
                rows, origins = (np.concatenate([part[column] for part in same]) for column in (0, 1))
                self._parts[size].append(_Part(rows, origins, negated))


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
            if pair := self._above.pair(left, right, lambda one, many: (one & many == 0).all(axis=1)):
                return self._write(pair, conjunction=True)
            if pair := self._below.pair(left, right, lambda one, many: ((one | many) == self.accept).all(axis=1)):
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
        build = ProgramBuilder(enumeration.alphabet, bos=True)
        parts: list[int] = []
        for formula in formulas:
            index = enumeration.write(build, formula.origin)
            parts.append(build.negation(index) if formula.negated else index)
        return in_reading_order(build.accept(build.all_of(parts) if conjunction else build.any_of(parts)))


_MOST_SHORT = 20_000
_LONG = 600


def first_wrong_word(
    program: Program, ask: Callable[[Word], bool], symbols: int, given: Sequence[Word] = ()
) -> tuple[Word | None, int]:
    """A shortest tested word on which program and target differ (or None), and the number of tested words.

    ``given`` words are tested too, and long words are derived from them.
    """
    checked = 0
    members: list[Word] = []

    def batches() -> Iterator[list[Word]]:
        yield from _all_words(symbols)
        by_length: dict[int, list[Word]] = {}
        for word in [*given, *_long_words(symbols, [*members, *given])]:
            by_length.setdefault(len(word), []).append(word)
        yield from (words for _, words in sorted(by_length.items()))

    for words in batches():
        accepted = run(program, np.array(words, dtype=np.int64).reshape(len(words), -1))
        checked += len(words)
        for word, got in zip(words, accepted, strict=True):
            wanted = ask(word)
            if wanted:
                members.append(word)
            if wanted != got:
                return word, checked
    return None, checked


def _all_words(symbols: int) -> Iterator[list[Word]]:
    """All words, length by length, up to `_MOST_SHORT` in total."""
    total, length = 0, 0
    while length <= 40 and (total + symbols**length <= _MOST_SHORT or length <= 1):
        yield list(itertools.product(range(symbols), repeat=length))
        total += symbols**length
        length += 1


def _long_words(symbols: int, members: list[Word]) -> Iterator[Word]:
    """Random words, and members that are repeated, joined, and changed at one position."""
    rng = stream(0, "synthesis", "long words")
    pool = [word for word in members if word][-200:]
    for _ in range(_LONG):
        if pool and rng.random() < 0.7:
            one, other = (pool[int(rng.integers(len(pool)))] for _ in range(2))
            times = 1 + int(rng.integers(max(1, 40 // len(one))))
            word = list(one * times + other) if rng.random() < 0.5 else [s for s in one for _ in range(times)]
            if rng.random() < 0.4:
                word[int(rng.integers(len(word)))] = int(rng.integers(symbols))
            yield tuple(word)
        else:
            yield tuple(rng.integers(symbols, size=int(rng.integers(10, 60))).tolist())


MembershipOracle = Callable[[tuple[str, ...]], bool]
"""Whether a word (a tuple of symbols) is in the language."""

LARGEST = 10_000
"""Of a period or a distance."""
_MOST_NODES = 400
"""Nodes of the tree of short words; enough to tell languages apart, and the search is linear in it."""


@dataclass(frozen=True)
class Synthesis:
    """The program found (or None) and the extent of the search.

    ``smallest`` says that all smaller programs of the search space were ruled out. ``searched`` counts the candidates
    of all rounds; ``exhausted_size`` is the largest size whose programs were all tried. ``counterexamples`` refuted
    earlier programs; ``checked`` is the number of words on which the program was tested in the end.
    """

    program: Program | None
    size: int | None
    smallest: bool
    searched: int
    exhausted_size: int
    counterexamples: tuple[tuple[str, ...], ...]
    checked: int


def synthesize(
    target: MembershipOracle | Mapping[Sequence[str], bool],
    alphabet: Sequence[str],
    *,
    max_size: int = 7,
    periods: Sequence[int] = (),
    distances: Sequence[int] = (),
    members: Sequence[Word] = (),
    most: int = MOST_CANDIDATES,
) -> Synthesis:
    """Find the smallest program for ``target``: labelled words, or a function from words to labels.

    ``periods`` adds the atoms i ≡ r mod m, ``distances`` the local quantifier ∃[i - j = d]; without them the program is
    in C-RASP[∅]. Sizes with more than ``most`` candidates are not searched.
    Raises `LengthwiseError` for symbols outside the alphabet and for contradictory or missing examples.
    """
    require(max_size >= 1, f"max_size has to be at least 1, got {max_size}")
    require(len(alphabet) > 0, "synthesis needs an alphabet of at least one symbol")
    for name, given in (("period", periods), ("distance", distances)):
        for number in given:
            require(1 <= number <= LARGEST, f"a {name} has to be at least 1 and at most {LARGEST}, got {number}")
    examples = None if callable(target) else _examples(target, alphabet)
    known: dict[Word, bool] = dict(examples or {})
    counterexamples: list[Word] = []
    searched, checked = 0, len(known)

    def ask(word: Word) -> bool:
        assert callable(target)
        return bool(target(tuple(alphabet[symbol] for symbol in word)))

    while True:
        tree = PrefixTree(len(alphabet), _tree_length(len(alphabet)), [*known, *counterexamples])
        labels = known if examples is not None else {word: ask(word) for word in tree.words}
        search = FormulaSearch(Enumeration(alphabet, tree, periods, distances), labels, most)
        found = search.run(max_size)
        searched += search.searched
        wrong: Word | None = None
        if found is not None and examples is None:
            wrong, checked = first_wrong_word(found[0], ask, len(alphabet), members)
        if wrong is None:
            program, size = found or (None, None)
            return Synthesis(
                program=program,
                size=size,
                smallest=size is not None and search.exhausted >= size - 1,
                searched=searched,
                exhausted_size=search.exhausted,
                counterexamples=tuple(tuple(alphabet[symbol] for symbol in word) for word in counterexamples),
                checked=checked,
            )
        counterexamples.append(wrong)


def _tree_length(symbols: int) -> int:
    """The largest length such that all words up to it are at most `_MOST_NODES`."""
    length, nodes = 0, 1
    while length < 40 and nodes + symbols ** (length + 1) <= _MOST_NODES:
        length += 1
        nodes += symbols**length
    return max(1, length)


def _examples(target: Mapping[Sequence[str], bool], alphabet: Sequence[str]) -> dict[Word, bool]:
    require(len(target) > 0, "synthesis needs at least one example")
    ids = {symbol: number for number, symbol in enumerate(alphabet)}
    examples: dict[Word, bool] = {}
    for word, label in target.items():
        for symbol in word:
            require(symbol in ids, f"the example {' '.join(word)!r} has {symbol!r}, which is not in the alphabet")
        coded = tuple(ids[symbol] for symbol in word)
        require(examples.get(coded, label) == label, f"the example {' '.join(word)!r} has two labels")
        examples[coded] = bool(label)
    return examples
