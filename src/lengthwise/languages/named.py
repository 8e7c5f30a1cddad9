"""Languages by name, and random ones drawn as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lengthwise.core.rng import Rng
from lengthwise.languages.automaton import Dfa, language
from lengthwise.languages.regex import Concat, Literal, Regex, Repeat, Union


def bounded_dyck(depth: int) -> str:
    """D_n: D_0 is the empty word, D_n = (a D_{n−1} b)*; correctly nested words of depth at most n."""
    expression = "ε"
    for _ in range(depth):
        expression = f"(a{expression}b)*"
    return expression


@dataclass(frozen=True)
class NamedLanguage:
    """A published language: an expression over a declared alphabet, or an automaton instead of a long expression."""

    name: str
    alphabet: str
    source: str | Dfa
    """As an argument of `decide`."""
    published_ape: bool
    published_nope: bool

    def dfa(self) -> Dfa:
        """The minimal complete automaton."""
        return language(self.source, self.alphabet)


# After an odd run of 1s a run of 0s must be even: clean / odd 1s / odd 0s after odd 1s / even 0s after odd 1s / dead.
_TOMITA_3 = Dfa(("0", "1"), ((0, 1), (2, 0), (3, 4), (2, 1), (4, 4)), (True, True, False, True, False))
_TOMITA_5 = Dfa(("0", "1"), ((1, 2), (0, 3), (3, 0), (2, 1)), (True, False, False, False))
_TOMITA_6 = Dfa(("0", "1"), ((1, 2), (2, 0), (0, 1)), (True, False, False))

LANGUAGES: dict[str, NamedLanguage] = {
    entry.name: entry
    for entry in (
        NamedLanguage("D-2", "ab", bounded_dyck(2), True, True),
        NamedLanguage("D-3", "ab", bounded_dyck(3), True, True),
        NamedLanguage("D-4", "ab", bounded_dyck(4), True, True),
        NamedLanguage("D-12", "ab", bounded_dyck(12), True, True),
        NamedLanguage("Tomita 1", "01", "1*", True, True),
        NamedLanguage("Tomita-2", "01", "(10)*", True, True),
        NamedLanguage("Tomita-4", "01", "(1|01|001)*(ε|0|00)", True, False),
        NamedLanguage("Tomita-7", "01", "0*1*0*1*", True, True),
        NamedLanguage("aa*bb*cc*dd*ee*", "abcde", "aa*bb*cc*dd*ee*", True, True),
        NamedLanguage("{a,b}*d{b,c}*", "abcd", "{a,b}*d{b,c}*", True, True),
        NamedLanguage("{0,1,2}*02*", "012", "{0,1,2}*02*", False, False),
        NamedLanguage("(aa)*", "a", "(aa)*", True, False),
        NamedLanguage("(aaaa)*", "a", "(aaaa)*", True, False),
        NamedLanguage("(abab)*", "ab", "(abab)*", True, False),
        NamedLanguage("Tomita-3", "01", _TOMITA_3, False, False),
        NamedLanguage("Tomita-5", "01", _TOMITA_5, False, False),
        NamedLanguage("Tomita-6", "01", _TOMITA_6, False, False),
    )
}


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
