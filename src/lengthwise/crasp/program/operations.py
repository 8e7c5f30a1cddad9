"""The operations of C-RASP[periodic, local] (Huang et al. 2025, Definition 8); each names its operands by index.

Every operation has one value at each position i = 1..n: a truth value, or an integer (a *count*).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
        match self:
            case Not(operand) | Count(operand):
                return (operand,)
            case And(operands) | Or(operands):
                return operands
            case Compare(left, _, right) | Min(left, right) | Max(left, right):
                return (left, right)
            case Linear(terms):
                return tuple(index for _, index in terms)
            case Conditional(condition, then, otherwise):
                return (condition, then, otherwise)
            case _:
                return ()

    @property
    def boolean_operands(self) -> tuple[bool, ...]:
        """Whether each operand has to be a Boolean (else: a count)."""
        match self:
            case Compare():
                return (False, False)
            case Count():
                return (True,)
            case Conditional():
                return (True, False, False)
            case _:
                return (self.boolean,) * len(self.operands)

    def renumbered(self, new: Mapping[Index, Index]) -> Operation:
        """The same operation on the operands ``new[index]``."""
        match self:
            case Not(operand) | Count(operand):
                return replace(self, operand=new[operand])
            case And(operands):
                return And(tuple(new[index] for index in operands))
            case Or(operands):
                return Or(tuple(new[index] for index in operands))
            case Compare(left, _, right) | Min(left, right) | Max(left, right):
                return replace(self, left=new[left], right=new[right])
            case Linear(terms):
                return replace(self, terms=tuple((factor, new[index]) for factor, index in terms))
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


@dataclass(frozen=True, slots=True)
class And(BooleanOperation):
    """P₁ ∧ … ∧ P_r of at least two operands."""

    conjuncts: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Or(BooleanOperation):
    """P₁ ∨ … ∨ P_r of at least two operands."""

    disjuncts: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Compare(BooleanOperation):
    """C₁ ~ C₂ for a relation ~ among `RELATIONS`."""

    left: Index
    relation: Relation
    right: Index


@dataclass(frozen=True, slots=True)
class Count(CountOperation):
    """#[j <= i, i - j ∈ differences] P(j): the number of such positions j at which P holds.

    ``differences`` is a sorted tuple of distinct numbers >= 0 (a window or another local predicate ψ), or None for all
    j <= i.
    """

    operand: Index
    differences: tuple[int, ...] | None = None


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


@dataclass(frozen=True, slots=True)
class Conditional(CountOperation):
    """P ? C₁ : C₂."""

    condition: Index
    then: Index
    otherwise: Index


@dataclass(frozen=True, slots=True)
class Min(CountOperation):
    """min(C₁, C₂)."""

    left: Index
    right: Index


@dataclass(frozen=True, slots=True)
class Max(CountOperation):
    """max(C₁, C₂)."""

    left: Index
    right: Index
