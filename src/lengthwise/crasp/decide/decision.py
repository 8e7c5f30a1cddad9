"""Is a regular language in C-RASP without positions, with windows, with periods, with both?

`decide` answers per fragment and end convention: *yes* with a window and a period, *no*, or *unknown* when the search
bounds are exhausted. The logic and the status of every theorem used: docs/verdicts.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from lengthwise.core.errors import UnknownNameError, require
from lengthwise.crasp.decide.product import ProductTooLargeError, components
from lengthwise.crasp.decide.stable import LocalSystem, no_for_all, no_for_all_periods, no_for_all_windows
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.construction import MAX_STATES, language
from lengthwise.languages.automata.minimize import minimize
from lengthwise.languages.automata.monoid import (
    MAX_ELEMENTS,
    MonoidTooLargeError,
    TransitionSemigroup,
    is_group,
    is_r_trivial,
    transition_semigroup,
)

FRAGMENTS = ("none", "local", "periodic", "ape")
ENDS = ("visible", "eos")
MAX_WINDOW, MAX_PERIOD, MAX_NODES = 8, 12, 100_000
LARGEST_BOUND = 1_000  # of windows and periods: all pairs are listed
MAX_TOTAL_NODES = 150_000  # of all product graphs of one automaton: a few seconds
MAX_ENTRIES = 500_000  # elements of the monoid times states; the local systems have as many edges

Answer = Literal["yes", "no", "unknown"]
Basis = Literal["proved", "cited", "ours", "searched"]


@dataclass(frozen=True)
class Bounds:
    """How far the search goes: windows, periods, nodes of one product graph, nodes in total, elements of the monoid."""

    max_window: int = MAX_WINDOW
    max_period: int = MAX_PERIOD
    max_nodes: int = MAX_NODES
    max_elements: int = MAX_ELEMENTS
    max_total_nodes: int = MAX_TOTAL_NODES


@dataclass(frozen=True)
class FragmentVerdict:
    """The answer for one fragment and end convention.

    ``window`` and ``period`` belong to a yes; ``reason`` names the argument: ``potentials``, ``merged pair``,
    ``stable local test``, ``all windows``, ``all periods``, ``bounds``; ``letter`` is the last symbol whose quotient
    decided a ``visible`` no.
    """

    verdict: Answer
    basis: Basis
    reason: str
    window: int | None = None
    period: int | None = None
    letter: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain JSON values."""
        return {"verdict": self.verdict, "window": self.window, "period": self.period, "basis": self.basis}


class Analysis:
    """One minimal automaton with everything that has been computed about it."""

    def __init__(self, dfa: Dfa, bounds: Bounds) -> None:
        self.dfa, self.bounds = dfa, bounds
        self._separated: dict[tuple[int, int], bool | None] = {}
        self._nodes = 0
        self._windows: dict[int, LocalSystem | None] = {}

    def separated(self, window: int, period: int) -> bool | None:
        """The criterion for (k, m); None if the product graph, or all of them together, are too large."""
        key = (window, period)
        if key not in self._separated:
            self._separated[key] = self._compute(window, period)
        return self._separated[key]

    def _compute(self, window: int, period: int) -> bool | None:
        if self._nodes > self.bounds.max_total_nodes:
            return None
        try:
            for component in components(self.dfa, window, period, max_nodes=self.bounds.max_nodes):
                self._nodes += len(component.nodes)
                if not component.separates():
                    return False
        except ProductTooLargeError:
            return None
        return True

    @property
    def max_elements(self) -> int:
        """The bound on the monoid; smaller than that of ``bounds`` where there are many states."""
        return min(self.bounds.max_elements, MAX_ENTRIES // self.dfa.size)

    @cached_property
    def semigroup(self) -> TransitionSemigroup | None:
        """The transition semigroup; None if it is larger than the bound."""
        try:
            return transition_semigroup(self.dfa, max_elements=self.max_elements)
        except MonoidTooLargeError:
            return None

    @cached_property
    def excludes_all(self) -> LocalSystem | None:
        """The stable local test."""
        return self.semigroup and no_for_all(self.semigroup)

    @cached_property
    def excludes_periods(self) -> LocalSystem | None:
        """The test for all periods without windows."""
        return self.semigroup and no_for_all_periods(self.semigroup)

    def excludes_windows(self, period: int) -> LocalSystem | None:
        """The test for all windows with one period."""
        if period not in self._windows:
            self._windows[period] = self.semigroup and no_for_all_windows(self.semigroup, period)
        return self._windows[period]


@dataclass(frozen=True)
class Decision:
    """What `decide` found out about one language."""

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
        """The answer for a fragment (none, local, periodic, ape) and an end convention (visible, eos)."""
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
        """Number of elements of the syntactic monoid; None if beyond ``analysis.max_elements``."""
        semigroup = self.analysis.semigroup
        return None if semigroup is None else semigroup.monoid_size

    @property
    def r_trivial(self) -> bool:
        """Whether no two states reach each other."""
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
            "searched": {
                "max_window": self.bounds.max_window,
                "max_period": self.bounds.max_period,
                "max_nodes": self.bounds.max_nodes,
                "max_elements": self.bounds.max_elements,
                "max_total_nodes": self.bounds.max_total_nodes,
            },
        }


