"""Words of a language on which shortcuts fail, of whichever kind the language has at that length."""

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
    """``size`` words ``[size, length]`` of the language, made to defeat a model that has not learned it.

    Pairs that agree on a window of half the word and need different answers after it, where the language has them: no
    function of the last ``length // 2`` symbols is right on more than one word of a pair. Otherwise half the words are
    pumped loops and half go as far from acceptance as that length allows.
    Raises `LengthwiseError` if the language has no word of that length.
    """
    if length >= 2:
        # It raises where a window of that size determines every answer.
        with suppress(LengthwiseError):
            pairs = window_pairs(dfa, length // 2, length, -(-size // 2), rng)
            return np.stack([pairs.left, pairs.right], axis=1).reshape(-1, length)[:size]
    words = boundary_words(dfa, length, size, rng)
    # It raises where no loop fits: then the boundary alone.
    with suppress(LengthwiseError):
        words[::2] = pumped_words(dfa, length, len(words[::2]), rng)
    return words
