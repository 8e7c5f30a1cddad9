"""Deterministic automata: construction, minimization, search, strongly connected parts, and files."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from operator import or_
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.files import read_text
from lengthwise.languages.regex import Concat, Empty, Epsilon, Literal, Regex, Repeat, Union, literals, parse

Word = tuple[int, ...]  # symbols by their index in the alphabet


@dataclass(frozen=True)
class Dfa:
    """States 0..n-1 with start state 0; ``delta[q][s]`` is the successor of state q on symbol number s.

    Raises `LengthwiseError` for repeated symbols and for rows that do not fit.
    """

    alphabet: tuple[str, ...]
    delta: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    def __post_init__(self) -> None:
        count = len(self.delta)
        require(count > 0, "an automaton needs at least one state")
        require(len(set(self.alphabet)) == len(self.alphabet) > 0, "an automaton needs an alphabet of distinct symbols")
        require(len(self.accepting) == count, f"{count} states but {len(self.accepting)} acceptance flags")
        for state, row in enumerate(self.delta):
            if len(row) != len(self.alphabet) or not all(0 <= target < count for target in row):
                raise LengthwiseError(f"state {state} needs one successor in 0..{count - 1} per symbol, got {row}")

    @property
    def size(self) -> int:
        """Number of states, the sink included."""
        return len(self.delta)

    def encode(self, word: str | Sequence[str]) -> Word:
        """Symbol numbers of a word given as text (one character each) or as a sequence of symbols.

        Raises `LengthwiseError` for a symbol outside the alphabet.
        """
        try:
            return tuple(self._numbers[symbol] for symbol in word)
        except KeyError as error:
            raise LengthwiseError(
                f"symbol {error.args[0]!r} is not in the alphabet {{{', '.join(self.alphabet)}}}; declare a larger one"
            ) from None

    def decode(self, word: Iterable[int]) -> tuple[str, ...]:
        """The symbols of a word given by numbers."""
        return tuple(self.alphabet[number] for number in word)

    def text(self, word: Iterable[int]) -> str:
        """The word as text: joined symbols, spaced if one has several characters, ε if empty."""
        symbols = self.decode(word)
        return ("" if all(len(symbol) == 1 for symbol in self.alphabet) else " ").join(symbols) or "ε"

    def run(self, word: Iterable[int], start: int = 0) -> int:
        """The state after ``word``."""
        state = start
        for symbol in word:
            state = self.delta[state][symbol]
        return state

    def accepts(self, word: str | Sequence[str]) -> bool:
        """Whether a word (text or symbols) is in the language; raises `LengthwiseError` for unknown symbols."""
        return self.accepting[self.run(self.encode(word))]

    def states_along(self, words: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """States before and after every symbol of a batch: ``[B, T]`` symbol numbers give ``[B, T + 1]`` states."""
        states = np.zeros((words.shape[0], words.shape[1] + 1), dtype=np.int32)
        for step in range(words.shape[1]):
            states[:, step + 1] = self.delta_array[states[:, step], words[:, step]]
        return states

    def accepts_batch(self, words: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Membership ``[B]`` of a batch of words ``[B, T]``."""
        return self.accepting_array[self.states_along(words)[:, -1]]

    @cached_property
    def delta_array(self) -> npt.NDArray[np.int32]:
        """Transitions as an array ``[states, symbols]``."""
        return np.array(self.delta, dtype=np.int32)

    @cached_property
    def accepting_array(self) -> npt.NDArray[np.bool_]:
        """Acceptance flags ``[states]``."""
        return np.array(self.accepting, dtype=bool)

    @cached_property
    def live(self) -> tuple[bool, ...]:
        """Per state, whether some accepting state can be reached."""
        sources: list[list[int]] = [[] for _ in self.delta]
        for state, row in enumerate(self.delta):
            for target in row:
                sources[target].append(state)
        ends = [state for state, flag in enumerate(self.accepting) if flag]
        live = set(Search(-1, lambda state: sources[state] if state >= 0 else ends))
        return tuple(state in live for state in range(self.size))

    @cached_property
    def period(self) -> int:
        """The greatest number that divides the lengths of all cycles from which a word can still be reached; 1 without.

        At positions of one remainder modulo it, a word in the same cycles is at the same stage of them.
        """
        steps = {0: 0}
        for state in (order := [0]):
            for target in self.delta[state]:
                if self.live[target] and target not in steps:
                    steps[target] = steps[state] + 1
                    order.append(target)
        within = strongly_connected(self.delta)
        edges = ((s, t) for s in order for t in self.delta[s] if t in steps and within[s] == within[t])
        return math.gcd(*(steps[s] + 1 - steps[t] for s, t in edges)) or 1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.alphabet)}

    def complement(self) -> Dfa:
        """The words over the alphabet that are not in the language."""
        return replace(self, accepting=tuple(not flag for flag in self.accepting))

    def live_nonmembers(self) -> Dfa:
        """The words outside the language that are prefixes of words in it."""
        return replace(
            self, accepting=tuple(on and not flag for on, flag in zip(self.live, self.accepting, strict=True))
        )

    def right_quotient(self, symbol: int) -> Dfa:
        """The words w with ``w · symbol`` in the language (same transitions; not minimal)."""
        return replace(self, accepting=tuple(self.accepting[row[symbol]] for row in self.delta))


