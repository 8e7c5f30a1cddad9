"""Breadth-first search through the states of an automaton, or through any other nodes that symbols lead between."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from lengthwise.languages.automata.automaton import Word

Node = TypeVar("Node", bound=Hashable)


class Search(Generic[Node]):
    """Iterates over the nodes in the order of their shortest words from ``start``; ``parents`` holds those met so far.

    ``successors`` gives the node behind each symbol, in the order of the symbols.
    """

    def __init__(self, start: Node, successors: Callable[[Node], Iterable[Node]]) -> None:
        self.successors, self._queue = successors, [start]
        self.parents: dict[Node, tuple[Node, int] | None] = {start: None}

    def __iter__(self) -> Iterator[Node]:
        for node in self._queue:
            yield node
            for symbol, target in enumerate(self.successors(node)):
                if target not in self.parents:
                    self.parents[target] = (node, symbol)
                    self._queue.append(target)

    def word(self, node: Node) -> Word:
        """A shortest word that leads to a node."""
        return trace_back(self.parents, node)


def numbered_graph(start: Node, successors: Callable[[Node], Iterable[Node]]) -> tuple[list[Node], tuple[Word, ...]]:
    """The nodes in the order of a `Search`, and for each of them the numbers of its successors."""
    nodes = list(Search(start, successors))
    number = {node: index for index, node in enumerate(nodes)}
    return nodes, tuple(tuple(number[target] for target in successors(node)) for node in nodes)


def trace_back(parents: Mapping[Node, tuple[Node, int] | None], node: Node) -> Word:
    """The symbols on the path from the root (whose parent is None) to ``node``; parents are (node, symbol)."""
    word: list[int] = []
    while (step := parents[node]) is not None:
        node, symbol = step
        word.append(symbol)
    return tuple(reversed(word))
