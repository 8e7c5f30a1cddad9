"""The 17 regular languages of Huang et al. 2025 under their published names, with the published answers.

The answers (whether a program exists with learned positions, APE, and without, NoPE) are only compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

from lengthwise.core.errors import UnknownNameError
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.construction import language


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
    regex: str | None
    automaton: Dfa | None
    published_ape: bool
    published_nope: bool

    @property
    def source(self) -> str | Dfa:
        """The expression or automaton, as an argument of `decide`."""
        return self.regex if self.regex is not None else _present(self.automaton)

    def dfa(self) -> Dfa:
        """The minimal complete automaton."""
        if self.automaton is not None:
            return language(self.automaton)
        return language(self.source, self.alphabet)


def _present(automaton: Dfa | None) -> Dfa:
    if automaton is None:
        raise ValueError("a named language needs an expression or an automaton")
    return automaton


def _named(name: str, alphabet: str, regex: str, ape: bool, nope: bool) -> NamedLanguage:
    return NamedLanguage(name, alphabet, regex, None, ape, nope)


# After an odd run of 1s a run of 0s must be even: clean / odd 1s / odd 0s after odd 1s / even 0s after odd 1s / dead.
_TOMITA_3 = Dfa(("0", "1"), ((0, 1), (2, 0), (3, 4), (2, 1), (4, 4)), (True, True, False, True, False))
_TOMITA_5 = Dfa(("0", "1"), ((1, 2), (0, 3), (3, 0), (2, 1)), (True, False, False, False))
_TOMITA_6 = Dfa(("0", "1"), ((1, 2), (2, 0), (0, 1)), (True, False, False))

LANGUAGES: dict[str, NamedLanguage] = {
    entry.name: entry
    for entry in (
        _named("D-2", "ab", bounded_dyck(2), True, True),
        _named("D-3", "ab", bounded_dyck(3), True, True),
        _named("D-4", "ab", bounded_dyck(4), True, True),
        _named("D-12", "ab", bounded_dyck(12), True, True),
        _named("Tomita 1", "01", "1*", True, True),
        _named("Tomita-2", "01", "(10)*", True, True),
        _named("Tomita-4", "01", "(1|01|001)*(ε|0|00)", True, False),
        _named("Tomita-7", "01", "0*1*0*1*", True, True),
        _named("aa*bb*cc*dd*ee*", "abcde", "aa*bb*cc*dd*ee*", True, True),
        _named("{a,b}*d{b,c}*", "abcd", "{a,b}*d{b,c}*", True, True),
        _named("{0,1,2}*02*", "012", "{0,1,2}*02*", False, False),
        _named("(aa)*", "a", "(aa)*", True, False),
        _named("(aaaa)*", "a", "(aaaa)*", True, False),
        _named("(abab)*", "ab", "(abab)*", True, False),
        NamedLanguage("Tomita-3", "01", None, _TOMITA_3, False, False),
        NamedLanguage("Tomita-5", "01", None, _TOMITA_5, False, False),
        NamedLanguage("Tomita-6", "01", None, _TOMITA_6, False, False),
    )
}


def named_language(name: str) -> NamedLanguage:
    """A published language by name; raises `UnknownNameError` with a suggestion."""
    if name not in LANGUAGES:
        raise UnknownNameError("language", name, LANGUAGES)
    return LANGUAGES[name]
