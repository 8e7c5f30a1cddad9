"""Searches for a word on which a program is wrong: all short words, then long words near the language."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lengthwise.core.rng import stream
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.run.interpreter import run
from lengthwise.languages.automata.automaton import Word

_MOST_SHORT = 20_000
_LONG = 600


def first_wrong_word(
    program: Program, ask: Callable[[Word], bool], symbols: int, bos: bool, seed: int, given: Sequence[Word] = ()
) -> tuple[Word | None, int]:
    """A shortest tested word on which program and target differ (or None), and the number of tested words.

    ``given`` words are tested too, and long words are derived from them.
    """
    checked = 0
    members: list[Word] = []
    for words in _all_words(symbols, bos):
        wrong = _wrong_among(program, words, ask, members)
        checked += len(words)
        if wrong is not None:
            return wrong, checked
    by_length: dict[int, list[Word]] = {}
    for word in given:
        by_length.setdefault(len(word), []).append(word)
    for word in _long_words(symbols, [*members, *given], seed):
        by_length.setdefault(len(word), []).append(word)
    for _, words in sorted(by_length.items()):
        wrong = _wrong_among(program, words, ask, [])
        checked += len(words)
        if wrong is not None:
            return wrong, checked
    return None, checked


def _wrong_among(program: Program, words: list[Word], ask: Callable[[Word], bool], members: list[Word]) -> Word | None:
    accepted = run(program, np.array(words, dtype=np.int64).reshape(len(words), -1))
    for word, got in zip(words, accepted, strict=True):
        wanted = ask(word)
        if wanted:
            members.append(word)
        if wanted != got:
            return word
    return None


def _all_words(symbols: int, bos: bool) -> Iterator[list[Word]]:
    """All words, length by length, up to `_MOST_SHORT` in total."""
    total, length = 0, 0 if bos else 1
    while length <= 40 and (total + symbols**length <= _MOST_SHORT or length <= 1):
        yield list(itertools.product(range(symbols), repeat=length))
        total += symbols**length
        length += 1


def _long_words(symbols: int, members: list[Word], seed: int) -> Iterator[Word]:
    """Random words, and members that are repeated, joined, and changed at one position."""
    rng = stream(seed, "synthesis", "long words")
    pool = [word for word in members if word][-200:]
    for _ in range(_LONG):
        if pool and rng.random() < 0.7:
            one, other = (pool[int(rng.integers(len(pool)))] for _ in range(2))
            times = 1 + int(rng.integers(max(1, 40 // len(one))))
            word = list(one * times + other) if rng.random() < 0.5 else [s for s in one for _ in range(times)]
            if rng.random() < 0.4:
                word[int(rng.integers(len(word)))] = int(rng.integers(symbols))
            yield tuple(word)
        else:
            yield tuple(rng.integers(symbols, size=int(rng.integers(10, 60))).tolist())
