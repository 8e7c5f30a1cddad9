"""Draws random regular expressions with distinct minimal automata, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.construction import language
from lengthwise.languages.automata.monoid import is_r_trivial
from lengthwise.languages.automata.regex import Concat, Literal, Regex, Repeat, Union, render


def random_expression(size: int, alphabet: Sequence[str], rng: Rng) -> Regex:
    """An expression of exactly ``size`` nodes: literals, binary | and juxtaposition, and * (+ and ? more rarely)."""
    if size == 1:
        return Literal((alphabet[int(rng.integers(len(alphabet)))],))
    if size == 2 or rng.random() < 0.35:
        at_least, unbounded = [(0, True), (0, True), (1, True), (0, False)][int(rng.integers(4))]
        return Repeat(random_expression(size - 1, alphabet, rng), at_least, unbounded)
    left = int(rng.integers(1, size - 1))
    parts = (random_expression(left, alphabet, rng), random_expression(size - 1 - left, alphabet, rng))
    return Concat(parts) if rng.random() < 0.6 else Union(parts)


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
