"""`decide` says whether a regular language is in C-RASP[∅], [local], [periodic] and [periodic, local].

The answer per fragment and end convention is *yes* with a window and a period, *no*, or *unknown* when the search
bounds are exhausted. The convention ``next`` is that of next-symbol prediction, which reads prefixes of words only
(`next_symbols.py`). docs/verdicts.md states the theorems used and their status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from lengthwise.core.errors import UnknownNameError, require
from lengthwise.crasp.decide.analysis import DEFAULT_BOUNDS, Analysis, Bounds, NextSymbolAnalysis
from lengthwise.crasp.program.fragment import FRAGMENTS
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.construction import MAX_STATES, language
from lengthwise.languages.automata.minimize import minimize
from lengthwise.languages.automata.monoid import is_group, is_r_trivial

ENDS = ("visible", "eos")
"""How the end of a word is read where membership is decided."""
NEXT = "next"
"""Not membership: what may come next after a prefix of a word, whose last symbol is visible."""


def of_membership(end: str, what: str) -> None:
    """Raise a `LengthwiseError` for ``next``, of which there is no program and no certificate."""
    require(end != NEXT, f"{what} are of membership; use the end convention {' or '.join(ENDS)} instead of {NEXT}")


Answer = Literal["yes", "no", "unknown"]
DecisionBasis = Literal["proved", "cited", "ours", "searched"]


@dataclass(frozen=True)
class FragmentVerdict:
    """The answer for one fragment and end convention.

    ``window`` and ``period`` belong to a yes. ``reason`` is ``potentials``, ``merged pair``, ``stable local test``,
    ``all windows``, ``all periods`` or ``bounds``. ``letter`` is the last symbol whose quotient
    decided a ``visible`` no.
    """

    verdict: Answer
    basis: DecisionBasis
    reason: str
    window: int | None = None
    period: int | None = None
    letter: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain JSON values."""
        return {"verdict": self.verdict, "window": self.window, "period": self.period, "basis": self.basis}


@dataclass(frozen=True)
class Decision:
    """The verdicts of `decide` on one language, with the analyses behind them."""

    regex: str
    dfa: Dfa
    ends: tuple[str, ...]
    bounds: Bounds
    fragments: dict[str, dict[str, FragmentVerdict]]
    analyses: dict[Dfa, Analysis] = field(repr=False, compare=False)

    @property
    def analysis(self) -> Analysis:
        """The analysis of the language's own automaton."""
        return self.analyses[self.dfa]

    def verdict(self, fragment: str, end: str) -> FragmentVerdict:
        """The answer for a fragment (none, local, periodic, ape) and an end convention (visible, eos, next).

        Raises `UnknownNameError` for any other fragment, and for an end convention that was not decided.
        """
        if fragment not in self.fragments:
            raise UnknownNameError("fragment", fragment, self.fragments)
        if end not in self.fragments[fragment]:
            raise UnknownNameError("end convention", end, self.fragments[fragment])
        return self.fragments[fragment][end]

    @property
    def star_free(self) -> bool | None:
        """Whether the syntactic monoid is aperiodic; None if the monoid is too large."""
        semigroup = self.analysis.semigroup
        return None if semigroup is None else semigroup.aperiodic

    @property
    def monoid_size(self) -> int | None:
        """Number of elements of the syntactic monoid; None if it exceeds ``analysis.max_elements``."""
        semigroup = self.analysis.semigroup
        return None if semigroup is None else semigroup.monoid_size

    @property
    def r_trivial(self) -> bool:
        """Whether no two states of the minimal automaton reach each other."""
        return is_r_trivial(self.dfa)

    @property
    def group(self) -> bool:
        """Whether every symbol permutes the states."""
        return is_group(self.dfa)

    def to_json(self) -> dict[str, Any]:
        """The decision as plain JSON values."""
        return {
            "regex": self.regex,
            "alphabet": list(self.dfa.alphabet),
            "states": self.dfa.size,
            "fragments": {
                name: {end: verdict.to_json() for end, verdict in ends.items()} for name, ends in self.fragments.items()
            },
            "star_free": self.star_free,
            "searched": asdict(self.bounds),
        }


