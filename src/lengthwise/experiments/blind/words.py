"""The test words of the study: uniform ones, and pairs that agree on a long window and need different answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lengthwise.core.batch import Batch
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.hard_words import window_pairs
from lengthwise.tasks import Task
from lengthwise.tasks.base import ROWS, chunks, shares
from lengthwise.tasks.language import Language

WORDS_SEED = 20261122
SIZE = 500
"""Test words of one set and one bin."""
LENGTHS = 10
"""Lengths of a bin that are tested: the shortest and the longest that have words, and others evenly between them."""


def spread(lengths: Sequence[int], count: int = LENGTHS) -> list[int]:
    """Up to ``count`` of ``lengths``, evenly spread with both ends.

    >>> spread([51, 52, 53, 54, 55], 3)
    [51, 53, 55]
    """
    indices = np.unique(np.linspace(0, len(lengths) - 1, min(count, len(lengths))).round().astype(int))
    return [lengths[index] for index in indices]


def uniform_batches(task: Task, key: str, low: int, high: int, size: int, *, every: bool = False) -> Iterator[Batch]:
    """``size`` strings of the task's own distribution over the lengths ``low..high``: some lengths, or ``every`` one.

    The strings are a function of the task, its ``key`` and each length. Empty if these lengths have no strings.
    """
    lengths = task.lengths(low, high)
    if not lengths:
        return
    for length, number in shares(lengths if every else spread(lengths), size):
        rng = stream(WORDS_SEED, "blind", "uniform", key, length)
        for rows in chunks(number, ROWS if type(task).layout is Task.layout else 8):
            yield task.batch(length, rows, rng)


def pair_lengths(dfa: Dfa, lengths: Sequence[int]) -> list[int]:
    """Those of ``lengths`` at which words agree on half their length and need different answers after it."""
    return [length for length in lengths if _pairs(dfa, length, 1) is not None]


def adversarial_batches(task: Task, key: str, low: int, high: int, size: int) -> Iterator[Batch]:
    """``size`` words in pairs that agree on a window of half their length and need different answers after it.

    Empty for a task that is no regular language, or whose words of these lengths have no such pairs.
    """
    dfa = task.automaton() if isinstance(task, Language) else None
    if not isinstance(task, Language) or dfa is None or not task.lengths(low, high):
        return
    for length, number in shares(pair_lengths(dfa, spread(task.lengths(low, high))), size // 2):
        words = _pairs(dfa, length, number, key)
        if words is not None:
            yield from task.batches_of([words])


def _pairs(dfa: Dfa, length: int, number: int, *names: str) -> np.ndarray | None:
    """``2 * number`` words, pair by pair; None where no such pair exists."""
    rng = stream(WORDS_SEED, "blind", "adversarial", *names, length)
    try:
        pairs = window_pairs(dfa, length // 2, length, number, rng)
    except LengthwiseError:
        return None
    return np.stack([pairs.left, pairs.right], axis=1).reshape(-1, length)
