"""`decide` says whether a regular language is in C-RASP[∅], [local], [periodic] and [periodic, local].

The answer per fragment and end convention is *yes* with a window and a period, *no*, or *unknown* when the search
bounds are exhausted. docs/verdicts.md states the theorems used and their status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from lengthwise.core.errors import UnknownNameError, require
from lengthwise.crasp.decide.potential import TooMuchWorkError, Work
from lengthwise.crasp.decide.product import ProductTooLargeError, components
from lengthwise.crasp.decide.stable_local_test import LocalSystem, period_test, stable_local_test, window_test
from lengthwise.crasp.program.fragment import FRAGMENTS
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

ENDS = ("visible", "eos")
MAX_WINDOW, MAX_PERIOD, MAX_NODES = 8, 12, 100_000
LARGEST_BOUND = 1_000  # of windows and periods: all pairs are listed
MAX_TOTAL_NODES = 150_000  # of all product graphs of one automaton: a few seconds
MAX_WORK = 10_000_000  # coefficients that the equations of one automaton touch: seconds
MAX_ENTRIES = 500_000  # elements of the monoid times states; the local systems have as many edges

Answer = Literal["yes", "no", "unknown"]
DecisionBasis = Literal["proved", "cited", "ours", "searched"]


@dataclass(frozen=True)
class Bounds:
    """Bounds of the search: windows, periods, nodes of one product graph and of all, elements of the monoid,
    and the work on the equations of one automaton. What is not decided within them is *unknown*.

    Raises `LengthwiseError` for a window or period below 1 or above `LARGEST_BOUND`.
    """

    max_window: int = MAX_WINDOW
    max_period: int = MAX_PERIOD
    max_nodes: int = MAX_NODES
    max_elements: int = MAX_ELEMENTS
    max_total_nodes: int = MAX_TOTAL_NODES
    max_work: int = MAX_WORK

    def __post_init__(self) -> None:
        for name, bound, least in (
            ("max_window", self.max_window, "locality"),
            ("max_period", self.max_period, "periodicity"),
        ):
            require(bound >= 1, f"{name} must be at least 1, got {bound}; 1 means no {least}")
            require(
                bound <= LARGEST_BOUND, f"{name} must be at most {LARGEST_BOUND}, got {bound}; choose a smaller one"
            )


DEFAULT_BOUNDS = Bounds()


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


class Analysis:
    """The results computed for one minimal automaton; each is computed once."""

    def __init__(self, dfa: Dfa, bounds: Bounds) -> None:
        self.dfa, self.bounds = dfa, bounds
        self._separated: dict[tuple[int, int], bool | None] = {}
        self._nodes, self._work = 0, Work(bounds.max_work)
        self._windows: dict[int, LocalSystem | None] = {}
        self.certificates: dict[tuple[int, int | str, int | str], dict[str, Any]] = {}
        """Bodies of certificates that have been written, by system, windows and periods."""

    def separated(self, window: int, period: int) -> bool | None:
        """Whether potentials separate all states for (k, m); None beyond the bounds on nodes."""
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
                if not component.separates(self._work):
                    return False
        except (ProductTooLargeError, TooMuchWorkError):
            return None
        return True

    @property
    def max_elements(self) -> int:
        """The bound on the monoid: that of ``bounds``, or a smaller one for automata with many states."""
        return min(self.bounds.max_elements, MAX_ENTRIES // self.dfa.size)

    @cached_property
    def semigroup(self) -> TransitionSemigroup | None:
        """The transition semigroup; None if it is larger than the bound."""
        try:
            return transition_semigroup(self.dfa, max_elements=self.max_elements)
        except MonoidTooLargeError:
            return None

    @cached_property
    def refuted_for_all(self) -> LocalSystem | None:
        """The result of `stable_local_test`: not None if no program exists for any window and period."""
        return self._tested(stable_local_test)

    @cached_property
    def refuted_for_periods(self) -> LocalSystem | None:
        """The result of `period_test`: not None if no program without windows exists for any period."""
        return self._tested(period_test)

    def refuted_for_windows(self, period: int) -> LocalSystem | None:
        """The result of `window_test`: not None if no program of that period exists for any window."""
        if period not in self._windows:
            self._windows[period] = self._tested(lambda found, work: window_test(found, period, work))
        return self._windows[period]

    def _tested(self, test: Callable[[TransitionSemigroup, Work], LocalSystem | None]) -> LocalSystem | None:
        """What a test refutes; nothing without the semigroup or beyond the bound on the work."""
        try:
            return self.semigroup and test(self.semigroup, self._work)
        except TooMuchWorkError:
            return None


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
        """The answer for a fragment (none, local, periodic, ape) and an end convention (visible, eos).

        Raises `UnknownNameError` for any other fragment or end convention.
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

    Raises `LengthwiseError` for an expression that cannot be read and for an automaton beyond ``max_states``.
    """
    require(len(ends) > 0, f"no end convention given; choose among {', '.join(ENDS)}")
    for end in ends:
        if end not in ENDS:
            raise UnknownNameError("end convention", end, ENDS)
    dfa = language(source, alphabet, max_states=max_states)
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
            return FragmentVerdict("yes", "proved", "potentials", window, period)
    return FragmentVerdict("unknown", "searched", "bounds")


def _refuted(fragment: str, targets: dict[int | None, Analysis], whole: Analysis) -> FragmentVerdict | None:
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
