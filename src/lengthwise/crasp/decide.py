"""Which regular languages C-RASP[periodic, local] expresses: the exact decision, and next symbols.

The method is written out in docs/verdicts.md, *Deciding a regular language*. On each strongly connected component of
the minimal automaton, potentials V(target) = V(source) + E(label) are solved by linear algebra over the integers.
States that no potential tells apart are merged, labels are refined by the class of their source, until no class splits.
The answer is yes iff only single states are left; with a window and a period, the same on the product with the last
symbols and the position modulo the period. `checker` tests every certificate without this file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import gcd, lcm
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.rng import stream
from lengthwise.crasp.program import FRAGMENTS
from lengthwise.languages.automaton import MAX_STATES, Dfa, Search, Word, language, minimize, strongly_connected
from lengthwise.languages.monoid import (
    MAX_ELEMENTS,
    MonoidTooLargeError,
    TransitionSemigroup,
    is_group,
    is_r_trivial,
    transition_semigroup,
)

Edge = tuple[int, int, int]  # (source, label, target)
Equation = dict[int, int]  # Σ coefficient · V(node) = 0


class TooMuchWorkError(LengthwiseError):
    """The equations of an automaton took more work than the given bound."""


@dataclass
class Work:
    """Counts the coefficients that eliminations touch, up to a bound."""

    limit: int
    done: int = 0

    def add(self, amount: int) -> None:
        """Raises `TooMuchWorkError` beyond the bound."""
        self.done += amount
        if self.done > self.limit:
            raise TooMuchWorkError(f"the equations take more than {self.limit:,} operations; not decided within them")


UNBOUNDED = Work(2**62)
"""For certificates of what has been decided within a bound."""


class Potential(NamedTuple):
    """``values`` is V per node; ``steps`` is E per (label, class of its source)."""

    values: tuple[int, ...]
    steps: dict[tuple[int, int], int]


@dataclass(frozen=True)
class Refinement:
    """The chain of partitions of a component: ``partitions[0]`` is the initial one, the last is the fixpoint."""

    edges: tuple[Edge, ...]
    partitions: tuple[tuple[int, ...], ...]

    @property
    def classes(self) -> tuple[int, ...]:
        """Class of every node in the final partition."""
        return self.partitions[-1]

    def merged_pairs(self) -> list[tuple[int, int]]:
        """Pairs of nodes that share a final class: the first node of the class with each other one."""
        first: dict[int, int] = {}
        numbered_classes = enumerate(self.classes)
        return [(known, node) for node, name in numbered_classes if (known := first.setdefault(name, node)) != node]

    def potentials(self) -> tuple[Potential, ...]:
        """One integer potential per round that splits ``partitions[t]`` into ``partitions[t + 1]``."""
        found: list[Potential] = []
        for before in self.partitions[:-1]:
            values = LinearSystem(len(before), rows_of(self.edges, before)).potential(before)
            steps = {(label, before[source]): values[target] - values[source] for source, label, target in self.edges}
            found.append(Potential(tuple(values), steps))
        return tuple(found)


def refine(
    count: int, edges: Sequence[Edge], initial: Sequence[int] | None = None, work: Work = UNBOUNDED
) -> Refinement:
    """Refine until nothing splits; all ``edges`` must be inner edges of one strongly connected component.

    Raises `TooMuchWorkError` beyond the bound of ``work``.
    """
    current = numbered(initial if initial is not None else [0] * count)
    partitions = [current]
    while max(current, default=-1) + 1 < count:
        refined = numbered(list(zip(current, LinearSystem(count, rows_of(edges, current), work).keys(), strict=True)))
        if max(refined) == max(current):
            break
        current = refined
        partitions.append(current)
    return Refinement(tuple(edges), tuple(partitions))


def numbered(keys: Iterable[Hashable]) -> tuple[int, ...]:
    """Equal keys get equal numbers, in order of first occurrence."""
    numbers: dict[Hashable, int] = {}
    return tuple([numbers.setdefault(key, len(numbers)) for key in keys])


def grouped(items: Iterable[int], keys: Sequence[int]) -> list[list[int]]:
    """The items of each key, in order of first occurrence."""
    groups: dict[int, list[int]] = defaultdict(list)
    for item, key in zip(items, keys, strict=True):
        groups[key].append(item)
    return list(groups.values())


def rows_of(edges: Iterable[Edge], classes: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """One equation V(v) − V(u) − V(v₀) + V(u₀) = 0 as (v, u, v₀, u₀) per edge that repeats a refined label."""
    first: dict[tuple[int, int], tuple[int, int]] = {}
    rows: list[tuple[int, int, int, int]] = []
    for source, label, target in edges:
        key = (label, classes[source])
        known = first.setdefault(key, (source, target))
        if known != (source, target):
            rows.append((target, source, known[1], known[0]))
    return rows


class LinearSystem:
    """A solved system of equations: every node's value is a combination of the values of free nodes."""

    def __init__(self, count: int, rows: Iterable[tuple[int, int, int, int]], work: Work = UNBOUNDED) -> None:
        self.count, self._work = count, work
        self._parent = list(range(count))
        self._pivots: dict[int, Equation] = {}
        remaining = self._merge_equal(rows)
        for row in remaining:
            self._eliminate(row)

    def keys(self) -> list[Hashable]:
        """One key per node; two keys are equal iff the nodes have equal values in every solution."""
        known: dict[int, Hashable] = {}
        result: list[Hashable] = []
        for node in range(self.count):
            root = self._root(node)
            if root not in known:
                known[root] = self._expression(root)
            result.append(known[root])
        return result

    def potential(self, groups: Sequence[int]) -> list[int]:
        """Small integer values that solve the system and separate all separable nodes within each group."""
        keys = self.keys()
        goal = len(set(zip(groups, keys, strict=True)))
        free = [node for node in range(self.count) if self._root(node) == node and node not in self._pivots]
        scale = lcm(*[abs(row[pivot]) for pivot, row in self._pivots.items()]) if self._pivots else 1
        rng = stream(0, "potential", self.count)
        for attempt in range(1_000):
            # Small values first; a bound of about n² makes n nodes all different.
            bound = 1 + attempt // 16 if attempt < 256 else min(2 ** (attempt // 16), 2**60)
            drawn = rng.integers(-bound, bound + 1, size=len(free)).tolist()
            values = dict(zip(free, [scale * value for value in drawn], strict=True))
            for pivot, row in self._pivots.items():
                rest = sum(weight * values[node] for node, weight in row.items() if node != pivot)
                values[pivot] = -rest // row[pivot]
            potential = [values[self._root(node)] for node in range(self.count)]
            if len(set(zip(groups, potential, strict=True))) == goal:
                common = gcd(*[value - potential[0] for value in potential]) or 1
                return [(value - potential[0]) // common for value in potential]
        raise AssertionError("no separating potential found among 1,000 draws of growing size")

    def _root(self, node: int) -> int:
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def _merge_equal(self, rows: Iterable[tuple[int, int, int, int]]) -> list[Equation]:
        """Merge the nodes of equations V(p) = V(q); return the others in terms of the representatives."""
        pending: set[tuple[int, int, int, int]] = set(rows)
        while True:
            self._work.add(len(pending))
            merged = False
            kept: set[tuple[int, int, int, int]] = set()
            root = self._root
            for v, u, v0, u0 in pending:
                v, u, v0, u0 = root(v), root(u), root(v0), root(u0)
                # V(v) + V(u₀) = V(u) + V(v₀): equal terms on the two sides cancel.
                if v == u:
                    pair = (u0, v0)
                elif v == v0:
                    pair = (u, u0)
                elif u0 == u:
                    pair = (v, v0)
                elif u0 == v0:
                    pair = (v, u)
                elif v == u0 and u == v0:
                    pair = (v, u)  # 2 V(v) = 2 V(u)
                else:
                    kept.add(_ordered(v, u, v0, u0))
                    continue
                if pair[0] != pair[1]:
                    self._parent[pair[1]] = pair[0]
                    merged = True
            pending = kept
            if not merged:
                return [_row(*equation) for equation in sorted(pending)]

    def _eliminate(self, row: Equation) -> None:
        for node in [node for node in row if node in self._pivots]:
            self._work.add(len(row) + len(self._pivots[node]))
            _cancel(row, node, self._pivots[node])
        if not row:
            return
        pivot = min(row, key=lambda node: (abs(row[node]), node))
        self._work.add(len(self._pivots))
        for other in self._pivots.values():
            if pivot in other:
                self._work.add(len(other) + len(row))
                _cancel(other, pivot, row)
        self._pivots[pivot] = row

    def _expression(self, root: int) -> Hashable:
        row = self._pivots.get(root)
        if row is None:
            return frozenset([(root, Fraction(1))])
        return frozenset((node, Fraction(-weight, row[root])) for node, weight in row.items() if node != root)


def _ordered(v: int, u: int, v0: int, u0: int) -> tuple[int, int, int, int]:
    """A canonical form of V(v) + V(u₀) = V(u) + V(v₀), so that equal equations are equal tuples."""
    left, right = sorted((sorted((v, u0)), sorted((u, v0))))
    return left[0], right[0], right[1], left[1]


def _row(v: int, u: int, v0: int, u0: int) -> Equation:
    row: Equation = defaultdict(int)
    row[v] += 1
    row[u0] += 1
    row[u] -= 1
    row[v0] -= 1
    return {node: weight for node, weight in row.items() if weight}


def _cancel(row: Equation, node: int, pivot_row: Equation) -> None:
    """Eliminate ``node`` from ``row`` with ``pivot_row``, in integers divided by their gcd."""
    if node not in row:
        return
    factor, own = pivot_row[node], row[node]
    divisor = gcd(factor, own)
    keep, subtract = factor // divisor, own // divisor
    combined = {other: keep * weight for other, weight in row.items()}
    for other, weight in pivot_row.items():
        value = combined.get(other, 0) - subtract * weight
        if value:
            combined[other] = value
        else:
            combined.pop(other, None)
    common = gcd(*combined.values()) if combined else 1
    row.clear()
    row.update({other: weight // common for other, weight in combined.items()})


class ProductTooLargeError(LengthwiseError):
    """The product graph has more nodes than the given bound."""


class ProductNode(NamedTuple):
    """Automaton state, the last k−1 symbols, and the number of symbols read modulo m."""

    state: int
    window: Word
    phase: int


@dataclass(frozen=True)
class Component:
    """A strongly connected component of the product graph.

    ``contexts[i]`` numbers the (window, phase) of node i. Edge labels are pairs (context, symbol) as one number, so
    nodes of different contexts are separated by the label alone.
    """

    nodes: tuple[ProductNode, ...]
    contexts: tuple[int, ...]
    edges: tuple[Edge, ...]

    def refinement(self, work: Work = UNBOUNDED) -> Refinement:
        """The chain of partitions that starts from the contexts; raises `TooMuchWorkError`."""
        return refine(len(self.nodes), self.edges, self.contexts, work)

    def needs_counting(self) -> bool:
        """Whether two different automaton states share a context."""
        return len(set(self.contexts)) < len(self.nodes)


def components(dfa: Dfa, window: int, period: int, *, max_nodes: int) -> Iterator[Component]:
    """The components of the product graph that have at least two automaton states.

    Raises `ProductTooLargeError` beyond ``max_nodes`` nodes.
    """
    crowded = [states for states in grouped(range(dfa.size), strongly_connected(dfa.delta)) if len(states) > 1]
    if not crowded:
        return
    phases = set(
        Search[tuple[int, int]]((0, 0), lambda node: [(q, (node[1] + 1) % period) for q in dfa.delta[node[0]]])
    )
    for states in crowded:
        yield from _inside(dfa, frozenset(states), phases, window, period, max_nodes)


def _inside(
    dfa: Dfa, states: frozenset[int], phases: set[tuple[int, int]], window: int, period: int, max_nodes: int
) -> Iterator[Component]:
    inner = {q: [(symbol, target) for symbol, target in enumerate(dfa.delta[q]) if target in states] for q in states}
    layer: set[tuple[int, Word, int]] = {(state, (), phase) for state, phase in phases if state in states}
    for _ in range(window - 1):
        layer = {
            (target, (*word, symbol), (phase + 1) % period)
            for state, word, phase in layer
            for symbol, target in inner[state]
        }
        if len(layer) > max_nodes:
            raise ProductTooLargeError(
                f"the product with window {window} and period {period} has more than {max_nodes} nodes; "
                "lower max_window or max_period, or raise max_nodes"
            )
    nodes = sorted(layer)
    number = {node: index for index, node in enumerate(nodes)}
    successors = [
        [
            (symbol, number[target, (*word, symbol)[1:] if window > 1 else (), (phase + 1) % period])
            for symbol, target in inner[state]
        ]
        for state, word, phase in nodes
    ]
    assigned = strongly_connected([[target for _, target in row] for row in successors])
    for group in grouped(range(len(nodes)), assigned):
        if len({nodes[node][0] for node in group}) == 1:
            continue
        place = {node: index for index, node in enumerate(group)}
        contexts = numbered([nodes[node][1:] for node in group])
        edges = [
            (place[node], contexts[place[node]] * len(dfa.alphabet) + symbol, place[target])
            for node in group
            for symbol, target in successors[node]
            if target in place
        ]
        yield Component(tuple(ProductNode(*nodes[node]) for node in group), contexts, tuple(edges))


@dataclass(frozen=True)
class LocalSystem:
    """A component of the graph of letters t (or e·t·e with ``idempotent`` e) in which two states stay merged.

    ``states`` are automaton states and ``letters`` semigroup elements; ``refinement`` uses indices into both.
    """

    idempotent: int | None
    states: tuple[int, ...]
    letters: tuple[int, ...]
    refinement: Refinement


def stable_local_test(semigroup: TransitionSemigroup, work: Work = UNBOUNDED) -> LocalSystem | None:
    """Refute every (k, m): a local system with a merged pair, or None if the test finds none."""
    lengths = semigroup.by_length
    return _with_idempotents(semigroup, lengths.at(lengths.stable_index), work)


def window_test(semigroup: TransitionSemigroup, period: int, work: Work = UNBOUNDED) -> LocalSystem | None:
    """Refute (k, period) for every k: a local system with a merged pair, or None if the test finds none."""
    return _with_idempotents(semigroup, semigroup.by_length.multiples(period), work)


def period_test(
    semigroup: TransitionSemigroup,
    work: Work = UNBOUNDED,
    *,
    harmful: Callable[[LocalSystem], bool] = lambda system: True,
) -> LocalSystem | None:
    """Refute (1, m) for every m: a local system with a merged pair, or None if the test finds none.

    With ``harmful`` only such systems count.
    """
    lengths = semigroup.by_length
    members = np.flatnonzero(lengths.at(lengths.stable_index))
    letters = {semigroup.maps[element]: element for element in members.tolist()}
    states = range(semigroup.dfa.size)
    return next(filter(harmful, _merged(None, tuple(states), letters, work)), None)


def _with_idempotents(semigroup: TransitionSemigroup, mask: npt.NDArray[np.bool_], work: Work) -> LocalSystem | None:
    members = np.flatnonzero(mask)
    rows = semigroup.array[members]
    for element in _idempotents(members, rows):
        e = semigroup.array[element]
        image = np.unique(e)
        local = e[rows[:, image]]  # letters e·t·e as maps from the image into itself, states by number
        letters: dict[tuple[int, ...], int] = {}
        for row, member in zip(local.tolist(), members.tolist(), strict=True):
            letters.setdefault(tuple(row), member)
        system = next(_merged(element, tuple(image.tolist()), letters, work), None)
        if system is not None:
            return system
    return None


def _idempotents(members: npt.NDArray[np.int_], rows: npt.NDArray[np.int32]) -> Iterator[int]:
    """Idempotents with an image of at least two states, one per class of the same image or the same kernel.

    Two idempotents with the same image give the same local letters; with the same kernel, isomorphic local systems.
    """
    idempotent = (np.take_along_axis(rows, rows, axis=1) == rows).all(axis=1)
    images: set[frozenset[int]] = set()
    kernels: set[tuple[int, ...]] = set()
    for element, row in zip(members[idempotent].tolist(), rows[idempotent].tolist(), strict=True):
        image = frozenset(row)
        first: dict[int, int] = {}
        kernel = tuple([first.setdefault(target, state) for state, target in enumerate(row)])
        known = image in images or kernel in kernels
        images.add(image)
        kernels.add(kernel)
        if not known and len(image) > 1:
            yield element


def _merged(
    idempotent: int | None, states: tuple[int, ...], letters: dict[tuple[int, ...], int], work: Work
) -> Iterator[LocalSystem]:
    """The components of the graph of ``letters`` (maps of ``states``, and their elements) with a merged pair."""
    work.add(len(letters) * len(states))
    number = {state: index for index, state in enumerate(states)}
    targets = [[number[target] for target in letter] for letter in letters]
    numbers = strongly_connected([list({row[index] for row in targets}) for index in range(len(states))])
    for group in grouped(range(len(states)), numbers):
        if len(group) < 2:
            continue
        inside = {index: position for position, index in enumerate(group)}
        edges: list[Edge] = [
            (inside[index], label, inside[row[index]])
            for label, row in enumerate(targets)
            for index in group
            if row[index] in inside
        ]
        refinement = refine(len(group), edges, work=work)
        if len(set(refinement.classes)) < len(group):
            yield LocalSystem(idempotent, tuple(states[index] for index in group), tuple(letters.values()), refinement)


def conflict(dfa: Dfa, merged: Iterable[Sequence[int]]) -> tuple[int, int, int] | None:
    """The first two states of one group of merged states, and a symbol that both may read and that leads them to
    different states; None if there are none.
    """
    for group in merged:
        for symbol in range(len(dfa.alphabet)):
            readers = [state for state in group if dfa.live[dfa.delta[state][symbol]]]
            for state in readers:
                if dfa.delta[readers[0]][symbol] != dfa.delta[state][symbol]:
                    return readers[0], state, symbol
    return None


def allowed_after(dfa: Dfa, state: int) -> frozenset[int]:
    """The symbols that may follow in a state, and the number of symbols if the word may end there."""
    symbols = range(len(dfa.alphabet))
    end = {len(dfa.alphabet)} if dfa.accepting[state] else set()
    return frozenset({symbol for symbol in symbols if dfa.live[dfa.delta[state][symbol]]} | end)


def no_counting(dfa: Dfa) -> bool:
    """Whether in every component of live states each symbol leads to one live state at most, from all of its states."""
    reached: dict[tuple[int, int], set[int]] = {}
    for state, number in enumerate(strongly_connected(dfa.delta)):
        for symbol, target in enumerate(dfa.delta[state]):
            if dfa.live[target]:
                reached.setdefault((number, symbol), set()).add(target)
    return all(len(targets) == 1 for targets in reached.values())


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
        for name, least in (("max_window", "locality"), ("max_period", "periodicity")):
            bound = getattr(self, name)
            require(bound >= 1, f"{name} must be at least 1, got {bound}; 1 means no {least}")
            require(
                bound <= LARGEST_BOUND, f"{name} must be at most {LARGEST_BOUND}, got {bound}; choose a smaller one"
            )


DEFAULT_BOUNDS = Bounds()


class Analysis:
    """The results computed for one minimal automaton, of membership or of ``next_symbols``; each is computed once.

    For next symbols merged states matter where some symbol that both may read tells. A local system with an idempotent
    always has one: the word of the idempotent leads each of its states to itself.
    """

    def __init__(self, dfa: Dfa, bounds: Bounds, *, next_symbols: bool = False) -> None:
        self.dfa, self.bounds, self.next_symbols = dfa, bounds, next_symbols
        self._separated: dict[tuple[int, int], bool | None] = {}
        self._nodes, self._work = 0, Work(bounds.max_work)
        self._windows: dict[int, LocalSystem | None] = {}
        self.certificates: dict[tuple[int, int | str, int | str], dict[str, Any]] = {}
        """Bodies of certificates that have been written, by system, windows and periods."""
        self.chains: dict[tuple[int, int], list[dict[str, Any]]] = {}
        """Potentials that have been written for certificates, by window and period."""

    def separated(self, window: int, period: int) -> bool | None:
        """Whether potentials separate all states for (k, m); None beyond the bounds on nodes."""
        key = (window, period)
        if key not in self._separated:
            try:
                self._separated[key] = self._compute(window, period)
            except (ProductTooLargeError, TooMuchWorkError):
                self._separated[key] = None
        return self._separated[key]

    def _compute(self, window: int, period: int) -> bool | None:
        if self._nodes > self.bounds.max_total_nodes:
            return None
        for component in components(self.dfa, window, period, max_nodes=self.bounds.max_nodes):
            self._nodes += len(component.nodes)
            states = [node.state for node in component.nodes]
            # The classes refine the contexts, so nodes of one class share window and phase.
            if component.needs_counting() and self._conflicts(states, component.refinement(self._work).classes):
                return False
        return True

    def _conflicts(self, states: Sequence[int], classes: Sequence[int]) -> bool:
        """Whether states of one class matter."""
        if not self.next_symbols:
            return len(set(classes)) < len(classes)
        return conflict(self.dfa, grouped(states, classes)) is not None

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

        def harmful(system: LocalSystem) -> bool:
            return self._conflicts(system.states, system.refinement.classes)

        return self._tested(lambda found, work: period_test(found, work, harmful=harmful))

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


ENDS = ("visible", "eos")
"""How the end of a word is read where membership is decided."""
NEXT = "next"
"""Not membership: what may come next after a prefix of a word, whose last symbol is visible."""
STATE = "state"
"""Not membership: the state of the minimal automaton after every string, at its last symbol and at an end mark.

The states are told apart at an end mark iff membership is decided there, since both need every pair of states to be
separated; at the last symbol that is enough, but not needed (docs/verdicts.md). So the verdicts are those of ``eos``.
"""
END_WORDS = {
    "visible": "read at the last symbol", "eos": "read at an end mark",
    NEXT: "next symbols of words", STATE: "state, also at an end mark",
}  # fmt: skip
"""The end conventions in words."""
FRAGMENT_NAMES = {
    "none": "C-RASP (no positions)",
    "local": "C-RASP[local] (windows)",
    "periodic": "C-RASP[periodic]",
    "ape": "C-RASP[periodic, local]",
}
"""What a fragment is called in a sentence."""
FORMATS = {"both": ENDS, **{end: (end,) for end in (*ENDS, NEXT, STATE)}}
"""The end conventions that each choice of a user stands for."""


def of_membership(end: str, what: str) -> None:
    """Raise a `LengthwiseError` for ``next`` and ``state``, of which there is no program and no certificate."""
    plain = end not in (NEXT, STATE)
    require(plain, f"{what} are of membership; use the end convention {' or '.join(ENDS)} instead of {end}")


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
        """The answer for a fragment (none, local, periodic, ape) and an end convention (visible, eos, next, state).

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

    With the end convention ``next``: whether a program of that fragment predicts the next symbols; with ``state``:
    whether programs of it name the state of the minimal automaton after every string, also at an end mark.

    Raises `LengthwiseError` for an expression that cannot be read and for an automaton beyond ``max_states``.
    """
    require(len(ends) > 0, f"no end convention given; choose among {', '.join((*ENDS, NEXT, STATE))}")
    for end in ends:
        if end not in (*ENDS, NEXT, STATE):
            raise UnknownNameError("end convention", end, (*ENDS, NEXT, STATE))
    dfa = language(source, alphabet, max_states=max_states)
    analyses: dict[Dfa, Analysis] = {dfa: Analysis(dfa, bounds)}
    targets: dict[str, dict[int | None, Analysis]] = {"eos": {None: analyses[dfa]}, "visible": {}}
    targets[STATE] = targets["eos"]
    if "visible" in ends:
        for symbol in range(len(dfa.alphabet)):
            quotient = minimize(dfa.right_quotient(symbol))
            targets["visible"][symbol] = analyses.setdefault(quotient, Analysis(quotient, bounds))
    whole = dict.fromkeys(ends, analyses[dfa])
    if NEXT in ends:
        whole[NEXT] = Analysis(dfa, bounds, next_symbols=True)
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
        return FragmentVerdict("no", "cited" if end in ("eos", STATE) else "ours", "merged pair", letter=letter)
    if (refuted := _refuted(fragment, targets, whole)) is not None:
        return refuted
    open_periods = {
        period
        for period in range(1, bounds.max_period + 1)
        if fragment != "local" or period == 1
        if not any(target.refuted_for_windows(period) for target in (whole, *targets.values()))
    }
    windows = bounds.max_window if fragment in ("local", "ape") else 1
    periods = bounds.max_period if fragment in ("periodic", "ape") else 1
    pairs = product(range(1, windows + 1), range(1, periods + 1))
    for window, period in sorted(pairs, key=lambda pair: (sum(pair), pair[0])):
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
