"""Random draws for all rows of a batch at once: distinct symbols, permutations, bits with a number of ones."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.rng import Rng


def distinct(rng: Rng, pool: int, count: int, rows: int) -> Int[ndarray, "rows count"]:
    """Ordered samples without replacement from ``0..pool-1``, uniform and independent between rows.

    Where repeats are rare, rows that hold one are drawn again, whole: what remains is uniform and costs ``count`` draws
    a row. Otherwise all of the pool is shuffled.
    """
    if count > pool:
        raise ValueError(f"{count} distinct symbols do not fit in a pool of {pool}")
    if count * count > pool:
        return shuffles(rng, pool, rows)[:, :count]
    result = rng.integers(pool, size=(rows, count), dtype=np.int64)
    while (bad := np.flatnonzero(_repeats(result))).size:
        fresh = rng.integers(pool, size=(bad.size, count), dtype=np.int64)
        result[bad] = fresh
        if not _repeats(fresh).any():
            break
    return result


def _repeats(samples: Int[ndarray, "rows count"]) -> Bool[ndarray, " rows"]:
    ordered = np.sort(samples, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def shuffles(rng: Rng, count: int, rows: int) -> Int[ndarray, "rows count"]:
    """Uniform random orders of ``0..count-1``, one per row."""
    if count > 1 << 10:
        return np.argsort(rng.random((rows, count)), axis=1)
    # The number in the low bits makes the keys distinct, so sorting them sorts the numbers by random keys.
    keys = rng.integers(1 << 53, size=(rows, count), dtype=np.int64)
    keys <<= 10
    keys |= np.arange(count)
    keys.sort(axis=1)
    keys &= (1 << 10) - 1
    return keys


def inverse(orders: Int[ndarray, "rows count"]) -> Int[ndarray, "rows count"]:
    """The inverse of each row's permutation."""
    result = np.empty_like(orders)
    np.put_along_axis(result, orders, np.broadcast_to(np.arange(orders.shape[1]), orders.shape), axis=1)
    return result


def bits_with_ones(rng: Rng, length: int, ones: Int[ndarray, " rows"]) -> Int[ndarray, "rows length"]:
    """Rows of bits, each uniform among those with its number of ones."""
    return (shuffles(rng, length, len(ones)) < ones[:, None]).astype(np.int64)


def symbol_names(count: int) -> list[str]:
    """Letters where they suffice, numbers otherwise."""
    return list("abcdefghijklmnopqrstuvwxyz"[:count]) if count <= 26 else [str(number) for number in range(count)]