def decide(
    source: str | Dfa,
    alphabet: str | Sequence[str] | None = None,
    *,
    ends: Sequence[str] = ENDS,
    bounds: Bounds = DEFAULT_BOUNDS,
    max_states: int = MAX_STATES,
) -> Decision:
    """Decide membership of a regular language in C-RASP[∅], [local], [periodic] and [periodic, local].

    With the end convention ``next``: whether a program of that fragment predicts the next symbols.

    Raises `LengthwiseError` for an expression that cannot be read and for an automaton beyond ``max_states``.
    """
    require(len(ends) > 0, f"no end convention given; choose among {', '.join((*ENDS, NEXT))}")
    for end in ends:
        if end not in (*ENDS, NEXT):
            raise UnknownNameError("end convention", end, (*ENDS, NEXT))
    dfa = language(source, alphabet, max_states=max_states)
    analyses: dict[Dfa, Analysis] = {dfa: Analysis(dfa, bounds)}
    targets: dict[str, dict[int | None, Analysis]] = {"eos": {None: analyses[dfa]}, "visible": {}}
    if "visible" in ends:
        for symbol in range(len(dfa.alphabet)):
            quotient = minimize(dfa.right_quotient(symbol))
            targets["visible"][symbol] = analyses.setdefault(quotient, Analysis(quotient, bounds))
    whole = dict.fromkeys(ends, analyses[dfa])
    if NEXT in ends:
        whole[NEXT] = NextSymbolAnalysis(dfa, bounds)
        targets[NEXT] = {None: whole[NEXT]}
    fragments = {
        fragment: {end: _fragment_verdict(fragment, end, targets[end], whole[end], bounds) for end in ends}
        for fragment in FRAGMENTS
    }
    text = source if isinstance(source, str) else "<automaton>"
    return Decision(text, dfa, tuple(ends), bounds, fragments, analyses)


def _fragment_verdict(
    fragment: str, end: str, targets: Mapping[int | None, Analysis], whole: Analysis, bounds: Bounds
) -> FragmentVerdict:
    basis: DecisionBasis = "ours" if end == NEXT else "proved"
    plain = {letter: target.separated(1, 1) for letter, target in targets.items()}
    if all(plain.values()):
        return FragmentVerdict("yes", basis, "potentials", 1, 1)
    if fragment == "none":
        letter = next(letter for letter, answer in plain.items() if not answer)
        if plain[letter] is None:
            return FragmentVerdict("unknown", "searched", "bounds")
        return FragmentVerdict("no", "cited" if end == "eos" else "ours", "merged pair", letter=letter)
    if (refuted := _refuted(fragment, targets, whole)) is not None:
        return refuted
    open_periods = {
        period
        for period in range(1, bounds.max_period + 1)
        if fragment != "local" or period == 1
        if not any(target.refuted_for_windows(period) for target in (whole, *targets.values()))
    }
    for window, period in _search_order(fragment, bounds):
        # A period refuted for all windows is refuted for window 1 too, so nothing is lost by skipping it.
        if period in open_periods and all(target.separated(window, period) for target in targets.values()):
            return FragmentVerdict("yes", basis, "potentials", window, period)
    return FragmentVerdict("unknown", "searched", "bounds")


def _refuted(fragment: str, targets: Mapping[int | None, Analysis], whole: Analysis) -> FragmentVerdict | None:
    """A *no* for all windows and/or periods, from the automaton itself (both ends) or from a quotient (visible)."""
    candidates: dict[int | None, Analysis] = {None: whole, **targets}
    for letter, target in candidates.items():
        if target.refuted_for_all is not None:
            return FragmentVerdict("no", "ours", "stable local test", letter=letter)
        if fragment == "local" and target.refuted_for_windows(1) is not None:
            return FragmentVerdict("no", "ours", "all windows", letter=letter)
    if fragment == "periodic":
        # Without windows the last symbol matters: the automaton's own test speaks about `eos` only.
        for letter, target in targets.items():
            if target.refuted_for_periods is not None:
                return FragmentVerdict("no", "ours", "all periods", letter=letter)
    return None


def _search_order(fragment: str, bounds: Bounds) -> Iterator[tuple[int, int]]:
    windows = bounds.max_window if fragment in ("local", "ape") else 1
    periods = bounds.max_period if fragment in ("periodic", "ape") else 1
    pairs = [(window, period) for window in range(1, windows + 1) for period in range(1, periods + 1)]
    yield from sorted(pairs, key=lambda pair: (sum(pair), pair[0]))
