"""The compiler's intermediate representation: a circuit whose nodes are channels of the residual stream.

A *bit* is exactly 0 or 1. A *fraction* represents a count C by C / i, where i is the number of visible tokens.
Negations, sums and comparisons read integer combinations of nodes (`Form`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

NodeId = int
"""The number of a node."""


@dataclass(frozen=True)
class Form:
    """Σ weight · node + constant, with non-zero integer weights on distinct nodes in ascending order."""

    terms: tuple[tuple[int, NodeId], ...] = ()
    constant: int = 0

    @classmethod
    def of(cls, *parts: tuple[int, Form], constant: int = 0) -> Form:
        """Σ factor · form + constant."""
        weights: dict[NodeId, int] = {}
        for factor, form in parts:
            constant += factor * form.constant
            for weight, node in form.terms:
                weights[node] = weights.get(node, 0) + factor * weight
        return cls(tuple((weight, node) for node, weight in sorted(weights.items()) if weight), constant)

    @property
    def negation(self) -> Form:
        """1 − form, the negation of a bit."""
        return Form.of((-1, self), constant=1)

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """The nodes that it reads."""
        return tuple(node for _, node in self.terms)


@dataclass(frozen=True)
class Gate:
    """Base of all nodes."""

    bit: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[NodeId, ...]:
        """The nodes that it reads."""
        return ()


@dataclass(frozen=True)
class SymbolBit(Gate):
    """The token here is this symbol: a coordinate of the embedding."""

    symbol: str


@dataclass(frozen=True)
class PhaseBit(Gate):
    """The distance from BOS is ≡ residue mod modulus; a head fetches the phase of BOS."""

    residue: int
    modulus: int


@dataclass(frozen=True)
class FormGate(Gate):
    """Base of the nodes that read one form."""

    form: Form

    @property
    def inputs(self) -> tuple[NodeId, ...]:
        return self.form.nodes


@dataclass(frozen=True)
class Threshold(FormGate):
    """An integer form over bits is >= 0, or with ``exact`` equal to 0."""

    exact: bool = False


@dataclass(frozen=True)
class Sign(FormGate):
    """A form over fractions (a constant c means c / i) is >= 0, or with ``exact`` equal to 0."""

    exact: bool = False


@dataclass(frozen=True)
class Shift(FormGate):
    """The bit ``distance`` >= 1 positions ago: one place of a window, one local head.

    It is false where the program has no such position.
    """

    distance: int


@dataclass(frozen=True)
class Tally(FormGate):
    """The number of positions so far at which a bit holds, divided by i: a head with uniform attention."""

    bit: ClassVar[bool] = False


@dataclass(frozen=True)
class Gated(Gate):
    """A form over fractions where a bit holds, else 0; `Gated(b, 1)` turns the bit b into the fraction b / i."""

    condition: Form
    form: Form
    bit: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[NodeId, ...]:
        return (*self.condition.nodes, *self.form.nodes)


@dataclass(frozen=True)
class Ramp(FormGate):
    """The positive part of a form over fractions."""

    bit: ClassVar[bool] = False


@dataclass(frozen=True)
class Circuit:
    """Nodes in an order of evaluation, with properties for the later passes.

    ``at_bos`` is a node's value at BOS (where i = 1, so a fraction is its count); ``bounds`` encloses its values.
    ``origin`` is the operation that first needed a node. ``counts_bos`` is whether the program declares ``bos: true``.
    """

    nodes: tuple[Gate, ...]
    at_bos: tuple[int, ...]
    bounds: tuple[tuple[int, int], ...]
    origin: tuple[int, ...]
    forms: tuple[Form, ...]
    """The form of each operation of the program."""
    outputs: tuple[tuple[str, Form], ...]
    alphabet: tuple[str, ...]
    counts_bos: bool

    def value_at_bos(self, form: Form) -> int:
        """The value of the form at BOS."""
        return sum(weight * self.at_bos[node] for weight, node in form.terms) + form.constant

    def bounds_of(self, form: Form, *, fractions: bool) -> tuple[int, int]:
        """Lower and upper bound of the form's values; in a form over fractions a constant c means c / i."""
        return bounds_of(form, self.bounds, fractions=fractions)


def bounds_of(
    form: Form, bounds: tuple[tuple[int, int], ...] | list[tuple[int, int]], *, fractions: bool
) -> tuple[int, int]:
    """Lower and upper bound of a form by interval arithmetic on the bounds of its nodes."""
    low, high = (min(0, form.constant), max(0, form.constant)) if fractions else (form.constant, form.constant)
    for weight, node in form.terms:
        ends = (weight * bounds[node][0], weight * bounds[node][1])
        low, high = low + min(ends), high + max(ends)
    return low, high
