"""Machines that read a word symbol by symbol, and on which symbols their states and answers depend."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.languages.automaton import strongly_connected


@dataclass(frozen=True)
class Machine:
    """Reads a word symbol by symbol, and answers by the state that it is in at the end.

    Arguments:
        alphabet: the symbols.
        start: the state before the first symbol. There may be any number of states.
        step: state and symbol → the next state; None where the symbol can't come next. All other words are prompts.
        output: state → the answer to a word that ends there; None where no word ends.
        symbols: length of the task → number of symbols of its prompt.
    """

    alphabet: tuple[str, ...]
    start: Hashable
    step: Callable[[Any, str], Hashable | None]
    output: Callable[[Any], str | None]
    symbols: Callable[[int], int] = lambda length: length


class Unrolled:
    """The first states of a machine by number, in the order in which words reach them; what depends on what.

    ``delta[q, s]`` is the state after state q and symbol number s, or -1; ``answers[q]`` is the number of its output in
    ``outputs``, or -1. ``longest`` is the number of symbols up to which ``most`` states suffice; None: all are there.
    """

    def __init__(self, machine: Machine, most: int) -> None:
        self.machine, self.number = machine, {machine.start: 0}
        self.longest: int | None = None
        rows: list[list[int]] = []
        layer, depth = [machine.start], 0
        while layer:
            reached = len(self.number)
            for state in layer:
                after = [machine.step(state, symbol) for symbol in machine.alphabet]
                rows.append([-1 if q is None else self.number.setdefault(q, len(self.number)) for q in after])
            layer, depth = list(self.number)[reached:], depth + 1
            if len(self.number) > most:
                self.number, self.longest, layer = dict(list(self.number.items())[:reached]), depth - 1, []
        delta = np.array(rows)
        self.delta = np.where(delta < len(self.number), delta, -1)
        said = [machine.output(state) for state in self.number]
        self.outputs = tuple(dict.fromkeys(text for text in said if text is not None))
        self.answers = np.array([-1 if text is None else self.outputs.index(text) for text in said])
        ends = self.answers >= 0
        self._apart = [(self.answers[:, None] != self.answers) & ends[:, None] & ends]
        self._reached = [np.arange(len(said)) == 0]

    @property
    def branches(self) -> bool:
        """Whether the number of different sequences of states grows exponentially with the length of the word."""
        targets = [sorted({*row} - {-1}) for row in self.delta.tolist()]
        part = strongly_connected(targets)
        return any(sum(part[t] == part[q] for t in after) > 1 for q, after in enumerate(targets))

    def along(self, symbols: Int[ndarray, "n B"]) -> Int[ndarray, "m B"]:
        """The states before and after every symbol, by number: n + 1 of them."""
        states = np.zeros((len(symbols) + 1, symbols.shape[1]), dtype=np.int64)
        for i, read in enumerate(symbols):
            states[i + 1] = self.delta[states[i], read]
        return states

    def legal(self, i: int) -> Bool[ndarray, "S A"]:
        """Which states and symbols may meet at symbol i (from 0) of a word."""
        while len(self._reached) <= i:
            after = np.zeros_like(self._reached[0])
            after[self.delta[self.legal(len(self._reached) - 1)]] = True
            self._reached.append(after)
        return self._reached[i][:, None] & (self.delta >= 0)

    def depends(self, shown: Int[ndarray, "S A"], i: int) -> tuple[bool, bool]:
        """Whether what is ``shown`` for a state and symbol i (from 0) depends on the symbol, and on the state."""
        legal = self.legal(i)
        least, most = np.where(legal, shown, np.iinfo(np.int64).max), np.where(legal, shown, -1)
        by_symbol, by_state = (bool((most.max(axis) > least.min(axis)).any()) for axis in (1, 0))
        return by_symbol, by_state

    def deciding(self, length: int) -> list[int]:
        """The symbols (from 0) of a word of ``length`` of which some change alone changes the answer."""
        while len(self._apart) < length:
            known, after = self._apart[-1], np.zeros_like(self._apart[0])
            for targets in self.delta.T:
                after |= known[targets[:, None], targets] & (targets >= 0)[:, None] & (targets >= 0)
            self._apart.append(after)
        found = []
        for i in range(length):
            legal, apart = self.legal(i), self._apart[length - i - 1]
            pairs = apart[self.delta[:, :, None], self.delta[:, None, :]] & legal[:, :, None] & legal[:, None, :]
            if pairs.any():
                found.append(i)
        return found
