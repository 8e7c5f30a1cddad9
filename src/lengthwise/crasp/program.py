"""C-RASP[periodic, local] programs: operations, fragment, and a builder."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS

Index = int
"""The number of an earlier operation of the same program."""

Relation = Literal["<=", "<", "=", ">=", ">"]
RELATIONS: tuple[Relation, ...] = ("<=", "<", "=", ">=", ">")


@dataclass(frozen=True, slots=True)
class Operation:
    """Base of all operations. Their values are truth values, or integers where ``boolean`` is False."""

    boolean: ClassVar[bool] = True

    @property
    def operands(self) -> tuple[Index, ...]:
        """The operations that this one reads, in the order in which they are written."""
        match self:
            case Not(operand) | Count(operand):
                return (operand,)
            case And(operands) | Or(operands):
                return operands
            case Compare(left, _, right) | Min(left, right) | Max(left, right):
                return (left, right)
            case Linear(terms):
                return tuple([index for _, index in terms])
            case Conditional(condition, then, otherwise):
                return (condition, then, otherwise)
            case _:
                return ()

    @property
    def boolean_operands(self) -> tuple[bool, ...]:
        """Whether each operand has to be a Boolean (else: a count)."""
        match self:
            case Count():
                return (True,)
            case Compare():
                return (False, False)
            case Conditional():
                return (True, False, False)
            case _:
                return (self.boolean,) * len(self.operands)

    def renumbered(self, new: Mapping[Index, Index]) -> Operation:
        """The same operation on the operands ``new[index]``."""
        match self:
            case Not(operand):
                return Not(new[operand])
            case Count(operand, differences):
                return Count(new[operand], differences)
            case And(operands) | Or(operands):
                return type(self)(tuple(new[index] for index in operands))
            case Compare(left, relation, right):
                return Compare(new[left], relation, new[right])
            case Min(left, right) | Max(left, right):
                return type(self)(new[left], new[right])
            case Linear(terms, constant):
                return Linear(tuple((factor, new[index]) for factor, index in terms), constant)
            case Conditional(condition, then, otherwise):
                return Conditional(new[condition], new[then], new[otherwise])
            case _:
                return self


@dataclass(frozen=True, slots=True)
class Symbol(Operation):
    """Q_σ(i): the symbol at i is σ; ``<bos>`` and ``<eos>`` stand for the declared end marks."""

    symbol: str


@dataclass(frozen=True, slots=True)
class Top(Operation):
    """⊤: true at every position."""


@dataclass(frozen=True, slots=True)
class Periodic(Operation):
    """φ(i): i ≡ residue mod modulus, with 0 <= residue < modulus and positions from 1 (counting BOS if declared)."""

    residue: int
    modulus: int


@dataclass(frozen=True, slots=True)
class Not(Operation):
    """¬P."""

    operand: Index


@dataclass(frozen=True, slots=True)
class And(Operation):
    """P₁ ∧ … ∧ P_r of at least two operands."""

    conjuncts: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Or(Operation):
    """P₁ ∨ … ∨ P_r of at least two operands."""

    disjuncts: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Compare(Operation):
    """C₁ ~ C₂ for a relation ~ among `RELATIONS`."""

    left: Index
    relation: Relation
    right: Index


@dataclass(frozen=True, slots=True)
class Count(Operation):
    """#[j <= i, i - j ∈ differences] P(j): the number of such positions j at which P holds.

    ``differences`` is a sorted tuple of distinct numbers >= 0 (a window or another local predicate ψ), or None for all
    j <= i.
    """

    boolean = False
    operand: Index
    differences: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Constant(Operation):
    """The same integer at every position."""

    boolean = False
    value: int


@dataclass(frozen=True, slots=True)
class Linear(Operation):
    """Σ coefficient · C + constant, with non-zero coefficients on distinct counts: sums, differences and multiples.

    A form without terms is a `Constant`, and 1 · C + 0 is C itself; neither is a `Linear`.
    """

    boolean = False
    terms: tuple[tuple[int, Index], ...]
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Conditional(Operation):
    """P ? C₁ : C₂."""

    boolean = False
    condition: Index
    then: Index
    otherwise: Index


@dataclass(frozen=True, slots=True)
class Min(Operation):
    """min(C₁, C₂)."""

    boolean = False
    left: Index
    right: Index


@dataclass(frozen=True, slots=True)
class Max(Operation):
    """max(C₁, C₂)."""

    boolean = False
    left: Index
    right: Index


Fragment = Literal["none", "local", "periodic", "ape"]
"""``none`` is C-RASP[∅], ``ape`` is C-RASP[periodic, local]."""

FRAGMENTS: tuple[Fragment, ...] = ("none", "local", "periodic", "ape")


KEYWORDS = frozenset(
    "accept alphabet and bos eos exists false i in j max min mod not or true BOS EOS NEXT".split()  # noqa: SIM905
)
_NAME = re.compile(r"[^\W\d]\w*")
_TEMPORARY = re.compile(r"_[0-9]+")
_WORD = re.compile(r"\w+")


def problem_with_name(name: str, alphabet: tuple[str, ...]) -> str | None:
    """Why ``name`` cannot name a definition, or None if it can."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is not a name; use letters, digits and _, and no digit first"
    if name in KEYWORDS:
        return f"{name!r} is a word of the language; choose another name"
    if name in alphabet:
        return f"{name!r} is a symbol of the alphabet, so #{name} would have two meanings; choose another name"
    if name.startswith(("Q_", "NEXT_")):
        return f"{name!r} looks like an atom or an output; names do not start with Q_ or NEXT_"
    if is_temporary(name):
        return f"{name!r} is reserved for lines that the printer adds; choose another name"
    return None


