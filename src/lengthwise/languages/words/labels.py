"""Labels every prefix of a word with the symbols that may come next, and whether the word may end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lengthwise.languages.automata.automaton import Dfa


def allowed_next(dfa: Dfa, words: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Labels ``[B, T + 1, symbols + 1]`` of a batch of words ``[B, T]`` (symbol numbers).

    Entry [b, t, s] says whether the first t symbols of word b followed by symbol s begin a word of the language; the
    last column says whether the first t symbols are a word.
    """
    return _state_labels(dfa)[dfa.states_along(words)]


def _state_labels(dfa: Dfa) -> npt.NDArray[np.bool_]:
    live = np.array(dfa.live, dtype=bool)
    return np.concatenate([live[dfa.delta_array], dfa.accepting_array[:, None]], axis=1)
