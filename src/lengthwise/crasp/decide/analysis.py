"""`Analysis` holds what the decision computes for one minimal automaton within given bounds, each thing once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lengthwise.core.errors import require
from lengthwise.crasp.decide.next_symbols import conflict, merged_states
from lengthwise.crasp.decide.potential import TooMuchWorkError, Work
from lengthwise.crasp.decide.product import Component, ProductTooLargeError, components
from lengthwise.crasp.decide.stable_local_test import LocalSystem, period_test, stable_local_test, window_test
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.monoid import (
    MAX_ELEMENTS,
    MonoidTooLargeError,
    TransitionSemigroup,
    transition_semigroup,
)

MAX_WINDOW, MAX_PERIOD, MAX_NODES = 8, 12, 100_000
LARGEST_BOUND = 1_000  # of windows and periods: all pairs are listed
MAX_TOTAL_NODES = 150_000  # of all product graphs of one automaton: a few seconds
MAX_WORK = 10_000_000  # coefficients that the equations of one automaton touch: seconds
MAX_ENTRIES = 500_000  # elements of the monoid times states; the local systems have as many edges


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


class Analysis:
    """The results computed for one minimal automaton; each is computed once."""

    def __init__(self, dfa: Dfa, bounds: Bounds) -> None:
        self.dfa, self.bounds = dfa, bounds
        self._separated: dict[tuple[int, int], bool | None] = {}
        self._nodes, self._work = 0, Work(bounds.max_work)
        self._windows: dict[int, LocalSystem | None] = {}
        self._by_words: dict[bytes, tuple[LocalSystem | None, int]] = {}
        self.certificates: dict[tuple[int, int | str, int | str], dict[str, Any]] = {}
        """Bodies of certificates that have been written, by system, windows and periods."""
        self.chains: dict[tuple[int, int], list[dict[str, Any]]] = {}
        """Potentials that have been written for certificates, by window and period."""

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
                if not self._settles(component):
                    return False
        except (ProductTooLargeError, TooMuchWorkError):
            return None
        return True

    def _settles(self, component: Component) -> bool:
        """Whether a component of the product graph stands in the way of no program."""
        return component.separates(self._work)

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
            self._windows[period] = self._tested(lambda found, work: self._window_test(found, period, work))
        return self._windows[period]

    def _window_test(self, semigroup: TransitionSemigroup, period: int, work: Work) -> LocalSystem | None:
        """The test depends on which words have a length divisible by the period; many periods have the same ones.

        What it took counts again, so that what is decided within the bound does not depend on this.
        """
        words = semigroup.by_length.multiples(period).tobytes()
        if words in self._by_words:
            system, amount = self._by_words[words]
            work.add(amount)
            return system
        before = work.done
        system = window_test(semigroup, period, work)
        self._by_words[words] = system, work.done - before
        return system

    def _tested(self, test: Callable[[TransitionSemigroup, Work], LocalSystem | None]) -> LocalSystem | None:
        """What a test refutes; nothing without the semigroup or beyond the bound on the work."""
        try:
            return self.semigroup and test(self.semigroup, self._work)
        except TooMuchWorkError:
            return None


class NextSymbolAnalysis(Analysis):
    """The same for next-symbol prediction: merged states matter where some symbol that both may read tells.

    A local system with an idempotent always has one: the word of the idempotent leads each of its states to itself.
    """

    def _settles(self, component: Component) -> bool:
        if not component.needs_counting():
            return True
        # The classes refine the contexts, so nodes of one class share window and phase.
        classes = component.refinement(self._work).classes
        return conflict(self.dfa, merged_states((node.state for node in component.nodes), classes)) is None

    @cached_property
    def refuted_for_periods(self) -> LocalSystem | None:
        """The result of `period_test`, whose merged states have to be in conflict."""

        def harmful(system: LocalSystem) -> bool:
            return conflict(self.dfa, merged_states(system.states, system.refinement.classes)) is not None

        return self._tested(lambda found, work: period_test(found, work, harmful=harmful))
