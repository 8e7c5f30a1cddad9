"""The operations of C-RASP[periodic, local] (Huang et al. 2025, Definition 8); each names its operands by index.

Every operation has one value at each position i = 1..n: a truth value, or an integer (a *count*).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

Index = int
"""The number of an earlier operation of the same program."""

Relation = Literal["<=", "<", "=", ">=", ">"]
RELATIONS: tuple[Relation, ...] = ("<=", "<", "=", ">=", ">")


@dataclass(frozen=True, slots=True)
class Operation:
    """Base of all operations; ``boolean`` says which of the two types its values have."""

    boolean: ClassVar[bool]

    @property
    def operands(self) -> tuple[Index, ...]:
        """The operations that this one reads, in the order in which they are written."""
        return ()

    @property
    def boolean_operands(self) -> tuple[bool, ...]:
        """Whether each operand has to be a Boolean (else: a count)."""
        return (self.boolean,) * len(self.operands)

    def renumbered(self, new: Mapping[Index, Index]) -> Operation:
        """The same operation on the operands ``new[index]``."""
        match self:
            case Not(operand):
                return Not(new[operand])
            case Count(operand, differences):
                return Count(new[operand], differences)
            case And(operands):
                return And(tuple(new[index] for index in operands))
            case Or(operands):
                return Or(tuple(new[index] for index in operands))
            case Compare(left, relation, right):
                return Compare(new[left], relation, new[right])
            case Min(left, right):
                return Min(new[left], new[right])
            case Max(left, right):
                return Max(new[left], new[right])
            case Linear(terms, constant):
                return Linear(tuple((factor, new[index]) for factor, index in terms), constant)
            case Conditional(condition, then, otherwise):
                return Conditional(new[condition], new[then], new[otherwise])
            case _:
                return self


@dataclass(frozen=True, slots=True)
class BooleanOperation(Operation):
    """An operation whose values are truth values."""

    boolean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class CountOperation(Operation):
    """An operation whose values are integers."""

    boolean: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Symbol(BooleanOperation):
    """Q_σ(i): the symbol at i is σ; ``<bos>`` and ``<eos>`` stand for the declared end marks."""

    symbol: str


@dataclass(frozen=True, slots=True)
class Top(BooleanOperation):
    """⊤: true at every position."""


@dataclass(frozen=True, slots=True)
class Periodic(BooleanOperation):
    """φ(i): i ≡ residue mod modulus, with 0 <= residue < modulus and positions from 1 (counting BOS if declared)."""

    residue: int
    modulus: int


@dataclass(frozen=True, slots=True)
class Not(BooleanOperation):
    """¬P."""

    operand: Index

    @property
    def operands(self) -> tuple[Index, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class And(BooleanOperation):
    """P₁ ∧ … ∧ P_r of at least two operands."""

    conjuncts: tuple[Index, ...]

    @property
    def operands(self) -> tuple[Index, ...]:
        return self.conjuncts


@dataclass(frozen=True, slots=True)
class Or(BooleanOperation):
    """P₁ ∨ … ∨ P_r of at least two operands."""

    disjuncts: tuple[Index, ...]

    @property
    def operands(self) -> tuple[Index, ...]:
        return self.disjuncts


@dataclass(frozen=True, slots=True)
class Compare(BooleanOperation):
    """C₁ ~ C₂ for a relation ~ among `RELATIONS`."""

    left: Index
    relation: Relation
    right: Index

    @property
    def operands(self) -> tuple[Index, ...]:
        return (self.left, self.right)

    @property
    def boolean_operands(self) -> tuple[bool, ...]:
        return (False, False)


@dataclass(frozen=True, slots=True)
class Count(CountOperation):
    """#[j <= i, i - j ∈ differences] P(j): the number of such positions j at which P holds.

    ``differences`` is a sorted tuple of distinct numbers >= 0 (a window or another local predicate ψ), or None for all
    j <= i.
    """

    operand: Index
    differences: tuple[int, ...] | None = None

    @property
    def operands(self) -> tuple[Index, ...]:
        return (self.operand,)

    @property
    def boolean_operands(self) -> tuple[bool, ...]:
        return (True,)


@dataclass(frozen=True, slots=True)
class Constant(CountOperation):
    """The same integer at every position."""

    value: int


@dataclass(frozen=True, slots=True)
class Linear(CountOperation):
    """Σ coefficient · C + constant, with non-zero coefficients on distinct counts: sums, differences and multiples.

    A form without terms is a `Constant`, and 1 · C + 0 is C itself; neither is a `Linear`.
    """

    terms: tuple[tuple[int, Index], ...]
    constant: int = 0

    @property
    def operands(self) -> tuple[Index, ...]:
        return tuple([index for _, index in self.terms])


@dataclass(frozen=True, slots=True)
class Conditional(CountOperation):
    """P ? C₁ : C₂."""

    condition: Index
    then: Index
    otherwise: Index

    @property
    def operands(self) -> tuple[Index, ...]:
        return (self.condition, self.then, self.otherwise)

    @property
    def boolean_operands(self) -> tuple[bool, ...]:
        return (True, False, False)


@dataclass(frozen=True, slots=True)
class Min(CountOperation):
    """min(C₁, C₂)."""

    left: Index
    right: Index

    @property
    def operands(self) -> tuple[Index, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Max(CountOperation):
    """max(C₁, C₂)."""

    left: Index
    right: Index

    @property
    def operands(self) -> tuple[Index, ...]:
        return (self.left, self.right)
