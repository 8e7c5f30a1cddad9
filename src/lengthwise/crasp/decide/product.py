"""The product graph of an automaton with the last k−1 symbols and the position modulo m.

A decision needs only components with at least two automaton states. So nodes are built inside the automaton's
components, from the reachable (state, phase) pairs, with full windows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.decide.potential import UNBOUNDED, Edge, Refinement, Work, numbered, refine
from lengthwise.languages.automata.automaton import Dfa, Word
from lengthwise.languages.automata.components import strongly_connected
from lengthwise.languages.automata.search import Search


class ProductTooLargeError(LengthwiseError):
    """The product graph has more nodes than the given bound."""


@dataclass(frozen=True)
class ProductNode:
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

    def separates(self, work: Work = UNBOUNDED) -> bool:
        """Whether the refinement separates all nodes; raises `TooMuchWorkError`."""
        return not self.needs_counting() or len(set(self.refinement(work).classes)) == len(self.nodes)

    def needs_counting(self) -> bool:
        """Whether two different automaton states share a context."""
        return len(set(self.contexts)) < len(self.nodes)


def separated(dfa: Dfa, window: int, period: int, *, max_nodes: int) -> bool:
    """Whether, for the given (k, m), different states of every component end in different classes.

    Raises `ProductTooLargeError` beyond ``max_nodes`` nodes.
    """
    return all(component.separates() for component in components(dfa, window, period, max_nodes=max_nodes))


def components(dfa: Dfa, window: int, period: int, *, max_nodes: int) -> Iterator[Component]:
    """The components of the product graph that have at least two automaton states."""
    numbers = strongly_connected(dfa.delta)
    members: dict[int, list[int]] = defaultdict(list)
    for state, number in enumerate(numbers):
        members[number].append(state)
    crowded = [states for states in members.values() if len(states) > 1]
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
    successors: list[list[tuple[int, int]]] = []
    for state, word, phase in nodes:
        following = (phase + 1) % period
        row = [
            (symbol, number[target, (*word, symbol)[1:] if window > 1 else (), following])
            for symbol, target in inner[state]
        ]
        successors.append(row)
    assigned = strongly_connected([[target for _, target in row] for row in successors])
    groups: dict[int, list[int]] = defaultdict(list)
    for node, group in enumerate(assigned):
        groups[group].append(node)
    for group in groups.values():
        if len({nodes[node][0] for node in group}) > 1:
            yield _component(nodes, group, successors, len(dfa.alphabet))


def _component(
    nodes: list[tuple[int, Word, int]], group: list[int], successors: list[list[tuple[int, int]]], symbols: int
) -> Component:
    number = {node: index for index, node in enumerate(group)}
    contexts = numbered([nodes[node][1:] for node in group])
    edges = [
        (number[node], contexts[number[node]] * symbols + symbol, number[target])
        for node in group
        for symbol, target in successors[node]
        if target in number
    ]
    return Component(tuple(ProductNode(*nodes[node]) for node in group), contexts, tuple(edges))