def decide(
    source: str | Dfa,
    alphabet: str | Sequence[str] | None = None,
    max_window: int = MAX_WINDOW,
    max_period: int = MAX_PERIOD,
    ends: Sequence[str] = ENDS,
    *,
    max_states: int = MAX_STATES,
    max_nodes: int = MAX_NODES,
    max_elements: int = MAX_ELEMENTS,
) -> Decision:
    """Decide membership of a regular language in C-RASP[∅], [local], [periodic] and [periodic, local].

    Raises `LengthwiseError` for an expression that cannot be read, an automaton beyond ``max_states``, bad bounds.
    """
    require(max_window >= 1, f"max_window must be at least 1, got {max_window}; 1 means no locality")
    require(max_period >= 1, f"max_period must be at least 1, got {max_period}; 1 means no periodicity")
    for name, bound in (("max_window", max_window), ("max_period", max_period)):
        require(bound <= LARGEST_BOUND, f"{name} must be at most {LARGEST_BOUND}, got {bound}; choose a smaller one")
    require(len(ends) > 0, f"no end convention given; choose among {', '.join(ENDS)}")
    for end in ends:
        if end not in ENDS:
            raise UnknownNameError("end convention", end, ENDS)
    dfa = language(source, alphabet, max_states=max_states)
    bounds = Bounds(max_window, max_period, max_nodes, max_elements)
    analyses: dict[Dfa, Analysis] = {dfa: Analysis(dfa, bounds)}
    targets: dict[str, dict[int | None, Analysis]] = {"eos": {None: analyses[dfa]}, "visible": {}}
    if "visible" in ends:
        for symbol in range(len(dfa.alphabet)):
            quotient = minimize(dfa.right_quotient(symbol))
            targets["visible"][symbol] = analyses.setdefault(quotient, Analysis(quotient, bounds))
    fragments = {
        fragment: {end: _fragment_verdict(fragment, end, targets[end], analyses[dfa], bounds) for end in ends}
        for fragment in FRAGMENTS
    }
    text = source if isinstance(source, str) else "<automaton>"
    return Decision(text, dfa, tuple(ends), bounds, fragments, analyses)


def _fragment_verdict(
    fragment: str, end: str, targets: dict[int | None, Analysis], whole: Analysis, bounds: Bounds
) -> FragmentVerdict:
    plain = {letter: target.separated(1, 1) for letter, target in targets.items()}
    if all(plain.values()):
        return FragmentVerdict("yes", "proved", "potentials", 1, 1)
    if fragment == "none":
        letter = next(letter for letter, answer in plain.items() if not answer)
        if plain[letter] is None:
            return FragmentVerdict("unknown", "searched", "bounds")
        return FragmentVerdict("no", "cited" if end == "eos" else "ours", "merged pair", letter=letter)
    if (excluded := _excluded(fragment, targets, whole)) is not None:
        return excluded
    open_periods = {
        period
        for period in range(1, bounds.max_period + 1)
        if fragment != "local" or period == 1
        if not any(target.excludes_windows(period) for target in (whole, *targets.values()))
    }
    for window, period in _search_order(fragment, bounds):
        # A period excluded for all windows is excluded for windows 1 too, so nothing is lost by skipping it.
        if period in open_periods and all(target.separated(window, period) for target in targets.values()):
            return FragmentVerdict("yes", "proved", "potentials", window, period)
    return FragmentVerdict("unknown", "searched", "bounds")


def _excluded(fragment: str, targets: dict[int | None, Analysis], whole: Analysis) -> FragmentVerdict | None:
    """A sound no for all windows and/or periods, from the automaton itself (both ends) or from a quotient (visible)."""
    candidates: dict[int | None, Analysis] = {None: whole, **targets}
    for letter, target in candidates.items():
        if target.excludes_all is not None:
            return FragmentVerdict("no", "ours", "stable local test", letter=letter)
        if fragment == "local" and target.excludes_windows(1) is not None:
            return FragmentVerdict("no", "ours", "all windows", letter=letter)
    if fragment == "periodic":
        # Without windows the last symbol matters: the automaton's own test speaks about `eos` only.
        for letter, target in targets.items():
            if target.excludes_periods is not None:
                return FragmentVerdict("no", "ours", "all periods", letter=letter)
    return None


def _search_order(fragment: str, bounds: Bounds) -> Iterator[tuple[int, int]]:
    windows = bounds.max_window if fragment in ("local", "ape") else 1
    periods = bounds.max_period if fragment in ("periodic", "ape") else 1
    pairs = [(window, period) for window in range(1, windows + 1) for period in range(1, periods + 1)]
    yield from sorted(pairs, key=lambda pair: (sum(pair), pair[0]))