def problem_with_symbol(symbol: str) -> str | None:
    """Why ``symbol`` cannot be in an alphabet, or None if it can."""
    if not symbol:
        return "the empty string cannot be a symbol"
    if not symbol.isprintable():
        return f"the symbol {symbol!r} is not printable"
    return None


def is_temporary(name: str) -> bool:
    """Whether ``name`` is one of ``_0``, ``_1``, …, which the printer writes and the parser does not keep."""
    return _TEMPORARY.fullmatch(name) is not None


def quote(symbol: str) -> str:
    r"""A symbol as it is written after ``Q_``, ``#`` and ``alphabet:``: in quotes unless it is a word.

    >>> quote("a"), quote("<sep>")
    ('a', '"<sep>"')
    """
    if _WORD.fullmatch(symbol):
        return symbol
    return '"' + symbol.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquote(text: str) -> str:
    """The inverse of `quote`."""
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


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

    def _check(self, index: int, operation: Operation, symbols: tuple[str, ...]) -> None:
        for operand, boolean in zip(operation.operands, operation.boolean_operands, strict=True):
            require(0 <= operand < index, f"operation {index} names operation {operand}, which is not an earlier one")
            if self.operations[operand].boolean != boolean:
                kinds = ("a Boolean", "a count") if boolean else ("a count", "a Boolean")
                raise LengthwiseError(f"operation {index} needs {kinds[0]}, but operation {operand} is {kinds[1]}")
        if isinstance(operation, Linear):
            constant = any(isinstance(self.operations[term], Constant) for term in operation.operands)
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
        """The number of atoms, connectives, comparisons, countings, conditionals, min and max.

        A connective of r operands counts r - 1; constants and linear forms count 0.
        """
        connectives = [operation for operation in self.operations if isinstance(operation, And | Or)]
        others = [operation for operation in self.operations if not isinstance(operation, And | Or | Constant | Linear)]
        return len(others) + sum(len(operation.operands) - 1 for operation in connectives)

    @cached_property
    def depth(self) -> int:
        """The largest number of nested `Count` operations, local ones included.

        For C-RASP[∅] this many transformer layers are needed in general (Yang et al. 2025).
        """
        return self._deepest(lambda operation: int(isinstance(operation, Count)))

    @cached_property
    def window(self) -> int:
        """k: how many of the last symbols, the current one included, the local predicates read; 1 without any.

        Nested windows add up: a local count at distance d of an operand that reads r symbols back reads r + d back.
        """
        return 1 + self._deepest(lambda o: o.differences[-1] if isinstance(o, Count) and o.differences else 0)

    def _deepest(self, weight: Callable[[Operation], int]) -> int:
        """The largest sum of weights on a path of operations that read each other."""
        sums: list[int] = []
        for operation in self.operations:
            sums.append(weight(operation) + max((sums[index] for index in operation.operands), default=0))
        return max(sums, default=0)

    @cached_property
    def period(self) -> int:
        """m: the least common multiple of all moduli; 1 without any."""
        return math.lcm(*(operation.modulus for operation in self.operations if isinstance(operation, Periodic)))

    @cached_property
    def fragment(self) -> Fragment:
        """The smallest fragment that contains the program as written."""
        if self.window > 1:
            return "ape" if self.period > 1 else "local"
        return "periodic" if self.period > 1 else "none"


def _problem(operation: Operation, symbols: tuple[str, ...]) -> str | None:
    """The error in one operation, operands apart, or None."""
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


