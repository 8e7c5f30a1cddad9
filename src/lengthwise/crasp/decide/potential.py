"""Balanced potentials of a labelled graph, and the refinement of its nodes by them, in exact integer arithmetic.

A balanced potential on a strongly connected labelled graph assigns numbers V(node) and E(label) such that
V(target) = V(source) + E(label) on every edge: a weighted count of labels that returns to zero on every cycle. Two
nodes with equal values in every potential are merged. Splitting labels by the class of their source and repeating
gives the final classes (criterion after Yang et al., arXiv 2608.13433, appendix J; stated in docs/verdicts.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream

Edge = tuple[int, int, int]  # (source, label, target)
Equation = dict[int, int]  # Σ coefficient · V(node) = 0


class TooMuchWorkError(LengthwiseError):
    """The equations of an automaton took more work than the given bound."""


@dataclass
class Work:
    """Counts the coefficients that eliminations touch, up to a bound."""

    limit: int
    done: int = 0

    def add(self, amount: int) -> None:
        """Raises `TooMuchWorkError` beyond the bound."""
        self.done += amount
        if self.done > self.limit:
            raise TooMuchWorkError(f"the equations take more than {self.limit:,} operations; not decided within them")


UNBOUNDED = Work(2**62)
"""For certificates of what has been decided within a bound."""


@dataclass(frozen=True)
class Potential:
    """``values`` is V per node; ``steps`` is E per (label, class of its source)."""

    values: tuple[int, ...]
    steps: dict[tuple[int, int], int]


@dataclass(frozen=True)
class Refinement:
    """The chain of partitions of a component: ``partitions[0]`` is the initial one, the last is the fixpoint."""

    edges: tuple[Edge, ...]
    partitions: tuple[tuple[int, ...], ...]

    @property
    def classes(self) -> tuple[int, ...]:
        """Class of every node in the final partition."""
        return self.partitions[-1]

    def merged_pairs(self) -> list[tuple[int, int]]:
        """Pairs of nodes that share a final class: the first node of the class with each other one."""
        first: dict[int, int] = {}
        numbered_classes = enumerate(self.classes)
        return [(known, node) for node, name in numbered_classes if (known := first.setdefault(name, node)) != node]

    def potentials(self) -> tuple[Potential, ...]:
        """One integer potential per round that splits ``partitions[t]`` into ``partitions[t + 1]``."""
        found: list[Potential] = []
        for before in self.partitions[:-1]:
            values = LinearSystem(len(before), rows_of(self.edges, before)).potential(before)
            steps = {(label, before[source]): values[target] - values[source] for source, label, target in self.edges}
            found.append(Potential(tuple(values), steps))
        return tuple(found)

    @property
    def rounds(self) -> int:
        """Number of refinements that increased the number of classes."""
        return len(self.partitions) - 1


def refine(
    count: int, edges: Sequence[Edge], initial: Sequence[int] | None = None, work: Work = UNBOUNDED
) -> Refinement:
    """Refine until nothing splits; all ``edges`` must be inner edges of one strongly connected component.

    Raises `TooMuchWorkError` beyond the bound of ``work``.
    """
    current = numbered(initial if initial is not None else [0] * count)
    partitions = [current]
    while max(current, default=-1) + 1 < count:
        refined = numbered(list(zip(current, LinearSystem(count, rows_of(edges, current), work).keys(), strict=True)))
        if max(refined) == max(current):
            break
        current = refined
        partitions.append(current)
    return Refinement(tuple(edges), tuple(partitions))


def numbered(keys: Iterable[Hashable]) -> tuple[int, ...]:
    """Equal keys get equal numbers, in order of first occurrence."""
    numbers: dict[Hashable, int] = {}
    return tuple([numbers.setdefault(key, len(numbers)) for key in keys])


def rows_of(edges: Iterable[Edge], classes: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """One equation V(v) − V(u) − V(v₀) + V(u₀) = 0 as (v, u, v₀, u₀) per edge that repeats a refined label."""
    first: dict[tuple[int, int], tuple[int, int]] = {}
    rows: list[tuple[int, int, int, int]] = []
    for source, label, target in edges:
        key = (label, classes[source])
        known = first.setdefault(key, (source, target))
        if known != (source, target):
            rows.append((target, source, known[1], known[0]))
    return rows


class LinearSystem:
    """A solved system of equations: every node's value is a combination of the values of free nodes."""

    def __init__(self, count: int, rows: Iterable[tuple[int, int, int, int]], work: Work = UNBOUNDED) -> None:
        self.count, self._work = count, work
        self._parent = list(range(count))
        self._pivots: dict[int, Equation] = {}
        remaining = self._merge_equal(rows)
        for row in remaining:
            self._eliminate(row)

    def keys(self) -> list[Hashable]:
        """One key per node; two keys are equal iff the nodes have equal values in every solution."""
        known: dict[int, Hashable] = {}
        result: list[Hashable] = []
        for node in range(self.count):
            root = self._root(node)
            if root not in known:
                known[root] = self._expression(root)
            result.append(known[root])
        return result

    def potential(self, groups: Sequence[int]) -> list[int]:
        """Small integer values that solve the system and separate all separable nodes within each group."""
        keys = self.keys()
        goal = len(set(zip(groups, keys, strict=True)))
        free = [node for node in range(self.count) if self._root(node) == node and node not in self._pivots]
        scale = lcm(*[abs(row[pivot]) for pivot, row in self._pivots.items()]) if self._pivots else 1
        rng = stream(0, "potential", self.count)
        for attempt in range(1_000):
            # Small values first; a bound of about n² makes n nodes all different.
            bound = 1 + attempt // 16 if attempt < 256 else min(2 ** (attempt // 16), 2**60)
            drawn = rng.integers(-bound, bound + 1, size=len(free)).tolist()
            values = dict(zip(free, [scale * value for value in drawn], strict=True))
            for pivot, row in self._pivots.items():
                rest = sum(weight * values[node] for node, weight in row.items() if node != pivot)
                values[pivot] = -rest // row[pivot]
            potential = [values[self._root(node)] for node in range(self.count)]
            if len(set(zip(groups, potential, strict=True))) == goal:
                common = gcd(*[value - potential[0] for value in potential]) or 1
                return [(value - potential[0]) // common for value in potential]
        raise AssertionError("no separating potential found among 1,000 draws of growing size")

    def _root(self, node: int) -> int:
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def _merge_equal(self, rows: Iterable[tuple[int, int, int, int]]) -> list[Equation]:
        """Merge the nodes of equations V(p) = V(q); return the others in terms of the representatives."""
        pending: set[tuple[int, int, int, int]] = set(rows)
        while True:
            self._work.add(len(pending))
            merged = False
            kept: set[tuple[int, int, int, int]] = set()
            root = self._root
            for v, u, v0, u0 in pending:
                v, u, v0, u0 = root(v), root(u), root(v0), root(u0)
                # V(v) + V(u₀) = V(u) + V(v₀): equal terms on the two sides cancel.
                if v == u:
                    pair = (u0, v0)
                elif v == v0:
                    pair = (u, u0)
                elif u0 == u:
                    pair = (v, v0)
                elif u0 == v0:
                    pair = (v, u)
                elif v == u0 and u == v0:
                    pair = (v, u)  # 2 V(v) = 2 V(u)
                else:
                    kept.add(_ordered(v, u, v0, u0))
                    continue
                if pair[0] != pair[1]:
                    self._parent[pair[1]] = pair[0]
                    merged = True
            pending = kept
            if not merged:
                return [_row(*equation) for equation in sorted(pending)]

    def _eliminate(self, row: Equation) -> None:
        for node in [node for node in row if node in self._pivots]:
            self._work.add(len(row) + len(self._pivots[node]))
            _cancel(row, node, self._pivots[node])
        if not row:
            return
        pivot = min(row, key=lambda node: (abs(row[node]), node))
        self._work.add(len(self._pivots))
        for other in self._pivots.values():
            if pivot in other:
                self._work.add(len(other) + len(row))
                _cancel(other, pivot, row)
        self._pivots[pivot] = row

    def _expression(self, root: int) -> Hashable:
        row = self._pivots.get(root)
        if row is None:
            return frozenset([(root, Fraction(1))])
        return frozenset((node, Fraction(-weight, row[root])) for node, weight in row.items() if node != root)


def _ordered(v: int, u: int, v0: int, u0: int) -> tuple[int, int, int, int]:
    """A canonical form of V(v) + V(u₀) = V(u) + V(v₀), so that equal equations are equal tuples."""
    left, right = sorted((sorted((v, u0)), sorted((u, v0))))
    return left[0], right[0], right[1], left[1]


def _row(v: int, u: int, v0: int, u0: int) -> Equation:
    row: Equation = defaultdict(int)
    row[v] += 1
    row[u0] += 1
    row[u] -= 1
    row[v0] -= 1
    return {node: weight for node, weight in row.items() if weight}


def _cancel(row: Equation, node: int, pivot_row: Equation) -> None:
    """Eliminate ``node`` from ``row`` with ``pivot_row``, in integers divided by their gcd."""
    if node not in row:
        return
    factor, own = pivot_row[node], row[node]
    divisor = gcd(factor, own)
    keep, subtract = factor // divisor, own // divisor
    combined = {other: keep * weight for other, weight in row.items()}
    for other, weight in pivot_row.items():
        value = combined.get(other, 0) - subtract * weight
        if value:
            combined[other] = value
        else:
            combined.pop(other, None)
    common = gcd(*combined.values()) if combined else 1
    row.clear()
    row.update({other: weight // common for other, weight in combined.items()})
