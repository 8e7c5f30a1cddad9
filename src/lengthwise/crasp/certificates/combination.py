"""Proves that two nodes are merged: a rational combination of the equations equals the difference of their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lengthwise.crasp.decide.potential import Edge

Vector = dict[int, Fraction]


@dataclass(frozen=True)
class EquationTerm:
    """``weight`` times the equation of two edges with one refined label: V(v) − V(u) − V(v₀) + V(u₀) = 0."""

    edge: Edge
    other: Edge
    weight: Fraction


def combinations_for(
    edges: Iterable[Edge], classes: Sequence[int], pairs: Iterable[tuple[int, int]]
) -> list[tuple[EquationTerm, ...]]:
    """For each merged pair (p, q) terms that add up to V(p) − V(q).

    Labels are refined by the ``classes`` of their sources. Raises `ValueError` for a pair that is not merged.
    """
    wanted = list(pairs)
    solver = _Solver(edges, classes, wanted)
    return [solver.difference(first, second) for first, second in wanted]


class _Solver:
    """Gaussian elimination over the rationals that remembers how every reduced row was combined.

    It takes equations in order until they show all ``wanted`` pairs to be merged.
    """

    def __init__(self, edges: Iterable[Edge], classes: Sequence[int], wanted: Sequence[tuple[int, int]]) -> None:
        self.equations: list[tuple[Edge, Edge]] = []
        self.pivots: dict[int, tuple[Vector, Vector]] = {}  # pivot node -> (row, combination of equations)
        first: dict[tuple[int, int], Edge] = {}
        seen: set[frozenset[tuple[int, int]]] = set()
        open_pairs = list(wanted)
        for edge in edges:
            if not open_pairs:
                break
            known = first.setdefault((edge[1], classes[edge[0]]), edge)
            row: dict[int, int] = {}
            for node, sign in ((edge[2], 1), (edge[0], -1), (known[2], -1), (known[0], 1)):
                row[node] = row.get(node, 0) + sign
            row = {node: weight for node, weight in row.items() if weight}
            key = frozenset(row.items())
            if row and key not in seen:
                seen.add(key)
                self.equations.append((edge, known))
                weights = {node: Fraction(weight) for node, weight in row.items()}
                if self._enter(weights, {len(self.equations) - 1: Fraction(1)}):
                    open_pairs = [pair for pair in open_pairs if self._difference(*pair)[0]]

    def _reduce(self, row: Vector, combination: Vector) -> tuple[Vector, Vector]:
        row, combination = dict(row), dict(combination)
        while (hit := next((node for node in row if node in self.pivots), None)) is not None:
            self._subtract(row, combination, hit)
        return row, combination

    def _subtract(self, row: Vector, combination: Vector, node: int) -> None:
        pivot_row, pivot_combination = self.pivots[node]
        factor = row[node] / pivot_row[node]
        for target, source in ((row, pivot_row), (combination, pivot_combination)):
            for key, weight in source.items():
                value = target.get(key, Fraction(0)) - factor * weight
                if value:
                    target[key] = value
                else:
                    target.pop(key, None)

    def _enter(self, row: Vector, combination: Vector) -> bool:
        """Whether the equation says something new."""
        row, combination = self._reduce(row, combination)
        if row:
            self.pivots[min(row)] = (row, combination)
        return bool(row)

    def _difference(self, first: int, second: int) -> tuple[Vector, Vector]:
        return self._reduce({first: Fraction(1), second: Fraction(-1)}, {})

    def difference(self, first: int, second: int) -> tuple[EquationTerm, ...]:
        """Terms that add up to V(first) − V(second); the nodes must be merged."""
        row, combination = self._difference(first, second)
        if row:
            raise ValueError(f"nodes {first} and {second} are not merged")
        return tuple(EquationTerm(*self.equations[number], -weight) for number, weight in sorted(combination.items()))
