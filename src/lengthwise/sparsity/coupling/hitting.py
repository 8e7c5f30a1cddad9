"""Computes a minimum hitting set: a smallest set that meets every set of a family."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool
from numpy import ndarray


def smallest_hitting_set(family: Bool[ndarray, "M N"], budget: int = 20_000) -> tuple[int, ...]:
    """The elements, increasing, of a smallest set that meets all rows; ties prefer late elements.

    Exact by iterative deepening: branch on the elements of a smallest unmet row. After ``budget`` branches the answer
    is the greedy one, which may not be the smallest. Raises `ValueError` for an empty row.
    """
    family = np.unique(family, axis=0)
    if not len(family):
        return ()
    if not family.any(axis=1).all():
        raise ValueError("an empty set can't be met")
    # The element of a row with one element belongs to every solution.
    forced = family[family.sum(axis=1) == 1].any(axis=0)
    rest = _minimal(family[~(family & forced).any(axis=1)])
    count = [0]
    for size in range(len(rest) + 1):
        found = _search(rest, size, count, budget)
        if found is not None:
            return tuple(sorted({*np.flatnonzero(forced).tolist(), *found}))
        if count[0] > budget:
            break
    return tuple(sorted({*np.flatnonzero(forced).tolist(), *_greedy(rest)}))


def _minimal(family: ndarray) -> ndarray:
    """Drop the rows that contain another row, because meeting the smaller row meets them."""
    kept: list[ndarray] = []
    for row in family[np.argsort(family.sum(axis=1), kind="stable")]:
        if not any((row | other == row).all() for other in kept):
            kept.append(row)
    return np.array(kept, dtype=bool).reshape(-1, family.shape[1])


def _search(rest: ndarray, size: int, count: list[int], budget: int) -> tuple[int, ...] | None:
    if not len(rest):
        return ()
    if size == 0 or count[0] > budget:
        return None
    # ``size`` elements meet at most ``size`` times as many rows as the most frequent element.
    if size * int(rest.sum(axis=0).max()) < len(rest):
        return None
    for element in np.flatnonzero(rest[rest.sum(axis=1).argmin()])[::-1].tolist():
        count[0] += 1
        found = _search(rest[~rest[:, element]], size - 1, count, budget)
        if found is not None:
            return (element, *found)
    return None


def _greedy(rest: ndarray) -> tuple[int, ...]:
    chosen = []
    while len(rest):
        element = len(rest[0]) - 1 - int(rest.sum(axis=0)[::-1].argmax())
        chosen.append(element)
        rest = rest[~rest[:, element]]
    return tuple(chosen)
