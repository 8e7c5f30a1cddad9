"""A C-RASP program: a numbered tuple of operations and what is read from it.

Operations name earlier ones by index; they are never nested, because a shared subterm of an expression tree is
visited (and hashed, and printed) once per path to it, which can be exponentially often.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program import fragment
from lengthwise.crasp.program.fragment import Fragment
from lengthwise.crasp.program.operations import (
    RELATIONS,
    And,
    Compare,
    Constant,
    Count,
    Linear,
    Operation,
    Or,
    Periodic,
    Symbol,
)
from lengthwise.crasp.program.spelling import problem_with_name, problem_with_symbol


@dataclass(frozen=True)
class Program:
    """A program over ``alphabet``; build one with `ProgramBuilder`, `parse` or the library.

    Either ``accept`` is a Boolean operation and a word is accepted iff it holds at the last position, or ``next_token``
    pairs symbols of the alphabet and ``<eos>`` with the Boolean that says where they may come next (a symbol that is
    not listed never may). With ``bos`` the positions count a begin symbol at position 1; without it words have length
    >= 1. With ``eos`` an end symbol is appended, and acceptance is read there.

    ``names`` keeps the names of definitions for printing; equal programs have equal names too. No two operations are
    equal. Raises `LengthwiseError` for anything else than a well-formed program.
    """

    alphabet: tuple[str, ...]
    operations: tuple[Operation, ...]
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
        for index, operation in enumerate(self.operations):
            self._check(index, operation)
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

    def _check(self, index: int, operation: Operation) -> None:
        for operand, boolean in zip(operation.operands, operation.boolean_operands, strict=True):
            require(0 <= operand < index, f"operation {index} names operation {operand}, which is not an earlier one")
            if self.operations[operand].boolean != boolean:
                kinds = ("a Boolean", "a count") if boolean else ("a count", "a Boolean")
                raise LengthwiseError(f"operation {index} needs {kinds[0]}, but operation {operand} is {kinds[1]}")
        if isinstance(operation, Linear):
            constant = any(isinstance(self.operations[term], Constant) for term in operation.operands)
            require(not constant, f"operation {index}: add constants to the constant of the linear form")
        problem = _problem(operation, self.symbols)
        require(problem is None, f"operation {index}: {problem}")

    @property
    def symbols(self) -> tuple[str, ...]:
        """What can stand at a position: the alphabet and the declared end marks."""
        return (*self.alphabet, *((BOS,) if self.bos else ()), *((EOS,) if self.eos else ()))

    @property
    def outputs(self) -> tuple[int, ...]:
        """The operations that are read: the acceptance condition or the NEXT conditions."""
        return tuple(index for _, index in self.next_token) if self.accept is None else (self.accept,)

    @property
    def is_next_token(self) -> bool:
        """Whether the program says what may come next, rather than accept or reject."""
        return self.accept is None

    @cached_property
    def size(self) -> int:
        """Atoms + connectives + comparisons + countings (`fragment.size_of`)."""
        return fragment.size_of(self.operations)

    @cached_property
    def depth(self) -> int:
        """Counting depth: the largest number of countings inside one another."""
        return fragment.depth_of(self.operations)

    @cached_property
    def window(self) -> int:
        """k: how many of the last symbols, this one included, its local predicates can see; 1 without any."""
        return fragment.window_of(self.operations)

    @cached_property
    def period(self) -> int:
        """m: the common period of its periodic predicates; 1 without any."""
        return fragment.period_of(self.operations)

    @cached_property
    def fragment(self) -> Fragment:
        """The smallest fragment that the program, as written, lies in."""
        return fragment.fragment_of(self.window, self.period)


def _problem(operation: Operation, symbols: tuple[str, ...]) -> str | None:
    """What is wrong with one operation, apart from its operands."""
    match operation:
        case Symbol(symbol) if symbol not in symbols:
            return f"{symbol!r} is not a symbol of this program ({' '.join(symbols)})"
        case Periodic(residue, modulus) if not 0 <= residue < modulus:
            return f"i mod {modulus} = {residue} needs 0 <= residue < modulus"
        case And(operands) | Or(operands) if len(operands) < 2:
            return "a connective needs at least two operands"
        case And(operands) | Or(operands) if len(set(operands)) < len(operands):
            return "a connective names each operand once"
        case Compare(_, relation, _) if relation not in RELATIONS:
            return f"unknown relation {relation!r}; use one of {' '.join(RELATIONS)}"
        case Count(_, differences) if differences is not None and (
            not differences or differences[0] < 0 or list(differences) != sorted(set(differences))
        ):
            return f"differences {differences} have to be sorted, distinct, at least one and >= 0"
        case Linear(terms, constant):
            if not terms or (len(terms) == 1 and terms[0][0] == 1 and constant == 0):
                return "a linear form without terms is a Constant, and 1 · C + 0 is C"
            if any(factor == 0 for factor, _ in terms) or len({index for _, index in terms}) < len(terms):
                return "a linear form needs non-zero coefficients on distinct counts"
    return None
