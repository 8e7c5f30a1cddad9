"""Builds the minimal complete automaton of a regular expression: Glushkov's positions, subsets, minimization.

The tests compare it with `automata-lib`, which takes longer to import than a decision takes (docs/verdicts.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.minimize import minimize
from lengthwise.languages.automata.regex import Concat, Empty, Epsilon, Literal, Regex, Repeat, Union, literals, parse

MAX_STATES = 2_000


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
                nullable, first, last = False, 0, 0
                for part in parts:
                    part_nullable, part_first, part_last = self._walk(part)
                    nullable, first, last = nullable or part_nullable, first | part_first, last | part_last
                return nullable, first, last
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
    carrying = dict.fromkeys(alphabet, 0)
    for position, symbols in enumerate(positions.symbols):
        for symbol in symbols:
            carrying[symbol] |= 1 << position
    masks = [carrying[symbol] for symbol in alphabet]
    # A subset state is (positions that may come next, may the word end here).
    start = (positions.first, positions.nullable)
    numbers = {start: 0}
    queue = [start]
    delta: list[tuple[int, ...]] = []
    for upcoming, _ in queue:
        row: list[int] = []
        for mask in masks:
            current = upcoming & mask
            after = 0
            for position in _bits(current):
                after |= positions.follow[position]
            target = (after, bool(current & positions.last))
            if target not in numbers:
                if len(numbers) >= max_states:
                    raise LengthwiseError(
                        f"the automaton has more than {max_states} states; simplify the expression or raise max_states"
                    )
                numbers[target] = len(numbers)
                queue.append(target)
            row.append(numbers[target])
        delta.append(tuple(row))
    return Dfa(alphabet, tuple(delta), tuple(final for _, final in queue))


def _bits(mask: int) -> list[int]:
    found: list[int] = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found
