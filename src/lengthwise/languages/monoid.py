"""Computes the transition monoid of an automaton up to a size, and properties such as aperiodicity from it.

The transition monoid of a minimal automaton is the syntactic monoid of its language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError
from lengthwise.languages.automaton import Dfa, numbered_graph, strongly_connected

MAX_ELEMENTS = 20_000


class MonoidTooLargeError(LengthwiseError):
    """The transition monoid has more elements than the given bound."""


@dataclass(frozen=True)
class TransitionSemigroup:
    """The maps on states that non-empty words induce, in order of their shortest words.

    ``maps[i]`` is a tuple (state -> state), and ``right[i][s]`` the number of the map followed by symbol s.
    """

    dfa: Dfa
    maps: tuple[tuple[int, ...], ...]
    right: tuple[tuple[int, ...], ...]

    @property
    def monoid_size(self) -> int:
        """Number of maps that words, the empty word included, induce."""
        return len(self.maps) + (tuple(range(self.dfa.size)) not in self.maps)

    @cached_property
    def array(self) -> npt.NDArray[np.int32]:
        """All maps as rows ``[elements, states]``."""
        return np.array(self.maps, dtype=np.int32)

    @cached_property
    def by_length(self) -> LengthSets:
        """The sets S_n of maps induced by words of length n."""
        return LengthSets.of(self)

    @cached_property
    def aperiodic(self) -> bool:
        """Whether every map t has tⁿ = tⁿ⁺¹ for some n; then the language is star-free."""
        power = self.array
        for _ in range(max(1, int(np.ceil(np.log2(self.dfa.size + 1))))):
            power = np.take_along_axis(power, power, axis=1)  # t, t², t⁴, … beyond the number of states
        return bool((np.take_along_axis(self.array, power, axis=1) == power).all())


@dataclass(frozen=True)
class LengthSets:
    """The sets S_n of maps induced by words of length n; the sequence is periodic from ``start`` on.

    ``sets[n - 1]`` is S_n, as a mask over the elements, for n < ``start + period``.
    """

    sets: tuple[npt.NDArray[np.bool_], ...]
    start: int
    period: int

    @classmethod
    def of(cls, semigroup: TransitionSemigroup) -> LengthSets:
        """Compute the sequence until it repeats."""
        right = np.array(semigroup.right, dtype=np.int64)
        current = np.zeros(len(right), dtype=bool)
        lookup = {mapping: number for number, mapping in enumerate(semigroup.maps)}
        for column in zip(*semigroup.dfa.delta, strict=True):
            current[lookup[column]] = True
        seen: dict[bytes, int] = {}
        sets: list[npt.NDArray[np.bool_]] = []
        while (key := current.tobytes()) not in seen:
            seen[key] = len(sets) + 1
            sets.append(current)
            following = np.zeros_like(current)
            following[right[current].ravel()] = True
            current = following
        return cls(tuple(sets), start=seen[key], period=len(sets) + 1 - seen[key])

    def at(self, length: int) -> npt.NDArray[np.bool_]:
        """S_length as a mask over the elements."""
        if length >= self.start:
            length = self.start + (length - self.start) % self.period
        return self.sets[length - 1]

    @property
    def stable_index(self) -> int:
        """The smallest s with S_s = S_{2s}: the first multiple of ``period`` that is at least ``start``."""
        return -(-self.start // self.period) * self.period

    def multiples(self, step: int) -> npt.NDArray[np.bool_]:
        """The union of S_step, S_{2 step}, …: all maps induced by words of a length divisible by ``step``."""
        union = np.zeros_like(self.sets[0])
        last = self.start + step + step * self.period // gcd(step, self.period)
        for length in range(step, last + 1, step):
            union |= self.at(length)
        return union


def transition_semigroup(dfa: Dfa, *, max_elements: int = MAX_ELEMENTS) -> TransitionSemigroup:
    """All maps induced by non-empty words; raises `MonoidTooLargeError` beyond ``max_elements``."""
    letters = list(zip(*dfa.delta, strict=True))

    def successors(mapping: tuple[int, ...]) -> list[tuple[int, ...]]:
        return letters if not mapping else [tuple([letter[state] for state in mapping]) for letter in letters]

    problem = f"the syntactic monoid has more than {max_elements} elements; raise max_elements or simplify"
    # The root stands for no symbol at all, and is no element.
    (_, *maps), rows = numbered_graph((), successors, max_elements + 1, MonoidTooLargeError(problem))
    return TransitionSemigroup(dfa, tuple(maps), tuple(tuple([target - 1 for target in row]) for row in rows[1:]))


def is_group(dfa: Dfa) -> bool:
    """Whether the syntactic monoid is a group: every symbol permutes the states (minimal automaton expected)."""
    return all(len(set(column)) == dfa.size for column in zip(*dfa.delta, strict=True))


def is_r_trivial(dfa: Dfa) -> bool:
    """Whether no two states reach each other (minimal automaton expected)."""
    return len(set(strongly_connected(dfa.delta))) == dfa.size
