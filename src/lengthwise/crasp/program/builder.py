"""`ProgramBuilder` builds a program operation by operation and writes equal operations only once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program import operations as op
from lengthwise.crasp.program.program import Program


class ProgramBuilder:
    """Each method adds an operation and returns its index; an operation that exists already keeps its index.

    >>> build = ProgramBuilder("ab")
    >>> balance = build.sub(build.count(build.symbol("a")), build.count(build.symbol("b")))
    >>> build.accept(build.compare(balance, "=", build.constant(0))).depth
    1
    """

    def __init__(self, alphabet: Iterable[str], *, bos: bool = True, eos: bool = False) -> None:
        self.alphabet, self.bos_declared, self.eos_declared = tuple(alphabet), bos, eos
        self.operations: list[op.Operation] = []
        self._index: dict[op.Operation, op.Index] = {}
        self._names: dict[str, op.Index] = {}

    def add(self, operation: op.Operation) -> op.Index:
        """The index of ``operation``, which is appended if it is new."""
        index = self._index.get(operation)
        if index is None:
            index = self._index[operation] = len(self.operations)
            self.operations.append(operation)
        return index

    # Booleans

    def symbol(self, symbol: str) -> op.Index:
        """Q_σ: the symbol at the position is σ."""
        return self.add(op.Symbol(symbol))

    def bos(self) -> op.Index:
        """True at the begin symbol only."""
        return self.add(op.Symbol(BOS))

    def eos(self) -> op.Index:
        """True at the end symbol only."""
        return self.add(op.Symbol(EOS))

    def top(self) -> op.Index:
        """⊤: true at every position."""
        return self.add(op.Top())

    def bottom(self) -> op.Index:
        """⊥: false at every position."""
        return self.negation(self.top())

    def periodic(self, residue: int, modulus: int) -> op.Index:
        """i ≡ residue mod modulus; ``residue`` may be any integer. Raises `LengthwiseError` for a modulus below 1."""
        require(modulus >= 1, f"a period has to be at least 1, got {modulus}")
        return self.add(op.Periodic(residue % modulus, modulus))

    def negation(self, operand: op.Index) -> op.Index:
        """¬P."""
        return self.add(op.Not(operand))

    def all_of(self, operands: Iterable[op.Index]) -> op.Index:
        """The conjunction of any number of Booleans (⊤ of none); repeated ones are written once."""
        distinct = tuple(dict.fromkeys(operands))
        return self.top() if not distinct else distinct[0] if len(distinct) == 1 else self.add(op.And(distinct))

    def any_of(self, operands: Iterable[op.Index]) -> op.Index:
        """The disjunction of any number of Booleans (⊥ of none); repeated ones are written once."""
        distinct = tuple(dict.fromkeys(operands))
        return self.bottom() if not distinct else distinct[0] if len(distinct) == 1 else self.add(op.Or(distinct))

    def compare(self, left: op.Index, relation: op.Relation, right: op.Index) -> op.Index:
        """C₁ ~ C₂ for ~ among <= < = >= >."""
        return self.add(op.Compare(left, relation, right))

    def exists(self, operand: op.Index, differences: Iterable[int] | None = None) -> op.Index:
        """∃[j <= i, i - j ∈ differences] P, written 1 <= #[…] P."""
        return self.compare(self.constant(1), "<=", self.count(operand, differences))

    # Counts

    def count(self, operand: op.Index, differences: Iterable[int] | None = None) -> op.Index:
        """#[j <= i, i - j ∈ differences] P; None counts over all j <= i."""
        return self.add(op.Count(operand, None if differences is None else tuple(sorted(set(differences)))))

    def constant(self, value: int) -> op.Index:
        """An integer constant."""
        return self.add(op.Constant(value))

    def linear(self, terms: Iterable[tuple[int, op.Index]], constant: int = 0) -> op.Index:
        """Σ coefficient · C + constant in normal form: like terms are merged, constants folded, zeros dropped."""
        merged: dict[op.Index, int] = {}
        for factor, index in terms:
            operation = self.operations[index]
            if isinstance(operation, op.Constant):
                constant += factor * operation.value
            else:
                merged[index] = merged.get(index, 0) + factor
        kept = tuple((factor, index) for index, factor in merged.items() if factor)
        if not kept:
            return self.constant(constant)
        if len(kept) == 1 and kept[0][0] == 1 and constant == 0:
            return kept[0][1]
        return self.add(op.Linear(kept, constant))

    def plus(self, left: op.Index, right: op.Index) -> op.Index:
        """C₁ + C₂."""
        return self.linear([(1, left), (1, right)])

    def sub(self, left: op.Index, right: op.Index) -> op.Index:
        """C₁ - C₂."""
        return self.linear([(1, left), (-1, right)])

    def minimum(self, left: op.Index, right: op.Index) -> op.Index:
        """min(C₁, C₂)."""
        return self.add(op.Min(left, right))

    def maximum(self, left: op.Index, right: op.Index) -> op.Index:
        """max(C₁, C₂)."""
        return self.add(op.Max(left, right))

    def conditional(self, condition: op.Index, then: op.Index, otherwise: op.Index) -> op.Index:
        """P ? C₁ : C₂."""
        return self.add(op.Conditional(condition, then, otherwise))

    # The program

    def name(self, name: str, index: op.Index) -> op.Index:
        """Name an operation for printing and return its index; raises `LengthwiseError` if the name is taken."""
        if self._names.get(name, index) != index:
            raise LengthwiseError(f"{name!r} is defined twice")
        self._names[name] = index
        return index

    def accept(self, index: op.Index) -> Program:
        """The program that accepts iff the Boolean holds at the last position."""
        return self._program(accept=index)

    def next_token(self, conditions: Mapping[str, op.Index]) -> Program:
        """The next-token program with one condition per symbol (or ``<eos>``)."""
        return self._program(next_token=tuple(conditions.items()))

    def _program(self, accept: op.Index | None = None, next_token: tuple[tuple[str, op.Index], ...] = ()) -> Program:
        return Program(
            self.alphabet,
            tuple(self.operations),
            accept=accept,
            next_token=next_token,
            bos=self.bos_declared,
            eos=self.eos_declared,
            names=tuple(self._names.items()),
        )
