"""Product graphs, components and transition maps for the checker, written independently of the decision's code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lengthwise.core.errors import LengthwiseError

MAX_STABLE = 200_000  # maps in S_s ∪ S_2s
MAX_NODES = 1_000_000  # of a product graph
MAX_SYMBOLS = 20_000_000  # in the windows of all nodes together
MAX_SIZE = 1_000  # of a window or period


class CertificateError(LengthwiseError):
    """A certificate that does not prove its claim."""


class CheckedAutomaton:
    """An automaton with the start state 0."""

    def __init__(self, alphabet: Iterable[str], delta: Iterable[Iterable[int]], accepting: Iterable[int]) -> None:
        self.alphabet = tuple(alphabet)
        self.delta = [dict(zip(self.alphabet, row, strict=True)) for row in delta]
        self.accepting = set(accepting)

    def run(self, word: Iterable[str], state: int = 0) -> int:
        """The state after ``word``."""
        for symbol in word:
            state = self.delta[state][symbol]
        return state


def fail(problem: str) -> None:
    """Raise `CertificateError`."""
    raise CertificateError(f"the certificate proves nothing: {problem}")


def prove(condition: bool, problem: str) -> None:
    """Raise `CertificateError` unless the condition holds."""
    if not condition:
        fail(problem)


def maps_of_length(machine: CheckedAutomaton, length: int) -> set[tuple[int, ...]]:
    """The maps on states induced by the words of one length; raises `CertificateError` beyond `MAX_STABLE` maps."""
    steps = [[machine.delta[state][symbol] for state in range(len(machine.delta))] for symbol in machine.alphabet]
    maps = {tuple(range(len(machine.delta)))}
    for _ in range(length):
        maps = {tuple(map(step.__getitem__, mapping)) for mapping in maps for step in steps}
        prove(len(maps) <= MAX_STABLE, f"more than {MAX_STABLE} maps; the stable set is too large to check")
    return maps


def product_graph(machine: CheckedAutomaton, window: int, period: int) -> dict[Any, dict[str, Any]]:
    """All reachable nodes (state, last k−1 symbols or fewer at the start, phase) and their successors."""
    largest = max(1, min(MAX_NODES, MAX_SYMBOLS // window))
    start = (0, (), 0)
    successors: dict[Any, dict[str, Any]] = {start: {}}
    queue: list[Any] = [start]
    for node in queue:
        state, seen, phase = node
        for symbol, target in machine.delta[state].items():
            recent = (*seen, symbol)[-(window - 1) :] if window > 1 else ()
            following = (target, recent, (phase + 1) % period)
            successors[node][symbol] = following
            if following not in successors:
                prove(len(successors) < largest, f"more than {largest} nodes; the product is too large to check")
                successors[following] = {}
                queue.append(following)
    return successors


def components(successors: dict[Any, dict[str, Any]]) -> list[set[Any]]:
    """Strongly connected components by two searches (Kosaraju)."""
    order: list[Any] = []
    seen: set[Any] = set()
    sources: dict[Any, list[Any]] = {node: [] for node in successors}
    for root in successors:
        if root in seen:
            continue
        seen.add(root)
        work = [(root, iter(successors[root].values()))]
        while work:
            node, targets = work[-1]
            following = next(targets, None)
            if following is None:
                work.pop()
                order.append(node)
            elif following not in seen:
                seen.add(following)
                work.append((following, iter(successors[following].values())))
    for node, row in successors.items():
        for target in row.values():
            sources[target].append(node)
    found: list[set[Any]] = []
    assigned: set[Any] = set()
    for root in reversed(order):
        if root in assigned:
            continue
        component, pending = {root}, [root]
        while pending:
            for source in sources[pending.pop()]:
                if source not in assigned and source not in component:
                    component.add(source)
                    pending.append(source)
        assigned |= component
        found.append(component)
    return found


def reach(targets: list[set[int]], start: int) -> set[int]:
    """The nodes reachable from ``start``."""
    seen, queue = {start}, [start]
    for node in queue:
        for target in targets[node]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return seen
