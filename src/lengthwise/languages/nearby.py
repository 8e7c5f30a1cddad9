"""Whether what is right along words hangs on near symbols alone: on their first few, or on the last few."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.languages.automaton import Dfa
from lengthwise.languages.hard_words import Words, reached


def decided_nearby(dfa: Dfa, label: Int[ndarray, " states"], words: Words, n: int) -> Bool[ndarray, " B"]:
    """Of each word, whether its first n symbols decide all labels behind them, or the last n decide each.

    ``label`` is what is right in each state, as a number from 0; -1 for a state to which no string in question leads.
    """
    after = np.broadcast_to(np.flatnonzero(label >= 0), (len(words), words.shape[1] - n + 1, int((label >= 0).sum())))
    for i in range(n):
        after = dfa.delta_array[after, words[:, i : i + after.shape[1], None]]
    said = label[after]
    by_last = ((said < 0) | (said == said.max(axis=2, keepdims=True))).all(axis=(1, 2))
    return by_last | _settled(dfa, label)[dfa.states_along(words)[:, n]]


def some_are_not(dfa: Dfa, label: Int[ndarray, " states"], n: int) -> bool:
    """Whether, of words that are long enough, some are not `decided_nearby`."""
    known, late = label >= 0, np.zeros(dfa.size, dtype=bool)
    late[[*reached(dfa, n)[n]]] = True
    late &= known & ~_settled(dfa, label)
    for _ in range(dfa.size):  # where these lead
        late[dfa.delta_array[late]] = True
    pairs = (late & known)[:, None] & known
    for _ in range(n):
        (p, q), before = np.nonzero(pairs), pairs
        pairs = np.zeros_like(pairs)
        pairs[dfa.delta_array[p], dfa.delta_array[q]] = True
        pairs &= known[:, None] & known
        if (pairs == before).all():
            break
    return bool((pairs & (label[:, None] != label)).any())


def _settled(dfa: Dfa, label: Int[ndarray, " states"]) -> Bool[ndarray, " states"]:
    """The states behind which the label stays as it is."""
    settled, there = label >= 0, label[dfa.delta_array]
    for _ in range(dfa.size):
        settled = settled & ((there < 0) | ((there == label[:, None]) & settled[dfa.delta_array])).all(axis=1)
    return settled
