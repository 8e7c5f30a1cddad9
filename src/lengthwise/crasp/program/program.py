"""`Program`: a numbered tuple of C-RASP operations with an acceptance condition or next-token conditions.

Operations name earlier ones by index. An expression tree would be hashed and printed once per path to each shared
subterm, and there can be exponentially many paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program import fragment
from lengthwise.crasp.program import operations as op
from lengthwise.crasp.program.fragment import Fragment
from lengthwise.crasp.program.spelling import problem_with_name, problem_with_symbol


@dataclass(frozen=True)
class Program:
    """A program over ``alphabet``; build one with `ProgramBuilder`, `parse` or the library.

    Either ``accept`` is a Boolean operation and a word is accepted iff it holds at the last position, or ``next_token``
    pairs symbols of the alphabet and ``<eos>`` with the Boolean that says where they may come next (a symbol that is
    not listed never may). With ``bos`` a begin symbol stands at position 1; without it words have length >= 1. With
    ``eos`` an end symbol is appended, and acceptance is read there. ``names`` keeps the names of definitions for
    printing. Raises `LengthwiseError` unless the program is well-formed and no two of its operations are equal.
    """

    alphabet: tuple[str, ...]
    operations: tuple[op.Operation, ...]
    accept: int | None = None
    next_token: tuple[tuple[str, int], ...] = ()
    bos: bool = True
    eos: bool = False
    names: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(sorted(self.names, key=lambda pair: (pair[1], pair[0]))))
        order = {symbol: rank for rank, symbol in enumerate((*self.alphabet, EOS))}
        for symbol, _ in self.next_token:
            require(symbol in order, f"NEXT {symbol!r} is not in the alphabet ({' '.join(self.alphabet)}) nor {EOS}")
        object.__setattr__(self, "next_token", tuple(sorted(self.next_token, key=lambda pair: order[pair[0]])))
        self._check_header()
        symbols = self.symbols
        for index, operation in enumerate(self.operations):
            self._check(index, operation, symbols)
        require(len(set(self.operations)) == len(self.operations), "two operations are equal; name the first one twice")

    def _check_header(self) -> None:
        require(len(self.alphabet) > 0, "a program needs an alphabet of at least one symbol")
        require(len(set(self.alphabet)) == len(self.alphabet), "a symbol is twice in the alphabet")
        for mark in (BOS, EOS):
            require(mark not in self.alphabet, f"{mark} cannot be in the alphabet; declare bos or eos instead")
        for symbol in self.alphabet:
            problem = problem_with_symbol(symbol)
            require(problem is None, str(problem))
        require(
            (self.accept is None) != (not self.next_token),
            "a program needs either an acceptance condition or NEXT conditions",
        )
        require(not (self.eos and self.next_token), "a next-token program is read at every position; set eos to false")
        require(len({symbol for symbol, _ in self.next_token}) == len(self.next_token), "a NEXT symbol occurs twice")
        require(len(dict(self.names)) == len(self.names), "a name is defined twice")
        for index in self.outputs:
            require(0 <= index < len(self.operations), f"output {index} is not an operation")
            require(self.operations[index].boolean, f"output {index} is a count; an output has to be a Boolean")
        for name, index in self.names:
            require(0 <= index < len(self.operations), f"{name!r} names operation {index}, which does not exist")
            problem = problem_with_name(name, self.alphabet)
            require(problem is None, str(problem))

    def _check(self, index: int, operation: op.Operation, symbols: tuple[str, ...]) -> None:
        for operand, boolean in zip(operation.operands, operation.boolean_operands, strict=True):
            if not 0 <= operand < index:
                raise LengthwiseError(f"operation {index} names operation {operand}, which is not an earlier one")
            if self.operations[operand].boolean != boolean:
                kinds = ("a Boolean", "a count") if boolean else ("a count", "a Boolean")
                raise LengthwiseError(f"operation {index} needs {kinds[0]}, but operation {operand} is {kinds[1]}")
        if isinstance(operation, op.Linear):
            constant = any(isinstance(self.operations[term], op.Constant) for term in operation.operands)
            require(not constant, f"operation {index}: add constants to the constant of the linear form")
        problem = _problem(operation, symbols)
        if problem is not None:
            raise LengthwiseError(f"operation {index}: {problem}")

    @property
    def symbols(self) -> tuple[str, ...]:
        """The alphabet and the declared end marks."""
        return (*self.alphabet, *((BOS,) if self.bos else ()), *((EOS,) if self.eos else ()))

    @property
    def outputs(self) -> tuple[int, ...]:
        """The acceptance condition, or the NEXT conditions."""
        return tuple(index for _, index in self.next_token) if self.accept is None else (self.accept,)

    @property
    def is_next_token(self) -> bool:
        """Whether the program has NEXT conditions instead of an acceptance condition."""
        return self.accept is None

    def needed(self, outputs: Iterable[int] | None = None) -> list[int]:
        """The operations that ``outputs`` (all outputs of the program, if None) depend on, in ascending order."""
        needed = set(self.outputs if outputs is None else outputs)
        for index in range(len(self.operations) - 1, -1, -1):
            if index in needed:
                needed.update(self.operations[index].operands)
        return sorted(needed)

    def reordered(self, order: Sequence[int]) -> Program:
        """The same program with the operations ``order`` alone, in that order; names of the others are dropped."""
        new = {old: number for number, old in enumerate(order)}
        return replace(
            self,
            operations=tuple(self.operations[old].renumbered(new) for old in order),
            accept=None if self.accept is None else new[self.accept],
            next_token=tuple((symbol, new[index]) for symbol, index in self.next_token),
            names=tuple((name, new[index]) for name, index in self.names if index in new),
        )

    @cached_property
    def size(self) -> int:
        """Number of atoms, connectives, comparisons and countings (`fragment.size_of`)."""
        return fragment.size_of(self.operations)

    @cached_property
    def depth(self) -> int:
        """Counting depth: the largest number of nested countings."""
        return fragment.depth_of(self.operations)

    @cached_property
    def window(self) -> int:
        """k: how many of the last symbols, the current one included, the local predicates read; 1 without any."""
        return fragment.window_of(self.operations)

    @cached_property
    def period(self) -> int:
        """m: the common period of the periodic predicates; 1 without any."""
        return fragment.period_of(self.operations)

    @cached_property
    def fragment(self) -> Fragment:
        """The smallest fragment that contains the program as written."""
        return fragment.fragment_of(self.window, self.period)


def _problem(operation: op.Operation, symbols: tuple[str, ...]) -> str | None:
    """The error in one operation, operands apart, or None."""
    match operation:
        case op.Symbol(symbol) if symbol not in symbols:
            return f"{symbol!r} is not a symbol of this program ({' '.join(symbols)})"
        case op.Periodic(residue, modulus) if not 0 <= residue < modulus:
            return f"i mod {modulus} = {residue} needs 0 <= residue < modulus"
        case op.And(operands) | op.Or(operands) if len(operands) < 2:
            return "a connective needs at least two operands"
        case op.And(operands) | op.Or(operands) if len(set(operands)) < len(operands):
            return "a connective names each operand once"
        case op.Compare(_, relation, _) if relation not in op.RELATIONS:
            return f"unknown relation {relation!r}; use one of {' '.join(op.RELATIONS)}"
        case op.Count(_, differences) if differences is not None and (
            not differences or differences[0] < 0 or list(differences) != sorted(set(differences))
        ):
            return f"differences {differences} have to be sorted, distinct, at least one and >= 0"
        case op.Linear(terms, constant):
            if not terms or (len(terms) == 1 and terms[0][0] == 1 and constant == 0):
                return "a linear form without terms is a Constant, and 1 · C + 0 is C"
            if any(factor == 0 for factor, _ in terms) or len({index for _, index in terms}) < len(terms):
                return "a linear form needs non-zero coefficients on distinct counts"
    return None