class ProgramBuilder:
    """Each method adds an operation and returns its index; an operation that exists already keeps its index.

    >>> build = ProgramBuilder("ab")
    >>> balance = build.sub(build.count(build.symbol("a")), build.count(build.symbol("b")))
    >>> build.accept(build.compare(balance, "=", build.constant(0))).depth
    1
    """

    def __init__(self, alphabet: Iterable[str], *, bos: bool = True, eos: bool = False) -> None:
        self.alphabet, self.bos_declared, self.eos_declared = tuple(alphabet), bos, eos
        self.operations: list[Operation] = []
        self._index: dict[Operation, Index] = {}
        self._names: dict[str, Index] = {}

    def add(self, operation: Operation) -> Index:
        """The index of ``operation``, which is appended if it is new."""
        index = self._index.get(operation)
        if index is None:
            index = self._index[operation] = len(self.operations)
            self.operations.append(operation)
        return index

    # Booleans

    def symbol(self, symbol: str) -> Index:
        """Q_σ: the symbol at the position is σ."""
        return self.add(Symbol(symbol))

    def bos(self) -> Index:
        """True at the begin symbol only."""
        return self.add(Symbol(BOS))

    def eos(self) -> Index:
        """True at the end symbol only."""
        return self.add(Symbol(EOS))

    def top(self) -> Index:
        """⊤: true at every position."""
        return self.add(Top())

    def bottom(self) -> Index:
        """⊥: false at every position."""
        return self.negation(self.top())

    def periodic(self, residue: int, modulus: int) -> Index:
        """i ≡ residue mod modulus; ``residue`` may be any integer. Raises `LengthwiseError` for a modulus below 1."""
        require(modulus >= 1, f"a period has to be at least 1, got {modulus}")
        return self.add(Periodic(residue % modulus, modulus))

    def negation(self, operand: Index) -> Index:
        """¬P."""
        return self.add(Not(operand))

    def all_of(self, operands: Iterable[Index]) -> Index:
        """The conjunction of any number of Booleans (⊤ of none); repeated ones are written once."""
        distinct = tuple(dict.fromkeys(operands))
        return self.top() if not distinct else distinct[0] if len(distinct) == 1 else self.add(And(distinct))

    def any_of(self, operands: Iterable[Index]) -> Index:
        """The disjunction of any number of Booleans (⊥ of none); repeated ones are written once."""
        distinct = tuple(dict.fromkeys(operands))
        return self.bottom() if not distinct else distinct[0] if len(distinct) == 1 else self.add(Or(distinct))

    def compare(self, left: Index, relation: Relation, right: Index) -> Index:
        """C₁ ~ C₂ for ~ among <= < = >= >."""
        return self.add(Compare(left, relation, right))

    def exists(self, operand: Index, differences: Iterable[int] | None = None) -> Index:
        """∃[j <= i, i - j ∈ differences] P, written 1 <= #[…] P."""
        return self.compare(self.constant(1), "<=", self.count(operand, differences))

    # Counts

    def count(self, operand: Index, differences: Iterable[int] | None = None) -> Index:
        """#[j <= i, i - j ∈ differences] P; None counts over all j <= i."""
        return self.add(Count(operand, None if differences is None else tuple(sorted(set(differences)))))

    def constant(self, value: int) -> Index:
        """An integer constant."""
        return self.add(Constant(value))

    def linear(self, terms: Iterable[tuple[int, Index]], constant: int = 0) -> Index:
        """Σ coefficient · C + constant in normal form: like terms are merged, constants folded, zeros dropped."""
        merged: dict[Index, int] = {}
        for factor, index in terms:
            operation = self.operations[index]
            if isinstance(operation, Constant):
                constant += factor * operation.value
            else:
                merged[index] = merged.get(index, 0) + factor
        kept = tuple((factor, index) for index, factor in merged.items() if factor)
        if not kept:
            return self.constant(constant)
        if len(kept) == 1 and kept[0][0] == 1 and constant == 0:
            return kept[0][1]
        return self.add(Linear(kept, constant))

    def sub(self, left: Index, right: Index) -> Index:
        """C₁ - C₂."""
        return self.linear([(1, left), (-1, right)])

    def minimum(self, left: Index, right: Index) -> Index:
        """min(C₁, C₂)."""
        return self.add(Min(left, right))

    def maximum(self, left: Index, right: Index) -> Index:
        """max(C₁, C₂)."""
        return self.add(Max(left, right))

    def conditional(self, condition: Index, then: Index, otherwise: Index) -> Index:
        """P ? C₁ : C₂."""
        return self.add(Conditional(condition, then, otherwise))

    # The program

    def name(self, name: str, index: Index) -> Index:
        """Name an operation for printing and return its index; raises `LengthwiseError` if the name is taken."""
        require(self._names.get(name, index) == index, f"{name!r} is defined twice")
        self._names[name] = index
        return index

    def accept(self, index: Index) -> Program:
        """The program that accepts iff the Boolean holds at the last position."""
        return self._program(accept=index)

    def next_token(self, conditions: Mapping[str, Index]) -> Program:
        """The next-token program with one condition per symbol (or ``<eos>``)."""
        return self._program(next_token=tuple(conditions.items()))

    def _program(self, accept: Index | None = None, next_token: tuple[tuple[str, Index], ...] = ()) -> Program:
        return Program(
            self.alphabet,
            tuple(self.operations),
            accept=accept,
            next_token=next_token,
            bos=self.bos_declared,
            eos=self.eos_declared,
            names=tuple(self._names.items()),
        )
