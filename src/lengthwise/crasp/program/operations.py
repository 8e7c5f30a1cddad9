"""The operations of C-RASP[periodic, local] (Huang et al. 2025, Definition 8), each naming earlier ones by index.

Every operation has one value at each position i = 1..n: a truth value, or an integer (a *count*).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Index = int
"""The number of an earlier operation of the same program."""

Relation = Literal["<=", "<", "=", ">=", ">"]
RELATIONS: tuple[Relation, ...] = ("<=", "<", "=", ">=", ">")


@dataclass(frozen=True, slots=True)
class Operation:
    """Base of all operations; `boolean` says which of the two types its values have."""

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


@dataclass(frozen=True, slots=True)
class Symbol(Operation):
    """Q_σ(i): the symbol at i is σ; ``<bos>`` and ``<eos>`` stand for the declared end marks."""

    symbol: str
    boolean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Top(Operation):
    """⊤: true at every position."""

    boolean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Periodic(Operation):
    """φ(i): i ≡ residue mod modulus, with 0 <= residue < modulus and positions from 1 (counting BOS if declared)."""

    residue: int
    modulus: int
    boolean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Not(Operation):
    """¬P."""

    operand: Index
    boolean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class And(Operation):
    """P₁ ∧ … ∧ P_r of at least two operands."""

    conjuncts: tuple[Index, ...]
    boolean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Or(Operation):
    """P₁ ∨ … ∨ P_r of at least two operands."""

    disjuncts: tuple[Index, ...]
    boolean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Compare(Operation):
    """C₁ ≤ C₂ and its relatives."""

    left: Index
    relation: Relation
    right: Index
    boolean: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Count(Operation):
    """#[j <= i, i - j ∈ differences] P(j): how often P held so far, position i included.

    ``differences`` is a sorted tuple of distinct numbers >= 0 (a local predicate ψ), or None for all j <= i.
    """

    operand: Index
    differences: tuple[int, ...] | None = None
    boolean: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Constant(Operation):
    """The same integer at every position."""

    value: int
    boolean: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Linear(Operation):
    """Σ coefficient · C + constant, with non-zero coefficients on distinct counts: sums, differences and multiples.

    A form without terms is a `Constant`, and 1 · C + 0 is C itself; neither is a `Linear`.
    """

    terms: tuple[tuple[int, Index], ...]
    constant: int = 0
    boolean: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Conditional(Operation):
    """P ? C₁ : C₂."""

    condition: Index
    then: Index
    otherwise: Index
    boolean: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Min(Operation):
    """min(C₁, C₂)."""

    left: Index
    right: Index
    boolean: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Max(Operation):
    """max(C₁, C₂)."""

    left: Index
    right: Index
    boolean: ClassVar[bool] = False
