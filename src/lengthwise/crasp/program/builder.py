"""`ProgramBuilder`: writes operations one after another, never the same one twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program.operations import (
    And,
    Compare,
    Conditional,
    Constant,
    Count,
    Index,
    Linear,
    Max,
    Min,
    Not,
    Operation,
    Or,
    Periodic,
    Relation,
    Symbol,
    Top,
)
from lengthwise.crasp.program.program import Program


class ProgramBuilder:
    """Collects operations and returns their indices; an operation that is already there gets its old index.

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
        """The index of ``operation``, appended if it is new."""
        index = self._index.get(operation)
        if index is None:
            index = self._index[operation] = len(self.operations)
            self.operations.append(operation)
        return index

    # Booleans

    def symbol(self, symbol: str) -> Index:
        """Q_σ."""
        return self.add(Symbol(symbol))

    def bos(self) -> Index:
        """True at the begin symbol only."""
        return self.add(Symbol(BOS))

    def eos(self) -> Index:
        """True at the end symbol only."""
        return self.add(Symbol(EOS))

    def top(self) -> Index:
        """⊤."""
        return self.add(Top())

    def bottom(self) -> Index:
        """¬⊤."""
        return self.negation(self.top())

    def periodic(self, residue: int, modulus: int) -> Index:
        """i ≡ residue mod modulus (any residue; it is reduced)."""
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
        """An integer."""
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

    def plus(self, left: Index, right: Index) -> Index:
        """C₁ + C₂."""
        return self.linear([(1, left), (1, right)])

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
        """Give an operation a name for printing; returns the operation."""
        if self._names.get(name, index) != index:
            raise LengthwiseError(f"{name!r} is defined twice")
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
