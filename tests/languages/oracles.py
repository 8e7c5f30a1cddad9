"""Slow obvious references: Python's own regular expressions, brute force over all words, random automata."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np

from lengthwise.core.rng import Rng
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.regex import Concat, Empty, Epsilon, Literal, Regex, Repeat, Union


def words_of(alphabet: str, longest: int, shortest: int = 0) -> Iterator[str]:
    """All words, shortest first."""
    for length in range(shortest, longest + 1):
        for word in itertools.product(alphabet, repeat=length):
            yield "".join(word)


def python_pattern(expression: Regex) -> str:
    """The same expression for Python's `re`."""
    match expression:
        case Empty():
            return "(?!)"
        case Epsilon():
            return "(?:)"
        case Literal(symbols):
            return "[" + "".join(map(re.escape, symbols)) + "]"
        case Union(parts):
            return "(?:" + "|".join(map(python_pattern, parts)) + ")"
        case Concat(parts):
            return "".join(map(python_pattern, parts))
        case Repeat(body, at_least, unbounded):
            return f"(?:{python_pattern(body)})" + ("?" if not unbounded else "+" if at_least else "*")


def random_dfa(states: int, alphabet: str, rng: Rng) -> Dfa:
    """A random complete automaton (not minimal)."""
    delta = rng.integers(states, size=(states, len(alphabet)))
    accepting = rng.random(states) < 0.5
    return Dfa(tuple(alphabet), tuple(map(tuple, delta.tolist())), tuple(accepting.tolist()))


def all_arrays(symbols: int, longest: int, shortest: int = 0) -> Iterator[np.ndarray]:
    """All words of each length as one array ``[symbols ** length, length]``."""
    for length in range(shortest, longest + 1):
        words = np.array(list(itertools.product(range(symbols), repeat=length)), dtype=np.int64)
        yield words.reshape(symbols**length, length)