def strongly_connected(successors: Sequence[Sequence[int]]) -> list[int]:
    """The component number of every node, in reverse topological order; ``successors`` lists each node's targets."""
    count = len(successors)
    index = [-1] * count
    low = [0] * count
    component = [-1] * count
    path: list[int] = []
    clock = components = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        index[root] = low[root] = clock
        clock += 1
        path.append(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, targets = work[-1]
            for target in targets:
                if index[target] < 0:
                    index[target] = low[target] = clock
                    clock += 1
                    path.append(target)
                    work.append((target, iter(successors[target])))
                    break
                if component[target] < 0 and index[target] < low[node]:
                    low[node] = index[target]
            else:
                work.pop()
                if work and low[node] < low[work[-1][0]]:
                    low[work[-1][0]] = low[node]
                if low[node] == index[node]:
                    while True:
                        member = path.pop()
                        component[member] = components
                        if member == node:
                            break
                    components += 1
    return component


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
        word: list[int] = []
        while (step := self.parents[node]) is not None:
            node, symbol = step
            word.append(symbol)
        return tuple(reversed(word))


def numbered_graph(
    start: Node, successors: Callable[[Node], Iterable[Node]], most: int = sys.maxsize, error: Exception | None = None
) -> tuple[list[Node], tuple[Word, ...]]:
    """The nodes in the order of a `Search`, and for each of them the numbers of its successors.

    Raises ``error`` beyond ``most`` nodes.
    """
    nodes, number, rows = [start], {start: 0}, []
    for node in nodes:
        row = []
        for target in successors(node):
            if target not in number:
                if len(nodes) >= most and error is not None:
                    raise error
                number[target] = len(nodes)
                nodes.append(target)
            row.append(number[target])
        rows.append(tuple(row))
    return nodes, tuple(rows)


def rooted(alphabet: tuple[str, ...], delta: Sequence[Sequence[int]], accepting: Container[int], start: int) -> Dfa:
    """The automaton with these transitions whose ``start`` becomes number 0; the others keep their order."""
    order = [start, *[state for state in range(len(delta)) if state != start]]
    number = {old: new for new, old in enumerate(order)}
    rows = tuple(tuple(number[target] for target in delta[old]) for old in order)
    return Dfa(alphabet, rows, tuple(old in accepting for old in order))


@lru_cache(maxsize=512)
def minimize(dfa: Dfa) -> Dfa:
    """The unique smallest complete automaton; states are numbered in breadth-first order of the alphabet."""
    reached = list(Search(0, dfa.delta.__getitem__))
    classes = _partition(dfa.delta, dfa.accepting, reached)
    representative: dict[int, int] = {}
    for state in reached:
        representative.setdefault(classes[state], state)
    # Classes in the order in which breadth-first search of the *quotient* meets them.
    names, delta = numbered_graph(
        classes[0], lambda name: [classes[target] for target in dfa.delta[representative[name]]]
    )
    return Dfa(dfa.alphabet, delta, tuple(dfa.accepting[representative[name]] for name in names))


def distinguishing_word(dfa: Dfa, first: int, second: int) -> Word | None:
    """A shortest word accepted from exactly one of two states; None if the states are equivalent."""
    search = Search((first, second), lambda pair: zip(dfa.delta[pair[0]], dfa.delta[pair[1]], strict=True))
    differing = (pair for pair in search if dfa.accepting[pair[0]] != dfa.accepting[pair[1]])
    return search.word(found) if (found := next(differing, None)) is not None else None


def access_words(dfa: Dfa) -> dict[int, Word]:
    """A shortest word from the start to every reachable state."""
    search = Search(0, dfa.delta.__getitem__)
    return {state: search.word(state) for state in search}


def _partition(delta: Sequence[Sequence[int]], accepting: Sequence[bool], states: list[int]) -> dict[int, int]:
    """Moore's refinement: split by the classes of the successors until nothing splits."""
    classes = {state: int(accepting[state]) for state in states}
    count = len(set(classes.values()))
    while True:
        names: dict[tuple[int, ...], int] = {}
        refined = {
            state: names.setdefault((classes[state], *[classes[target] for target in delta[state]]), len(names))
            for state in states
        }
        if len(names) == count:
            return refined
        classes, count = refined, len(names)


MAX_STATES = 2_000
"""The most states of an automaton, of an expression or in a file."""


def language(
    source: str | Regex | Dfa, alphabet: str | Sequence[str] | None = None, *, max_states: int = MAX_STATES
) -> Dfa:
    """The minimal complete automaton of an expression (text or tree) or of another automaton.

    ``alphabet`` may be larger than the set of symbols in the expression; ``a*`` over {a} and over {a, b} differ.
    Raises `LengthwiseError` for symbols outside the alphabet and for more than ``max_states`` subset states.
    """
    if isinstance(source, Dfa):
        require(
            alphabet is None or tuple(alphabet) == source.alphabet,
            f"the automaton is over {{{', '.join(source.alphabet)}}}; it cannot be read over another alphabet",
        )
        return minimize(source)
    expression = parse(source) if isinstance(source, str) else source
    used = literals(expression)
    symbols = tuple(alphabet) if alphabet is not None else used
    require(len(symbols) > 0, "the alphabet is empty; declare one, or write an expression with symbols")
    require(
        not any(s.isspace() for s in symbols), "spaces mean nothing in an expression and are no symbols; leave them out"
    )
    require(len(set(symbols)) == len(symbols), f"the alphabet {''.join(symbols)!r} repeats a symbol; name each once")
    outside = [symbol for symbol in used if symbol not in symbols]
    require(
        not outside, f"symbol {outside[0] if outside else ''!r} is not in the alphabet {{{', '.join(symbols)}}}; add it"
    )
    return minimize(_subsets(_Positions(expression), symbols, max_states))


class _Positions:
    """Glushkov's sets as bit masks: each occurrence of a literal is a position; ``follow[p]`` may come after p."""

    def __init__(self, expression: Regex) -> None:
        self.symbols: list[tuple[str, ...]] = []
        self.follow: list[int] = []
        self.nullable, self.first, self.last = self._walk(expression)

    def _walk(self, node: Regex) -> tuple[bool, int, int]:
        match node:
            case Empty():
                return False, 0, 0
            case Epsilon():
                return True, 0, 0
            case Literal(symbols):
                self.symbols.append(symbols)
                self.follow.append(0)
                bit = 1 << (len(self.symbols) - 1)
                return False, bit, bit
            case Union(parts):
                nullables, firsts, lasts = zip(*map(self._walk, parts), strict=True)
                return any(nullables), reduce(or_, firsts), reduce(or_, lasts)
            case Concat(parts):
                nullable, first, last = True, 0, 0
                dead = False
                for part in parts:
                    part_nullable, part_first, part_last = self._walk(part)
                    dead = dead or (not part_nullable and not part_first)
                    self._link(last, part_first)
                    first |= part_first if nullable else 0
                    last = part_last | (last if part_nullable else 0)
                    nullable = nullable and part_nullable
                return (False, 0, 0) if dead else (nullable, first, last)
            case Repeat(body, at_least, unbounded):
                nullable, first, last = self._walk(body)
                if unbounded:
                    self._link(last, first)
                return nullable or at_least == 0, first, last

    def _link(self, sources: int, targets: int) -> None:
        for position in _bits(sources):
            self.follow[position] |= targets


def _subsets(positions: _Positions, alphabet: tuple[str, ...], max_states: int) -> Dfa:
    masks = dict.fromkeys(alphabet, 0)
    for position, symbols in enumerate(positions.symbols):
        for symbol in symbols:
            masks[symbol] |= 1 << position

    # A subset state is (positions that may come next, may the word end here).
    def successors(state: tuple[int, bool]) -> Iterator[tuple[int, bool]]:
        for mask in masks.values():
            current = state[0] & mask
            after = reduce(or_, [positions.follow[position] for position in _bits(current)], 0)
            yield after, bool(current & positions.last)

    error = LengthwiseError(
        f"the automaton has more than {max_states} states; simplify the expression or raise max_states"
    )
    states, delta = numbered_graph((positions.first, positions.nullable), successors, max_states, error)
    return Dfa(alphabet, delta, tuple(final for _, final in states))


def _bits(mask: int) -> list[int]:
    found: list[int] = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


KEYS = ("alphabet", "states", "start", "accepting", "transitions")


def read_dfa(path: Path | str) -> Dfa:
    """The automaton in a JSON file; raises `LengthwiseError` for a file that cannot be read or is malformed."""
    text = read_text(Path(path), what="automaton file")
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is no JSONDecodeError
        raise LengthwiseError(f"automaton file {str(path)!r} is not JSON: {error}") from None
    return dfa_from_json(value, where=f"automaton file {str(path)!r}")


def dfa_from_json(value: Any, *, where: str = "automaton") -> Dfa:
    """The automaton described by plain JSON values; states may be strings or integers.

    Raises `LengthwiseError` that starts with ``where``.
    """
    require(isinstance(value, dict), f"{where}: expected an object with the keys {', '.join(KEYS)}")
    for key in value:
        if key not in KEYS:
            raise UnknownNameError(f"key of the {where}", key, KEYS)
    for key in KEYS:
        require(key in value, f"{where}: the key {key!r} is missing")
    alphabet = _names(value["alphabet"], where, "alphabet")
    states = [str(state) for state in _names(value["states"], where, "states", numbers=True)]
    require(len(states) <= MAX_STATES, f"{where}: has {len(states)} states; at most {MAX_STATES} are read")
    number = {state: index for index, state in enumerate(states)}
    start = _known(value["start"], number, where, "start")
    accepting = {_known(state, number, where, "accepting") for state in _list(value["accepting"], where, "accepting")}
    require(
        isinstance(value["transitions"], dict), f"{where}: transitions must be an object {{state: {{symbol: state}}}}"
    )
    sink = len(states)
    delta = [[sink] * len(alphabet) for _ in range(sink + 1)]
    for state, row in value["transitions"].items():
        source = _known(state, number, where, "transitions")
        require(isinstance(row, dict), f"{where}: transitions of state {state!r} must be an object {{symbol: state}}")
        for symbol, target in row.items():
            if symbol not in alphabet:
                raise UnknownNameError(f"symbol in the transitions of state {state!r} of the {where}", symbol, alphabet)
            delta[source][alphabet.index(symbol)] = _known(target, number, where, f"transitions of state {state!r}")
    return rooted(tuple(alphabet), delta, accepting, start)


def dfa_to_json(dfa: Dfa) -> dict[str, Any]:
    """Plain JSON values that `dfa_from_json` reads back as an automaton for the same language."""
    return {
        "alphabet": list(dfa.alphabet),
        "states": list(range(dfa.size)),
        "start": 0,
        "accepting": [state for state, flag in enumerate(dfa.accepting) if flag],
        "transitions": {str(q): dict(zip(dfa.alphabet, row, strict=True)) for q, row in enumerate(dfa.delta)},
    }


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        require(key not in found, f"automaton file: the key {key!r} occurs twice in one object; name it once")
        found[key] = value
    return found


def _list(value: Any, where: str, key: str) -> list[Any]:
    require(isinstance(value, list), f"{where}: {key} must be a list, got {value!r}")
    return value


def _is_name(value: Any, numbers: bool = True) -> bool:
    return isinstance(value, str) or (numbers and isinstance(value, int) and not isinstance(value, bool))


def _names(value: Any, where: str, key: str, *, numbers: bool = False) -> list[Any]:
    names = _list(value, where, key)
    require(len(names) > 0, f"{where}: {key} is empty")
    kind = "strings or integers" if numbers else "non-empty strings"
    for name in names:
        printable = not isinstance(name, str) or name.isprintable()
        require(printable, f"{where}: {key} has {name!r}, which can't be printed; choose another name")
        require(_is_name(name, numbers) and name != "", f"{where}: {key} needs {kind}, got {name!r}")
    require(len(set(map(str, names))) == len(names), f"{where}: {key} repeats a name; name each once")
    return names


def _known(state: Any, number: dict[str, int], where: str, key: str) -> int:
    if not _is_name(state) or str(state) not in number:
        raise UnknownNameError(f"state in {key} of the {where}", state, number)
    return number[str(state)]
