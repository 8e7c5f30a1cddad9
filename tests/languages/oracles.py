"""Slow obvious references: Python's own regular expressions, brute force over all words, random automata."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng
from lengthwise.languages.automaton import Dfa, language
from lengthwise.languages.monoid import is_r_trivial
from lengthwise.languages.named import random_expression
from lengthwise.languages.regex import Concat, Empty, Epsilon, Literal, Regex, Repeat, Union, render


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


def random_languages(
    count: int,
    rng: Rng,
    *,
    alphabets: Sequence[str] = ("ab", "abc"),
    sizes: tuple[int, int] = (5, 15),
    min_states: int = 3,
    r_trivial_share: float = 0.5,
) -> list[tuple[str, str, Dfa]]:
    """``count`` triples (expression, alphabet, minimal automaton) with distinct automata, at most a share R-trivial.

    Raises `LengthwiseError` if too few distinct languages are drawn.
    """
    found: dict[Dfa, tuple[str, str, Dfa]] = {}
    trivial = 0
    for _ in range(1_000 * count):
        if len(found) == count:
            return list(found.values())
        alphabet = alphabets[int(rng.integers(len(alphabets)))]
        expression = random_expression(int(rng.integers(sizes[0], sizes[1] + 1)), alphabet, rng)
        dfa = language(expression, alphabet)
        if dfa.size < min_states or dfa in found:
            continue
        if is_r_trivial(dfa):
            if trivial + 1 > r_trivial_share * count:
                continue
            trivial += 1
        found[dfa] = (render(expression), alphabet, dfa)
    raise LengthwiseError(f"only {len(found)} of {count} distinct languages found; allow larger expressions")
