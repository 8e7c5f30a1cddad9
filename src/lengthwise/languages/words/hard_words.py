"""`hard_words` draws the adversarial test words of a language: window pairs, or else pumped and boundary words."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.words.adversarial import window_pairs
from lengthwise.languages.words.edge_words import boundary_words, pumped_words


def hard_words(dfa: Dfa, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
    """``size`` words ``[size, length]`` of the language on which shortcuts fail.

    Where the language has them, they are `window_pairs` with a window of ``length // 2``. Otherwise half are
    `pumped_words` and half `boundary_words`. Raises `LengthwiseError` if the language has no word of that length.
    """
    if length >= 2:
        # Raises where a window of that size determines every answer.
        with suppress(LengthwiseError):
            pairs = window_pairs(dfa, length // 2, length, -(-size // 2), rng)
            return np.stack([pairs.left, pairs.right], axis=1).reshape(-1, length)[:size]
    words = boundary_words(dfa, length, size, rng)
    # Raises where no loop fits; then all are boundary words.
    with suppress(LengthwiseError):
        words[::2] = pumped_words(dfa, length, len(words[::2]), rng)
    return words
